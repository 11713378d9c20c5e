package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"opdeck/api/secret"
)

// Relayed is the answer to a read that passes on as it is. Nothing in it holds the token that the request
// was sent with. Body must be closed.
type Relayed struct {
	Status    int // never 401, 429 or a redirection: those are errors
	Header    http.Header
	Body      io.ReadCloser // up to MaxRelay bytes; more is an error of Read
	Size      int64         // of Body in bytes; -1: not known before its end
	RequestID string
	Waited    time.Duration // for the slot and the session

	All []byte // of the body, where it is short enough to have been read already
}

// Bounds of a relayed answer.
const (
	// MaxRelay is the most that is passed on of one answer, in bytes.
	MaxRelay = 64 << 20
	// relayHead is read before an answer is passed on, to find what ends the session.
	relayHead = 64 << 10
	// relayTime bounds how long the rest of an answer may take.
	relayTime = 5 * time.Minute
)

// relayed is one attempt of a Relay whose answer has begun.
type relayed struct {
	Answer
	resp   *http.Response
	token  secret.Value
	whole  bool // a.Body is all of it
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

func (r *relayed) close() {
	if r == nil {
		return
	}
	r.timer.Stop()
	if r.resp != nil {
		_ = r.resp.Body.Close()
	}
	r.cancel(nil)
}

// Stream makes a read (one call of its class) and returns its answer as it comes, also
// when that is a refusal by the service. A status 401 is settled by the session's
// rules; a failure on the way, a redirection, a 429 and no session are errors. Shown of
// the request gets the answer when the Body is closed after its end.
func (c *Client) Stream(ctx context.Context, req Request) (*Relayed, error) {
	req.Raw = true
	call := c.call(req, uuid.NewString(), c.opt.Now())
	c.tell(call, CallWaits)
	var last *relayed
	var waited time.Duration
	tried := false
	err := c.opt.Session.Do(ctx, req.SessionRoute(), func(_ context.Context, token secret.Value) (int, http.Header,
		error) {
		last.close()
		if !tried {
			waited = c.opt.Now().Sub(call.At)
		}
		tried = true
		call.Ran = c.opt.Now()
		c.tell(call, CallRuns)
		last = c.relayOnce(ctx, req, token, call.ID)
		return relayStatus(req, last), last.Header, last.err
	})
	a := Answer{RequestID: call.ID}
	if last != nil {
		a = last.Answer
	}
	e := c.relayFault(ctx, req, a, err)
	announce(ctx, req.Op, a.Header)
	if e != nil {
		c.report(call, a, e)
		last.close()
		return nil, e
	}
	if !req.Whole {
		c.report(call, a, nil)
		return c.passOn(ctx, req, last, waited), nil
	}
	out := c.passOn(ctx, req, last, waited)
	out.Body = c.wholeBody(ctx, call, a, out)
	return out, nil
}

// wholeBody is a body of any size, of which it is told how much came; the call ends with
// it.
func (c *Client) wholeBody(ctx context.Context, call Call, a Answer, out *Relayed) io.ReadCloser {
	body, m := out.Body.(*relayBody), &moving{c: c, call: call}
	from, end := m.reading(body.from, out.Size), body.close
	body.from, body.left, body.close = from, math.MaxInt64, sync.OnceFunc(func() {
		m.stop()
		var e error
		if body.err != nil {
			e = BrokeOff(ctx, call.Op, a.RequestID, &CutError{from.done, out.Size, body.err})
		}
		c.report(call, a, e)
		end()
	})
	return body
}

// relayOnce sends the request and reads the head of the answer.
func (c *Client) relayOnce(ctx context.Context, r Request, token secret.Value, id string) *relayed {
	ctx, cancel := context.WithCancelCause(ctx)
	out := &relayed{token: token, cancel: cancel}
	out.timer = time.AfterFunc(c.opt.Timeout, func() { cancel(context.DeadlineExceeded) })
	out.resp, out.Answer = c.open(ctx, r, token, id)
	if out.err == nil {
		head, err := io.ReadAll(io.LimitReader(out.resp.Body, relayHead+1))
		out.Body, out.whole = head, len(head) <= relayHead
		if err != nil {
			out.err, out.Status = &CutError{int64(len(head)), out.resp.ContentLength, cause(err)}, 0
		}
	}
	if out.err != nil && context.Cause(ctx) == context.DeadlineExceeded {
		out.err = context.DeadlineExceeded
	}
	return out
}

// CutError is an answer that ended before its end.
type CutError struct {
	Read, Of int64 // bytes; Of is -1 when the answer did not tell
	Err      error
}

// Error implements error.
func (e *CutError) Error() string { return "the answer was cut off: " + e.Err.Error() }

// Unwrap gives what ended it.
func (e *CutError) Unwrap() error { return e.Err }

// after says where it ended: "after 3 of 100 bytes".
func (e *CutError) after() string {
	if e.Of < 0 {
		return fmt.Sprintf("after %d bytes", e.Read)
	}
	return fmt.Sprintf("after %d of %d bytes", e.Read, e.Of)
}

// relayStatus is what the session is told of an attempt: 401 where the answer says in
// other words that the token is over.
func relayStatus(r Request, a *relayed) int {
	if !a.whole {
		return a.Status
	}
	r.Raw = !jsonLike(a.Header)
	return forSession(r, a.Answer)
}

func jsonLike(h http.Header) bool { return strings.Contains(h.Get("Content-Type"), "json") }

// relayFault is an answer that is not passed on. What the service refuses in its own
// words is.
func (c *Client) relayFault(ctx context.Context, r Request, a Answer, err error) error {
	e := c.fault(ctx, r, a, err)
	switch {
	case e == nil || err != nil || a.err != nil:
		return e
	case a.Status == http.StatusUnauthorized, a.Status == http.StatusProxyAuthRequired,
		a.Status == http.StatusTooManyRequests,
		a.Status < 200, a.Status >= 300 && a.Status < 400 && a.Status != http.StatusNotModified:
		return e
	}
	return nil
}

// passOn makes the answer that leaves this package.
func (c *Client) passOn(ctx context.Context, r Request, a *relayed, waited time.Duration) *Relayed {
	a.timer.Reset(relayTime)
	out := &Relayed{Status: a.Status, Header: a.Header, RequestID: a.RequestID, Waited: waited, Size: a.resp.ContentLength}
	from := io.Reader(bytes.NewReader(a.Body))
	if a.whole {
		out.Size = int64(len(a.Body))
		hideToken(a.Body, a.token)
		out.All = a.Body
	} else {
		from = newEchoFilter(io.MultiReader(from, a.resp.Body), a.token)
	}
	body := &relayBody{from: from, left: MaxRelay, close: a.close}
	if show := r.Shown; show != nil && a.Status == http.StatusOK {
		body.seen = new(bytes.Buffer)
		body.show = func(b []byte) {
			full := a.Answer
			full.Body = b
			show(context.WithoutCancel(ctx), r, full)
		}
	}
	out.Body = body
	return out
}

// relayBody is the body of a Relayed.
type relayBody struct {
	from  io.Reader
	left  int64
	seen  *bytes.Buffer // nil: nothing is kept
	show  func([]byte)
	ended bool
	err   error // what ended it before its end
	close func()
}

// Read implements io.Reader.
func (b *relayBody) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("the answer is larger than %d MB", MaxRelay>>20)
	}
	b.ended = err == io.EOF
	if b.seen != nil {
		if b.seen.Write(p[:n]); b.seen.Len() > maxAnswer {
			b.seen = nil
		}
	}
	if err != nil && err != io.EOF {
		err = cause(err)
		b.err = err
	}
	return n, err
}

// Close implements io.Closer.
func (b *relayBody) Close() error {
	b.close()
	if b.ended && b.seen != nil {
		b.show(b.seen.Bytes())
		b.seen = nil
	}
	return nil
}

// BrokeOff is the error of a document whose bytes ended before its end.
func BrokeOff(ctx context.Context, op, request string, cut *CutError) error {
	if ctx.Err() != nil {
		return stopped(ctx, op, cut)
	}
	return &Error{Op: op, Kind: Unavailable, RequestID: request, Err: cut,
		Public: "The document was cut off, " + cut.after() + ".", Remedy: Remedy{Kind: CheckNetwork}}
}
