package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"opdeck/api/evidence"
	"opdeck/api/jsontree"
	"opdeck/api/limit"
	"opdeck/api/reach"
	"opdeck/api/secret"
)

const (
	maxAnswer   = 16 << 20               // bytes of a JSON answer
	retryPause  = 300 * time.Millisecond // before the retry of a failed read
	requestIDIn = "X-Request-Id"
)

// Request is one call before it is sent. Only package endpoint makes them, so that every call is declared there.
type Request struct {
	Op      string // for people: "read operation"
	Method  string
	Path    string // ids filled in
	Route   string // Path with {} for ids, for the log
	Class   limit.Class
	Query   url.Values
	Body    []byte                                 // nil: none
	Content string                                 // type of the body
	Second  secret.Value                           // the token in its body, which its answer may echo
	Open    bool                                   // it may be answered without a session
	Follows bool                                   // it asks for a page that an answer named
	Raw     bool                                   // the answer is bytes of any type, not JSON
	Whole   bool                                   // for Stream: the answer may be of any size
	Shown   func(context.Context, Request, Answer) // for Stream: gets a complete answer; may be nil

	write  bool                    // its answer is awaited even if the caller leaves
	take   func(Answer) error      // reads the answer of a read, or says whether that of a write proves it; may be nil
	leaves func() error            // for a write: called once, right before it is sent; an error stops it
	sent   func(done, total int64) // gets the progress of Body; may be nil
}

// Answer is the response to a Request.
type Answer struct {
	Status    int
	Header    http.Header
	Body      []byte
	RequestID string
	At        time.Time // when the last attempt began: the answer is at least as new
	Settled   bool      // the answer is that of a read which showed the write done
	Accepted  bool      // a 2xx of a write that no read can prove (Observation.Silent)
	Made      string    // for a write that is done: id of the created object, or ""

	sent  bool  // a connection existed, so the service may have received it
	err   error // no usable answer
	fault reach.Fault
}

// Evidence returns the answer as evidence about the object; the caller sets Read and Shows.
func (a Answer) Evidence(r Request, object string) evidence.Evidence {
	date, _ := http.ParseTime(a.Header.Get("Date"))
	return evidence.Evidence{Route: r.Method + " " + r.Route, Object: object, Seen: evidence.Moment{At: a.At}, Date: date,
		Covers: evidence.Whole, Request: a.RequestID}
}

// exchange sends r within the session and the budgets. The error is one of the client (no session, no room, no
// connection); the answer's status holds a refusal by the service.
func (c *Client) exchange(ctx context.Context, r Request) (Answer, error) {
	began := c.opt.Now()
	a := Answer{RequestID: uuid.NewString()}
	call := c.call(r, a.RequestID, began)
	call.Background = limit.IsBackground(ctx)
	c.notify(call, CallWaits)
	var left bool
	var kept error
	err := c.opt.Session(ctx, r.SessionRoute(), func(ctx context.Context, token secret.Value) (int, http.Header,
		error) {
		if r.write {
			ctx = context.WithoutCancel(ctx)
			if !left && r.leaves != nil {
				if kept = r.leaves(); kept != nil {
					return 0, nil, kept
				}
				left = true
			}
		}
		ctx, cancel := context.WithTimeout(ctx, c.opt.Timeout)
		defer cancel()
		call.Ran = c.opt.Now()
		c.notify(call, CallRuns)
		m := &moving{c: c, call: call}
		a = c.attempt(ctx, r, token, m)
		m.stop()
		return forSession(r, a), a.Header, a.err
	})
	e := c.fault(ctx, r, a, err)
	if kept != nil {
		e = kept
	}
	if a.fault = c.reached(r, a); e == nil && r.take != nil && !r.write {
		e = r.take(a)
	}
	if call.Useful, a.fault = c.use(r, a, e); kept == nil {
		call.Fault = a.fault
		if known, is := e.(*Error); is {
			known.Fault = a.fault
		}
	}
	c.report(call, a, e)
	announce(ctx, r.Op, a.Header)
	if e != nil {
		return a, e
	}
	return a, nil
}

