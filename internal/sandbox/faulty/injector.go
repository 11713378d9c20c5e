// Package faulty makes the built-in service misbehave, for tests and drills: it answers late, lost, without proof, in
// other words, shapes and orders, and its data change silently. It also counts what the service is asked. FaultHelp is
// the grammar of faults. The shipped program does not contain it.
//
// An Injector stands before the service; see sandbox.Options.Around. Under /sandbox/ it answers, without login and in
// JSON, those who have the service in another process:
//
//	GET    stats      what the service was asked; DELETE forgets it
//	GET    auth-log   every login and refresh with its outcome
//	PUT    faults     {"spec": "drop=refresh:3"}
//	PATCH  settings   changes the settings given
//	POST   login      {}: somebody else logs the account in
//	POST   revoke     {}: every pair ends
//	POST   remove     {"ids": [opid …]}: operations are gone
package faulty

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"opdeck/api/endpoint"
	"opdeck/internal/sandbox"
)

// Options are those of the service, with its faults.
type Options struct {
	sandbox.Options
	Faults   Faults
	Style    Style
	Odd      bool          // see Odd
	Activity time.Duration // an operation moves on this often; 0: never
}

// Service is the built-in service behind an injector.
type Service struct {
	Data
	*Injector
}

// Open opens the service; Close ends it.
func Open(ctx context.Context, o Options) (*Service, error) {
	o.Faults.odd = o.Faults.odd || o.Odd
	in := New(o.Faults)
	in.style = o.Style
	o.Around = in.Around
	s, err := sandbox.Open(ctx, o.Options)
	if err != nil {
		return nil, err
	}
	if o.Activity > 0 {
		s.Go(func(ctx context.Context) {
			for sleep(ctx, o.Activity) == nil {
				_ = in.service.Step(ctx) // a busy file only skips this step
			}
		})
	}
	return &Service{in.service, in}, nil
}

// ForeignLogin simulates a login by another client, and counts it.
func (s *Service) ForeignLogin(ctx context.Context) error { return s.Injector.ForeignLogin(ctx) }

// Revoke ends every pair of the account, and counts as a login by another client.
func (s *Service) Revoke(ctx context.Context) error { return s.Injector.Revoke(ctx) }

// Injector stands before one service.
type Injector struct {
	service Data
	next    http.Handler
	routes  *http.ServeMux // answers nothing: finds the route of a request
	names   map[string]sandbox.Route
	admin   *http.ServeMux
	style   Style

	mu     sync.Mutex // guards what follows
	faults Faults
	fired  map[string]int       // by rule: matching calls, and times that it fired
	issued map[string]time.Time // access tokens, while they are fresh
	seen   counts
}

// New returns an injector of faults, for Options.Around of one service.
func New(f Faults) *Injector {
	return &Injector{faults: f, fired: map[string]int{}, issued: map[string]time.Time{}, seen: newCounts()}
}

// Around implements sandbox.Options.Around. It panics if odd values cannot be written.
func (in *Injector) Around(s *sandbox.Service, next http.Handler) http.Handler {
	in.service, in.next = Of(s), next
	in.routes, in.names = http.NewServeMux(), map[string]sandbox.Route{}
	for _, rt := range sandbox.Routes() {
		in.routes.HandleFunc(rt.Pattern, func(http.ResponseWriter, *http.Request) {})
		in.names[rt.Pattern] = rt
	}
	in.admin = in.administration()
	if in.faults.odd {
		if err := in.service.makeOdd(context.Background()); err != nil {
			panic(err)
		}
	}
	return in
}

// SetFaults replaces the faults and resets the rules' counts.
func (in *Injector) SetFaults(f Faults) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.faults, in.fired = f, map[string]int{}
}

// ForeignLogin simulates a login by another client.
func (in *Injector) ForeignLogin(ctx context.Context) error {
	in.count(func(c *counts) { c.stats.ForeignLogins++ })
	return in.service.ForeignLogin(ctx)
}

// Revoke ends every pair of the account.
func (in *Injector) Revoke(ctx context.Context) error {
	in.count(func(c *counts) { c.stats.ForeignLogins++ })
	return in.service.Revoke(ctx)
}

// call is one request in progress.
type call struct {
	in      *Injector
	w       http.ResponseWriter
	r       *http.Request
	ctx     context.Context // does not end with the caller
	rt      sandbox.Route
	params  []string // values of the pattern's wildcards
	general Faults
	faults  []fault // that fire for this call
	taken   bool    // it was counted
	before  []byte  // the call's operation before processing, if a reply needs it
	present []byte  // the same, current
}

