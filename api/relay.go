package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"opdeck/api/secret"
)

// Relay is a read whose answer passes on as it is, for somebody who speaks the
// service's own paths.
type Relay struct {
	Op    string   // for people: "read operation"
	Parts []string // of the path; ids begin with ":"
	Query url.Values

	whole bool // the answer may be of any size
}

// Relayed is the answer to a Relay. Nothing in it holds the token that the request
// was sent with. Body must be closed.
type Relayed struct {
	Status    int // never 401, 429 or a redirection: those are errors
	Header    http.Header
	Body      io.ReadCloser // up to MaxRelay bytes; more is an error of Read
	Size      int64         // of Body in bytes; -1: not known before its end
	RequestID string
	Waited    time.Duration // for the slot and the session

	all []byte // of the body, where it is short enough to have been read already
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
	answer
	resp   *http.Response
	token  secret.Value
	whole  bool // a.body is all of it
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

// Relay makes a read (one call of the path's class) and returns its answer, also
// when that is a refusal by the service. A status 401 is settled by the session's
// rules; a failure on the way, a redirection, a 429 and no session
// are errors. Operations in the answer go to the observers when the Body is closed
// after its end.
func (c *Client) Relay(ctx context.Context, r Relay) (*Relayed, error) {
	req := request{op: r.Op, method: http.MethodGet, parts: r.Parts, query: r.Query, raw: true}
	call := c.call(req, uuid.NewString(), c.opt.Now())
	c.tell(call, CallWaits)
	var last *relayed
	var waited time.Duration
	try := 0
	err := c.opt.Session.Do(ctx, req.class(), func(_ context.Context, token secret.Value) (int, http.Header, error) {
		last.close()
		if try == 0 {
			waited = c.opt.Now().Sub(call.At)
		}
		try++
		call.Ran = c.opt.Now()
		c.tell(call, CallRuns)
		last = c.relayOnce(ctx, req, token, call.ID)
		return c.relayStatus(req, last, try), last.header, last.err
	})
	a := answer{id: call.ID}
	if last != nil {
		a = last.answer
	}
	e := c.relayFault(ctx, req, a, err)
	announce(ctx, r.Op, a.header)
	if e != nil {
		c.report(call, a, e)
		last.close()
		return nil, e
	}
	if !r.whole {
		c.report(call, a, nil)
		return c.passOn(ctx, req, last, waited), nil
	}
	out := c.passOn(ctx, req, last, waited)
	out.Body = c.wholeBody(ctx, call, a, out)
	return out, nil
}

// wholeBody is a body of any size, of which it is told how much came; the call ends with
// it.
func (c *Client) wholeBody(ctx context.Context, call Call, a answer, out *Relayed) io.ReadCloser {
	body, m := out.Body.(*relayBody), &moving{c: c, call: call}
	from, end := m.reading(body.from, out.Size), body.close
	body.from, body.left, body.close = from, math.MaxInt64, sync.OnceFunc(func() {
		m.stop()
		var e error
		if body.err != nil {
			e = brokeOff(ctx, call.Op, a.id, &cutError{from.done, out.Size, body.err})
		}
		c.report(call, a, e)
		end()
	})
	return body
}

// relayOnce sends the request and reads the head of the answer.
func (c *Client) relayOnce(ctx context.Context, r request, token secret.Value, id string) *relayed {
	ctx, cancel := context.WithCancelCause(ctx)
	out := &relayed{token: token, cancel: cancel}
	out.timer = time.AfterFunc(c.opt.Timeout, func() { cancel(context.DeadlineExceeded) })
	out.resp, out.answer = c.open(ctx, r, token, id)
	if out.err == nil {
		head, err := io.ReadAll(io.LimitReader(out.resp.Body, relayHead+1))
		out.body, out.whole = head, len(head) <= relayHead
		if err != nil {
			out.err, out.status = &cutError{int64(len(head)), out.resp.ContentLength, cause(err)}, 0
		}
	}
	if out.err != nil && context.Cause(ctx) == context.DeadlineExceeded {
		out.err = context.DeadlineExceeded
	}
	return out
}

// cutError is an answer that ended before its end.
type cutError struct {
	read, of int64 // bytes; of is -1 when the answer did not tell
	err      error
}

// Error implements error.
func (e *cutError) Error() string { return "the answer broke off: " + e.err.Error() }

// Unwrap gives what ended it.
func (e *cutError) Unwrap() error { return e.err }

// after says where it ended: "after 3 of 100 bytes".
func (e *cutError) after() string {
	if e.of < 0 {
		return fmt.Sprintf("after %d bytes", e.read)
	}
	return fmt.Sprintf("after %d of %d bytes", e.read, e.of)
}

// relayStatus is what the session is told of an attempt: 401 where the answer says in
// other words that the token is over.
func (c *Client) relayStatus(r request, a *relayed, try int) int {
	if !a.whole {
		return a.status
	}
	r.raw = !jsonLike(a.header)
	return c.forSession(r, a.answer, try)
}

func jsonLike(h http.Header) bool { return strings.Contains(h.Get("Content-Type"), "json") }

// relayFault is an answer that is not passed on. What the service refuses in its own
// words is.
func (c *Client) relayFault(ctx context.Context, r request, a answer, err error) error {
	e := c.fault(ctx, r, a, err)
	switch {
	case e == nil || err != nil || a.err != nil:
		return e
	case a.status == http.StatusUnauthorized, a.status == http.StatusProxyAuthRequired, a.status == http.StatusTooManyRequests,
		a.status < 200, a.status >= 300 && a.status < 400 && a.status != http.StatusNotModified:
		return e
	}
	return nil
}

// passOn makes the answer that leaves this package.
func (c *Client) passOn(ctx context.Context, r request, a *relayed, waited time.Duration) *Relayed {
	a.timer.Reset(relayTime)
	out := &Relayed{Status: a.status, Header: a.header, RequestID: a.id, Waited: waited, Size: a.resp.ContentLength}
	from := io.Reader(bytes.NewReader(a.body))
	if a.whole {
		out.Size = int64(len(a.body))
		hideToken(a.body, a.token)
		out.all = a.body
	} else {
		from = newEchoFilter(io.MultiReader(from, a.resp.Body), a.token)
	}
	body := &relayBody{from: from, left: MaxRelay, close: a.close}
	if show := c.shows(r); show != nil && a.status == http.StatusOK {
		body.seen = new(bytes.Buffer)
		body.show = func(b []byte) {
			full := a.answer
			full.body = b
			show(context.WithoutCancel(ctx), r, full)
		}
	}
	out.Body = body
	return out
}

// shows returns how the answer to r is shown to the observers; nil when it holds no
// operations.
func (c *Client) shows(r request) func(context.Context, request, answer) {
	_, route := paths(r.parts...)
	switch route {
	case "/v2/billing/operation":
		return func(ctx context.Context, r request, a answer) {
			page, _ := strconv.Atoi(r.query.Get("meta.page"))
			if p, err := pageOf[Operation](c, r, a, operationThing, page); err == nil {
				c.seen(ctx, a.at, true, p.Items...)
			}
		}
	case "/v2/billing/operation/{}":
		return func(ctx context.Context, r request, a answer) { _, _ = c.operationOf(ctx, r.op, a) }
	}
	return nil
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
