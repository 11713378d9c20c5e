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

	"opdeck/api/limit"
	"opdeck/api/secret"
)

const (
	maxAnswer   = 16 << 20               // bytes of a JSON answer
	retryPause  = 300 * time.Millisecond // before a failed read is tried once more
	requestIDIn = "X-Request-Id"
)

// request is one call before it is sent.
type request struct {
	op      string // for people: "read operation"
	method  string
	parts   []string // of the path; ids begin with ":"
	query   url.Values
	body    []byte // nil: none
	content string // type of the body
	write   bool   // once sent, it is awaited whatever becomes of the caller
	// ownToken: it carries a token beside the session's (rule.ownToken; also the read of
	// the webhook settings).
	ownToken bool
	raw      bool                    // the answer is bytes of any type, not JSON
	sent     func(done, total int64) // is told how much of body went; nil: nobody is
}

func (r request) class() limit.Class { p, _ := paths(r.parts...); return ClassOf(p) }

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
	id     string    // of the request
	at     time.Time // when the last attempt began: what it tells was true then or later
	sent   bool      // a connection was had, so the service may have got it
	err    error     // no usable answer

	settled bool   // not the write's own answer: that of a read which showed that it was done
	file    string // settled: the uploaded file's id
}

// exchange sends r through the session and the budgets. The error is about the
// way (no session, no room, no connection); a refusal by the service is in the
// answer's status.
func (c *Client) exchange(ctx context.Context, r request) (answer, error) {
	began := c.opt.Now()
	a := answer{id: uuid.NewString()}
	call := c.call(r, a.id, began)
	call.Background = limit.IsBackground(ctx)
	c.tell(call, CallWaits)
	try := 0
	err := c.opt.Session.Do(ctx, r.class(), func(ctx context.Context, token secret.Value) (int, http.Header, error) {
		if r.write {
			ctx = context.WithoutCancel(ctx)
		}
		ctx, cancel := context.WithTimeout(ctx, c.opt.Timeout)
		defer cancel()
		call.Ran = c.opt.Now()
		c.tell(call, CallRuns)
		m := &moving{c: c, call: call}
		a = c.attempt(ctx, r, token, m)
		m.stop()
		try++
		return c.forSession(r, a, try), a.header, a.err
	})
	e := c.fault(ctx, r, a, err)
	c.report(call, a, e)
	announce(ctx, r.op, a.header)
	if e != nil {
		return a, e
	}
	return a, nil
}

// attempt is one request on the wire, and its whole answer.
func (c *Client) attempt(ctx context.Context, r request, token secret.Value, m *moving) answer {
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
	a.body, err = io.ReadAll(io.LimitReader(in, maxAnswer+1))
	hideToken(a.body, token)
	switch {
	case err != nil:
		a.err, a.status = fmt.Errorf("the answer broke off: %w", cause(err)), 0
	case len(a.body) > maxAnswer:
		a.err, a.status, a.body = errTooLarge, 0, nil
	}
	return a
}

// largeBody is how large a body is, in bytes, of which it is told how much went.
const largeBody = 256 << 10

// moving tells how much of a large body went, at most twice a second, as long as the
// attempt lasts: the transport may read on for a moment after it.
type moving struct {
	c    *Client
	call Call

	mu   sync.Mutex
	told time.Time // guarded by mu
	done int64     // guarded by mu: as told last
	over bool      // guarded by mu
}

// reading is the body of an answer, of size bytes; less than 0: not told.
func (m *moving) reading(in io.Reader, size int64) *counted {
	return &counted{in: in, total: max(size, 0), tell: m.tell}
}

func (m *moving) tell(done, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.c.opt.Now()
	if m.over || done == m.done || max(done, total) < largeBody || done != total && now.Sub(m.told) < 500*time.Millisecond {
		return
	}
	m.told, m.done = now, done
	call := m.call
	call.Moved, call.Size = done, total
	m.c.tell(call, CallRuns)
}

func (m *moving) stop() {
	m.mu.Lock()
	m.over = true
	m.mu.Unlock()
}

// counted tells how much of a body was read.
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
func (c *Client) open(ctx context.Context, r request, token secret.Value, id string) (*http.Response, answer) {
	var got atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { got.Store(true) }})
	path, _ := paths(r.parts...)
	a := answer{id: id, at: c.opt.Now()}
	req, err := http.NewRequestWithContext(ctx, r.method, c.base.String()+path, nil)
	if err != nil {
		a.err = errors.New("the request cannot be built")
		return nil, a
	}
	req.URL.RawQuery = r.query.Encode()
	if r.body != nil {
		body := io.Reader(bytes.NewReader(r.body))
		if r.sent != nil {
			body = &counted{in: body, total: int64(len(r.body)), tell: r.sent}
		}
		req.Body, req.ContentLength = io.NopCloser(body), int64(len(r.body))
		req.Header.Set("Content-Type", r.content)
	} else if r.write {
		req.Body = io.NopCloser(strings.NewReader(""))
	}
	req.Header.Set("Authorization", "Bearer "+token.Reveal())
	req.Header.Set("Accept", "application/json")
	if r.raw {
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
	hideTokenIn(resp.Header, token)
	a.status, a.header = resp.StatusCode, resp.Header
	if given := resp.Header.Get(requestIDIn); given != "" && len(given) <= 128 {
		a.id = given
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

// get makes a call that only reads. A read that failed on its way is tried once
// more; nothing else in this client repeats anything.
func (c *Client) get(ctx context.Context, r request) (answer, error) {
	r.method = http.MethodGet
	return c.read(ctx, r)
}

// read is get with the method of r.
func (c *Client) read(ctx context.Context, r request) (answer, error) {
	a, err := c.exchange(ctx, r)
	if again(err) && c.opt.Sleep(ctx, retryPause) == nil {
		a, err = c.exchange(ctx, r)
	}
	return a, err
}

func again(err error) bool {
	e := AsError(err)
	return e != nil && e.Kind == Unavailable && !knowsMore(err) && !errors.Is(err, errTooLarge) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled)
}

func orNothing(kind string) string {
	if kind == "" {
		return "no content type"
	}
	return safeLine(kind, 60)
}

func (c *Client) call(r request, id string, began time.Time) Call {
	_, route := paths(r.parts...)
	return Call{ID: id, Op: r.op, Class: r.class(), Method: r.method, Route: route, Write: r.write, At: began}
}

func (c *Client) tell(call Call, phase CallPhase) {
	call.Phase = phase
	if c.opt.OnCall != nil {
		c.opt.OnCall(call)
	}
}

// report tells and logs the end of a call.
func (c *Client) report(call Call, a answer, e error) {
	call.Status, call.Took, call.RequestID = a.status, c.opt.Now().Sub(call.At), a.id
	if e != nil {
		err := AsError(e)
		call.Kind, call.Error = err.Kind, err.Public
	}
	c.opt.Log.Info("call", "op", call.Op, "method", call.Method, "route", call.Route, "status", call.Status,
		"kind", string(call.Kind), "took", call.Took, "background", call.Background, "request_id", call.RequestID)
	c.tell(call, CallEnded)
}