// answer is a complete answer; faults may change it before it is sent.
type answer struct {
	status  int
	header  http.Header
	body    []byte
	refused bool // by the service itself, in its own words
}

// ServeHTTP implements http.Handler.
func (in *Injector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if rest, own := strings.CutPrefix(r.URL.Path, "/sandbox/"); own {
		if strings.HasPrefix(rest, "verify/") {
			in.next.ServeHTTP(w, r)
			return
		}
		in.admin.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20)) // once it is read, the server notices a client that leaves
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	c := in.receive(w, r)
	a := c.first()
	if a == nil {
		done := c.process()
		a = &done
	}
	c.finish(a)
}

// receive finds the route of a request and the faults that fire for it.
func (in *Injector) receive(w http.ResponseWriter, r *http.Request) *call {
	in.mu.Lock()
	defer in.mu.Unlock()
	c := &call{in: in, w: w, r: r, ctx: context.WithoutCancel(r.Context()), general: in.faults}
	find := r
	if c.byPost() {
		find = &http.Request{Method: http.MethodGet, URL: r.URL, Host: r.Host}
	}
	_, pattern := in.routes.Handler(find)
	rt, known := in.names[pattern]
	if !known {
		rt = sandbox.Route{Class: endpoint.ClassOf(r.URL.Path)}
	}
	c.rt, c.params = rt, paramsOf(pattern, r.URL.EscapedPath())
	c.faults = in.fire(rt, r.Method)
	return c
}

// process passes the request on, and counts it.
func (c *call) process() answer {
	a := c.styled(c.varied())
	c.in.countAnswer(c, a)
	return a
}

// pass returns the service's answer to a request.
func (c *call) pass(r *http.Request) answer {
	rec := &recorder{header: http.Header{}}
	c.in.next.ServeHTTP(rec, r)
	a := answer{status: rec.status, header: rec.header, body: c.in.service.shown.body(rec.body.Bytes())}
	a.refused = a.status >= 400 && a.status < 500
	return a
}

// recorder keeps an answer.
type recorder struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

func (r *recorder) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(b)
}

// administration are the paths under /sandbox/.
func (in *Injector) administration() *http.ServeMux {
	mux := http.NewServeMux()
	do := func(pattern string, f func(ctx context.Context, body []byte) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
			var out any
			if err == nil {
				out, err = f(r.Context(), body)
			}
			w.Header().Set("Content-Type", "application/json")
			if err != nil {
				w.WriteHeader(http.StatusBadRequest)
				out = map[string]string{"error": err.Error()}
			}
			w.Write(encode(out)) // fails if the client has left
		})
	}
	done := map[string]bool{"success": true}
	do("GET /sandbox/stats", func(ctx context.Context, _ []byte) (any, error) { return in.Stats(ctx) })
	do("DELETE /sandbox/stats", func(context.Context, []byte) (any, error) {
		in.count(func(c *counts) { *c = newCounts() })
		return done, nil
	})
	do("GET /sandbox/auth-log", func(context.Context, []byte) (any, error) { return in.AuthLog(), nil })
	do("PUT /sandbox/faults", func(_ context.Context, body []byte) (any, error) {
		var v struct{ Spec string }
		if err := json.Unmarshal(body, &v); err != nil {
			return nil, err
		}
		f, err := ParseFaults(v.Spec)
		if err == nil {
			in.SetFaults(f)
		}
		return done, err
	})
	do("PATCH /sandbox/settings", func(ctx context.Context, body []byte) (any, error) {
		return done, in.service.Configure(ctx, body)
	})
	do("POST /sandbox/login", func(ctx context.Context, _ []byte) (any, error) { return done, in.ForeignLogin(ctx) })
	do("POST /sandbox/revoke", func(ctx context.Context, _ []byte) (any, error) { return done, in.Revoke(ctx) })
	do("POST /sandbox/remove", func(ctx context.Context, body []byte) (any, error) {
		var v struct{ IDs []string }
		if err := json.Unmarshal(body, &v); err != nil {
			return nil, err
		}
		return done, in.service.Remove(ctx, v.IDs...)
	})
	return mux
}

// paramsOf returns the values of a pattern's wildcards in their order.
func paramsOf(pattern, path string) []string {
	_, pattern, _ = strings.Cut(pattern, " ")
	var values []string
	parts := strings.Split(path, "/")
	for i, p := range strings.Split(pattern, "/") {
		if strings.HasPrefix(p, "{") && i < len(parts) {
			value, err := url.PathUnescape(parts[i])
			if err != nil {
				value = parts[i]
			}
			values = append(values, value)
		}
	}
	return values
}
