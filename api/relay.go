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

// Relayed is an answer to a read that is passed on unchanged, except that the token of the request is hidden. The
// caller must close Body.
type Relayed struct {
	Status    int // never 401, 429 or a redirection: those are errors
	Header    http.Header
	Body      io.ReadCloser // at most MaxRelay bytes; more is an error of Read
	Size      int64         // of Body in bytes; -1: not known in advance
	RequestID string
	Waited    time.Duration // for the slot and the session

	All []byte // All is the whole body if it was short enough to be read already.
}

// Bounds of a relayed answer.
const (
	// MaxRelay bounds one relayed answer, in bytes.
	MaxRelay = 64 << 20
	// relayHead bytes are read before an answer is passed on, to detect the end of the session.
	relayHead = 64 << 10
	// relayTime bounds the time for the rest of an answer.
	relayTime = 5 * time.Minute
)

// relayed is one attempt whose answer has begun.
type relayed struct {
	Answer
	resp   *http.Response
	token  secret.Value
	whole  bool // a.Body is complete
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

// Stream makes a read (one call of its class) and returns its answer while it arrives, also if the service refuses.
// The session handles a status 401; a transport failure, a redirection, a 429 and a missing session are errors.
// Request.Shown gets the complete answer when Body is closed after its end.
func (c *Client) Stream(ctx context.Context, req Request) (*Relayed, error) {
	req.Raw = true
	call := c.call(req, uuid.NewString(), c.opt.Now())
	c.notify(call, CallWaits)
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
		c.notify(call, CallRuns)
		last = c.relayOnce(ctx, req, token, call.ID)
		return relayStatus(req, last), last.Header, last.err
	})
	a := Answer{RequestID: call.ID}
	if last != nil {
		a = last.Answer
	}
	e := c.relayFault(ctx, req, a, err)
	call.Useful, call.Fault = c.use(req, a, e)
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

// wholeBody is a body of any size whose progress is reported; closing it ends the call.
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

// CutError is the error of an answer that ended early.
type CutError struct {
	Read, Of int64 // bytes; Of is -1 if the answer did not say
	Err      error
}

func (e *CutError) Error() string { return "the answer was cut off: " + e.Err.Error() }

func (e *CutError) Unwrap() error { return e.Err }

// after says where the answer ended: "after 3 of 100 bytes".
func (e *CutError) after() string {
	if e.Of < 0 {
		return fmt.Sprintf("after %d bytes", e.Read)
	}
	return fmt.Sprintf("after %d of %d bytes", e.Read, e.Of)
}

// relayStatus is the status that the session gets for an attempt: 401 if the answer says in other words that the
// token has expired.
func relayStatus(r Request, a *relayed) int {
	if !a.whole {
		return a.Status
	}
	r.Raw = !jsonLike(a.Header)
	return forSession(r, a.Answer)
}

func jsonLike(h http.Header) bool { return strings.Contains(h.Get("Content-Type"), "json") }

// relayFault is the error of an answer that is not passed on; a refusal in the service's own words is passed on.
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

// passOn builds the Relayed for the caller.
func (c *Client) passOn(ctx context.Context, r Request, a *relayed, waited time.Duration) *Relayed {
	a.timer.Reset(relayTime)
	out := &Relayed{Status: a.Status, Header: a.Header, RequestID: a.RequestID, Waited: waited, Size: a.resp.ContentLength}
	from := io.Reader(bytes.NewReader(a.Body))
	if a.whole {
		out.Size = int64(len(a.Body))
		r.echoed(a.token).Hide(a.Body)
		out.All = a.Body
	} else {
		from = newEchoFilter(io.MultiReader(from, a.resp.Body), r.echoed(a.token))
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
	seen  *bytes.Buffer // nil: the body is not kept
	show  func([]byte)
	ended bool
	err   error // what ended it early
	close func()
}

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

func (b *relayBody) Close() error {
	b.close()
	if b.ended && b.seen != nil {
		b.show(b.seen.Bytes())
		b.seen = nil
	}
	return nil
}

// BrokeOff is the error of a document whose download ended early.
func BrokeOff(ctx context.Context, op, request string, cut *CutError) error {
	if ctx.Err() != nil {
		return stopped(ctx, op, cut)
	}
	return &Error{Op: op, Kind: Unavailable, RequestID: request, Err: cut,
		Public: "The document was cut off, " + cut.after() + ".", Remedy: Remedy{Kind: CheckNetwork}}
}
