package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
	"opdeck/api/secret"
)

const (
	maxAnswer   = 16 << 20               // bytes of a JSON answer
	retryPause  = 300 * time.Millisecond // before a failed read is tried once more
	requestIDIn = "X-Request-Id"
)

// Request is one call before it is sent. Package endpoint makes them, and nobody else
// does: what is sent is declared there.
type Request struct {
	Op       string // for people: "read operation"
	Method   string
	Path     string // ids filled in
	Route    string // the same with {} for ids: for the log
	Class    limit.Class
	Query    url.Values
	Body     []byte                                 // nil: none
	Content  string                                 // type of the body
	Open     bool                                   // it may be answered without a session
	OwnToken bool                                   // it carries a token beside the session's, or its answer does
	Follows  bool                                   // it asks for a page that another one named
	Raw      bool                                   // the answer is bytes of any type, not JSON
	Whole    bool                                   // of Stream: the answer may be of any size
	Shown    func(context.Context, Request, Answer) // of Stream: gets an answer that came whole; nil: nobody

	write  bool                    // once sent, it is awaited whatever becomes of the caller
	leaves func() error            // of a write: called once, right before it leaves; an error keeps it here
	sent   func(done, total int64) // is told how much of Body went; nil: nobody is
}

// Answer is what came back.
type Answer struct {
	Status    int
	Header    http.Header
	Body      []byte
	RequestID string
	At        time.Time // when the last attempt began: what it tells was true then or later
	Settled   bool      // not the write's own answer: that of a read which showed that it was done
	Made      string    // of a write that is done: the id of what it made, "" where it has none

	sent bool  // a connection was had, so the service may have got it
	err  error // no usable answer
}

// Evidence is the answer as what a conclusion about the object rests on; Read and Shows are
// left to the caller.
func (a Answer) Evidence(r Request, object string) evidence.Evidence {
	date, _ := http.ParseTime(a.Header.Get("Date"))
	return evidence.Evidence{Route: r.Method + " " + r.Route, Object: object, Seen: evidence.Moment{At: a.At}, Date: date,
		Covers: evidence.Whole, Request: a.RequestID}
}

// exchange sends r through the session and the budgets. The error is about the
// way (no session, no room, no connection); a refusal by the service is in the
// answer's status.
func (c *Client) exchange(ctx context.Context, r Request) (Answer, error) {
	began := c.opt.Now()
	a := Answer{RequestID: uuid.NewString()}
	call := c.call(r, a.RequestID, began)
	call.Background = limit.IsBackground(ctx)
	c.tell(call, CallWaits)
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
		c.tell(call, CallRuns)
		m := &moving{c: c, call: call}
		a = c.attempt(ctx, r, token, m)
		m.stop()
		return forSession(r, a), a.Header, a.err
	})
	e := c.fault(ctx, r, a, err)
	if kept != nil {
		e = kept
	}
	c.report(call, a, e)
	announce(ctx, r.Op, a.Header)
	if e != nil {
		return a, e
	}
	return a, nil
}

// attempt is one request on the wire, and its whole answer.
func (c *Client) attempt(ctx context.Context, r Request, token secret.Value, m *moving) Answer {
	if r.write {
		r.sent = m.tell
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
	hideToken(a.Body, token)
	return a
}

// unpacked is the text of an answer: compression undone that the transport did not undo, a byte order mark
// dropped.
func unpacked(a Answer) ([]byte, error) {
	text, err := jsontree.Unpack(a.Body, a.Header.Get("Content-Encoding"), maxAnswer)
	if errors.Is(err, jsontree.ErrTooLarge) {
		return nil, errTooLarge
	}
	return text, err
}

// largeBody is how large a body is, in bytes, of which it is told how much went.
const largeBody = 256 << 10

// moving says how much of a large body went, at most twice a second, as long as the
// attempt lasts: the transport may read on for a moment after it.
type moving struct {
	c    *Client
	call Call

	mu       sync.Mutex
	reported time.Time // guarded by mu
	done     int64     // guarded by mu: as told last
	over     bool      // guarded by mu
}

// reading is the body of an answer, of size bytes; less than 0: not told.
func (m *moving) reading(in io.Reader, size int64) *counted {
	return &counted{in: in, total: max(size, 0), tell: m.tell}
}

func (m *moving) tell(done, total int64) {
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
	m.c.tell(call, CallRuns)
}

func (m *moving) stop() {
	m.mu.Lock()
	m.over = true
	m.mu.Unlock()
}

// counted says how much of a body was read.
type counted struct {
	in          io.Reader
	done, total int64
	tell        func(done, total int64)
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.in.Read(b)
	c.done += int64(n)
	c.tell(c.done, c.total)
	return n, err
}

// open sends one request and returns its answer before the body is read; the
// response is nil when the answer has an error. A body without a way to rewind it
// keeps net/http from sending the request a second time by itself.
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
			body = &counted{in: body, total: int64(len(r.Body)), tell: r.sent}
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
	hideTokenIn(resp.Header, token)
	a.Status, a.Header = resp.StatusCode, resp.Header
	if given := resp.Header.Get(requestIDIn); given != "" && len(given) <= 128 {
		a.RequestID = given
	}
	return resp, a
}

var errTooLarge = fmt.Errorf("the answer is larger than %d MB", maxAnswer>>20)

// cause unwraps what net/http says about an address: its text holds the URL.
func cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// Read makes a call that only reads. A read that failed on its way is tried once
// more; nothing else in this client repeats anything.
func (c *Client) Read(ctx context.Context, r Request) (Answer, error) {
	a, err := c.exchange(ctx, r)
	if c.Again(ctx, err) {
		a, err = c.exchange(ctx, r)
	}
	return a, err
}

// Again reports whether a read that ended in err is made once more, after a pause.
func (c *Client) Again(ctx context.Context, err error) bool {
	return again(err) && c.opt.Sleep(ctx, retryPause) == nil
}

func again(err error) bool {
	e := AsError(err)
	return e != nil && e.Kind == Unavailable && !knowsMore(err) && !errors.Is(err, errTooLarge) &&
		!errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled)
}

func orNothing(kind string) string {
	if kind == "" {
		return "no content type"
	}
	return safeLine(kind, 60)
}

func (c *Client) call(r Request, id string, began time.Time) Call {
	return Call{ID: id, Op: r.Op, Class: r.Class, Method: r.Method, Route: r.Route, Write: r.write, At: began}
}

func (c *Client) tell(call Call, phase CallPhase) {
	call.Phase = phase
	if c.opt.OnCall != nil {
		c.opt.OnCall(call)
	}
}

// report tells and logs the end of a call.
func (c *Client) report(call Call, a Answer, e error) {
	call.Status, call.Took, call.RequestID = a.Status, c.opt.Now().Sub(call.At), a.RequestID
	if e != nil {
		err := AsError(e)
		call.Kind, call.Error = err.Kind, err.Public
	}
	c.opt.Log.Info("call", "op", call.Op, "method", call.Method, "route", call.Route, "status", call.Status,
		"kind", string(call.Kind), "took", call.Took, "background", call.Background, "request_id", call.RequestID)
	c.tell(call, CallEnded)
}
