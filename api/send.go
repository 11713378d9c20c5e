package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"net/url"
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
	Op       string // for people: "read operation"
	Method   string
	Path     string // ids filled in
	Route    string // Path with {} for ids, for the log
	Class    limit.Class
	Query    url.Values
	Body     []byte                                 // nil: none
	Content  string                                 // type of the body
	Second   secret.Value                           // the token in its body, which its answer may echo
	Open     bool                                   // it may be answered without a session
	OwnToken bool                                   // it carries a second token, or its answer has one
	Follows  bool                                   // it asks for a page that an answer named
	Raw      bool                                   // the answer is bytes of any type, not JSON
	Whole    bool                                   // for Stream: the answer may be of any size
	Shown    func(context.Context, Request, Answer) // for Stream: gets a complete answer; may be nil

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
	err := c.opt.Session.Do(ctx, r.SessionRoute(), func(ctx context.Context, token secret.Value) (int, http.Header,
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
		a.err = fmt.Errorf("the answer was cut off: %w", cause(err))
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