// attempt sends one request and reads its whole answer.
func (c *Client) attempt(ctx context.Context, r Request, token secret.Value, m *moving) Answer {
	if r.write {
		r.sent = m.notify
	}
	resp, a := c.open(ctx, r, token, m.call.ID)
	if a.err != nil {
		return a
	}
	defer resp.Body.Close()
	var err error
	var in io.Reader = resp.Body
	if !r.write {
		in = m.reading(in, resp.ContentLength)
	}
	a.Body, err = io.ReadAll(io.LimitReader(in, maxAnswer+1))
	if err != nil {
		a.err = &CutError{int64(len(a.Body)), resp.ContentLength, cause(err)}
	} else if len(a.Body) > maxAnswer {
		a.err = errTooLarge
	} else if !r.Raw {
		a.Body, a.err = unpacked(a)
	}
	if a.err != nil {
		a.Status, a.Body = 0, nil
	}
	r.echoed(token).Hide(a.Body)
	return a
}

// unpacked returns the body without compression that the transport left, and without a byte order mark.
func unpacked(a Answer) ([]byte, error) {
	text, err := jsontree.Unpack(a.Body, a.Header.Get("Content-Encoding"), maxAnswer)
	if errors.Is(err, jsontree.ErrTooLarge) {
		return nil, errTooLarge
	}
	return text, err
}

// largeBody is the size, in bytes, from which on the progress of a body is reported.
const largeBody = 256 << 10

// moving reports the progress of a large body, at most twice a second and only during the attempt: the transport may
// read on for a moment after it.
type moving struct {
	c    *Client
	call Call

	mu       sync.Mutex
	reported time.Time // guarded by mu
	done     int64     // guarded by mu: as reported last
	over     bool      // guarded by mu
}

// reading wraps the body of an answer of size bytes; less than 0: not known.
func (m *moving) reading(in io.Reader, size int64) *counted {
	return &counted{in: in, total: max(size, 0), notify: m.notify}
}

func (m *moving) notify(done, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.c.opt.Now()
	if m.over || done == m.done || max(done, total) < largeBody || done != total &&
		now.Sub(m.reported) < 500*time.Millisecond {
		return
	}
	m.reported, m.done = now, done
	call := m.call
	call.Moved, call.Size = done, total
	m.c.notify(call, CallRuns)
}

func (m *moving) stop() {
	m.mu.Lock()
	m.over = true
	m.mu.Unlock()
}

// counted counts the bytes read from a body.
type counted struct {
	in          io.Reader
	done, total int64
	notify      func(done, total int64)
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.in.Read(b)
	c.done += int64(n)
	c.notify(c.done, c.total)
	return n, err
}

// open sends one request and returns its answer before the body is read; the response is nil when the answer has an
// error. The body cannot be rewound, so that net/http does not resend the request.
func (c *Client) open(ctx context.Context, r Request, token secret.Value, id string) (*http.Response, Answer) {
	var got atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { got.Store(true) }})
	a := Answer{RequestID: id, At: c.opt.Now()}
	req, err := http.NewRequestWithContext(ctx, r.Method, c.base.String()+r.Path, nil)
	if err != nil {
		a.err = errors.New("the request cannot be built")
		return nil, a
	}
	req.URL.RawQuery = r.Query.Encode()
	if r.Body != nil {
		body := io.Reader(bytes.NewReader(r.Body))
		if r.sent != nil {
			body = &counted{in: body, total: int64(len(r.Body)), notify: r.sent}
		}
		req.Body, req.ContentLength = io.NopCloser(body), int64(len(r.Body))
		req.Header.Set("Content-Type", r.Content)
	} else if r.write {
		req.Body = io.NopCloser(strings.NewReader(""))
	}
	req.Header.Set("Authorization", "Bearer "+token.Reveal())
	req.Header.Set("Accept", "application/json")
	if r.Raw {
		req.Header.Set("Accept", "*/*")
	}
	req.Header.Set("User-Agent", c.opt.UserAgent)
	req.Header.Set(requestIDIn, id)
	resp, err := c.http.Do(req)
	a.sent = got.Load() || err == nil
	if err != nil {
		a.err = cause(err)
		return nil, a
	}
	c.opt.Gate.service.saw(resp.Header, c.opt.Now())
	dropEchoes(resp.Header, r.echoed(token))
	a.Status, a.Header = resp.StatusCode, resp.Header
	if given := resp.Header.Get(requestIDIn); given != "" && len(given) <= 128 {
		a.RequestID = given
	}
	return resp, a
}

var errTooLarge = fmt.Errorf("the answer is larger than %d MB", maxAnswer>>20)

// cause unwraps the errors of net/http whose text holds the URL.
func cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// Read makes a call that only reads; read takes its answer, which is of use only if it returns no error (nil: any
// object or array is of use). It retries a failed read once; nothing else in this client repeats anything.
func (c *Client) Read(ctx context.Context, r Request, read func(Answer) error) (Answer, error) {
	r.take = read
	a, err := c.exchange(ctx, r)
	if c.Again(ctx, err) {
		a, err = c.exchange(ctx, r)
	}
	return a, err
}

// Again waits and reports whether a read that failed with err is to be retried.
func (c *Client) Again(ctx context.Context, err error) bool {
	return again(err) && c.opt.Sleep(ctx, retryPause) == nil
}

func again(err error) bool {
	e := AsError(err)
	refused := e != nil && e.Status >= 400 && e.Status < 500
	return e != nil && e.Kind == Unavailable && !refused && !knowsMore(err) && !errors.Is(err, errTooLarge) &&
		!errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled)
}

func orNothing(kind string) string {
	if kind == "" {
		return "no content type"
	}
	return safeLine(kind, 60)
}

func (c *Client) call(r Request, id string, began time.Time) Call {
	return Call{ID: id, Op: r.Op, Class: r.Class, Method: r.Method, Route: r.Route, Object: objectOf(r), Write: r.write,
		At: began}
}

func (c *Client) notify(call Call, phase CallPhase) {
	call.Phase = phase
	if c.opt.OnCall != nil {
		c.opt.OnCall(call)
	}
}

// report reports and logs the end of a call.
func (c *Client) report(call Call, a Answer, e error) {
	call.Status, call.Took, call.RequestID = a.Status, c.opt.Now().Sub(call.At), a.RequestID
	if e != nil {
		err := AsError(e)
		call.Kind, call.Error = err.Kind, err.Public
	}
	level := slog.LevelInfo
	if call.Background && call.Kind == "" { // a sync makes many
		level = slog.LevelDebug
	}
	c.opt.Log.Log(context.Background(), level, "call", "op", call.Op, "method", call.Method, "route", call.Route,
		"status", call.Status, "kind", string(call.Kind), "took", call.Took, "background", call.Background,
		"request_id", call.RequestID)
	c.notify(call, CallEnded)
}

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
	err := c.opt.Session(ctx, req.SessionRoute(), func(_ context.Context, token secret.Value) (int, http.Header,
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

// An answer may echo the token of its request: services and gateways that are being debugged return headers. Every
// reader of an answer replaces the token with as many asterisks, so that nothing above this package can show, keep or
// forward it.

// echoed finds what the answer to r may echo: the session's token, and the one in its body.
func (r Request) echoed(token secret.Value) *secret.Finder { return secret.Find(token, r.Second) }

// dropEchoes drops the header fields that hold one of the tokens.
func dropEchoes(h http.Header, tokens *secret.Finder) {
	for name, values := range h {
		if tokens.In(name) || slices.ContainsFunc(values, tokens.In) {
			h.Del(name)
		}
	}
}

// echoFilter replaces the token in a stream, also where it spans two reads.
type echoFilter struct {
	from   io.Reader
	tokens *secret.Finder
	keep   int // bytes that may begin a token
	buf    []byte
	ready  int // bytes at the start of buf that hold no part of a token
	err    error
}

func newEchoFilter(from io.Reader, tokens *secret.Finder) *echoFilter {
	return &echoFilter{from: from, tokens: tokens, keep: tokens.Longest()}
}

// echoChunk is the size of one read, in bytes.
const echoChunk = 32 << 10

func (f *echoFilter) Read(p []byte) (int, error) {
	for f.ready == 0 {
		if f.err != nil {
			return 0, f.err
		}
		have := len(f.buf)
		f.buf = append(f.buf, make([]byte, echoChunk)...)
		n, err := f.from.Read(f.buf[have:])
		f.buf, f.err = f.buf[:have+n], err
		f.tokens.Hide(f.buf)
		f.ready = max(0, len(f.buf)-f.keep)
		if err != nil {
			f.ready = len(f.buf)
		}
	}
	n := copy(p, f.buf[:f.ready])
	f.buf = append(f.buf[:0], f.buf[n:]...)
	f.ready -= n
	return n, nil
}
