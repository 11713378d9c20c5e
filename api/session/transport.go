package session

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"time"

	"opdeck/api/limit"
	"opdeck/api/reach"
	"opdeck/api/secret"
)

// NewAuthTransport returns the transport for logins and refreshes, which sends each request at most once (rule H1):
// HTTP/1.1 only and without keep-alive, because net/http silently repeats a GET that fails on a reused connection,
// and up to eight times over HTTP/2. If the service refuses HTTP/1.1 in the handshake, it uses HTTP/2: without
// keep-alive, and with the bodies of this package, which cannot be rewound, that too sends once. tlsConfig may be
// nil; it is copied, with TLS 1.2 as the minimum. change, if not nil, sets proxy or dialer.
func NewAuthTransport(tlsConfig *tls.Config, change func(*http.Transport)) http.RoundTripper {
	t := authTransport{first: newTransport(tlsConfig, false), second: newTransport(tlsConfig, true)}
	if change != nil {
		change(t.first)
		change(t.second)
	}
	return t
}

type authTransport struct{ first, second *http.Transport }

// RoundTrip implements http.RoundTripper.
func (t authTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	refused := false // by a handshake alert: nothing was sent
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			var alert *net.OpError
			refused = errors.As(err, &alert) && alert.Op == "remote error"
		}})
	resp, err := t.first.RoundTrip(r.WithContext(ctx))
	if err == nil || !refused {
		return resp, err
	}
	if other, otherErr := t.second.RoundTrip(r); otherErr == nil || !refusedAlike(otherErr) {
		return other, otherErr
	}
	return nil, err
}

// refusedAlike reports whether the handshake failed over HTTP/2 too.
func refusedAlike(err error) bool {
	return reach.OfError(err, false, time.Now()).Permanent()
}

func newTransport(tlsConfig *tls.Config, http2 bool) *http.Transport {
	cfg := tlsConfig.Clone()
	if cfg == nil {
		cfg = &tls.Config{}
	}
	cfg.MinVersion = max(cfg.MinVersion, tls.VersionTLS12)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2)
	cfg.NextProtos = []string{"http/1.1"}
	if http2 {
		cfg.NextProtos = []string{"h2"}
	}
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: 8 * time.Second}).DialContext,
		TLSClientConfig:        cfg,
		TLSHandshakeTimeout:    8 * time.Second,
		Protocols:              protocols,
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// Access is the credential of one call. Token and Gen belong together.
type Access struct {
	Token       secret.Value
	Incarnation string
	Gen         int64
	// Attempt counts the sends of this call, from 1.
	Attempt int
	// Over: the call exceeds the recommended rate (policy "warn"), or the shared store is unavailable and the rate is
	// not known.
	Over bool

	marked bool // the store knows that the pair is accepted, and has no refusal by this route
}

func accessOf(r Row) Access {
	return Access{Token: r.Access, Incarnation: r.Incarnation, Gen: r.Gen}
}

// Send sends a call once and returns the status and header of the answer. err is the failure of an exchange without
// an answer (status 0), or any other error that Do is to return.
type Send func(ctx context.Context, a Access) (status int, header http.Header, err error)

// Route is the path of a call at the service.
type Route struct {
	Class limit.Class
	Name  string // a template without ids
	Open  bool   // it may be answered without a session, so that an answer proves nothing about the session
}

// maxSends bounds the sends of one call (rule E5).
const maxSends = 3

// call is the state of one Do.
type call struct {
	m       *Manager
	route   Route
	sends   int
	rounds  int    // waits for a usable pair
	graced  Access // the pair that had its grace as a young pair (rule E3)
	lenient bool   // a rotation failed: use the pair until it expires
}

// Do sends a call of route with the live pair. It waits for a slot in the budget (background work marked by
// limit.Background goes last) and for rotations, our own or others'. ctx bounds all of it; give it at least 30 s, or
// a crash elsewhere shows as an error. After a 401, which means that nothing was done, it sends the call again with a
// pair that is known to be better, three times at most in all; if a route refuses a pair that others accept, the
// error is an *Error of kind NotAuthorised. A 429 is shared with all processes and returned unchanged. The error is
// send's, *Error, *limit.Exhausted, or nil.
func (m *Manager) Do(ctx context.Context, route Route, send Send) error {
	c := &call{m: m, route: route}
	m.beat(ctx)
	for {
		a, err := c.enter(ctx)
		if err != nil {
			return err
		}
		c.sends++
		a.Attempt = c.sends
		status, header, err := send(ctx, a)
		if status == http.StatusTooManyRequests {
			c.throttled(ctx, header)
		}
		if status != http.StatusUnauthorized {
			m.witnesses.shown(ctx, a, route, status)
			return err
		}
		again, sessionErr := c.unauthorized(ctx, a, header)
		if sessionErr == nil && !again {
			sessionErr = &Error{Kind: Unauthorized, Public: "the service rejected the session's token"}
		}
		if sessionErr != nil && err != nil {
			return errors.Join(sessionErr, err)
		}
		if sessionErr != nil {
			return sessionErr
		}
	}
}

func (c *call) throttled(ctx context.Context, h http.Header) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := c.m.limits.Note429(ctx, c.route.Class, RetryAfter(h)); err != nil {
		c.m.log.Warn("session: a 429 is not noted for the others", "class", c.route.Class, "err", err)
	}
}

// enter waits until a call may be sent: pair, generation and slot come from one read (rule B1).
func (c *call) enter(ctx context.Context) (Access, error) {
	m := c.m
	req := m.limits.Request(ctx, c.route.Class)
	for {
		if m.isClosed() {
			m.limits.Drop(ctx, c.route.Class, req.Ticket)
			return Access{}, &Error{Kind: Closed, Public: "the session is closed"}
		}
		before, start, asked := m.known(), m.clock.Steady(), false
		row, grant, err := m.store.Enter(ctx, m.key, req, func(r Row) bool {
			asked = m.usable(r, before) || (c.lenient && m.alive(r, before))
			return asked
		})
		if err != nil {
			return c.withoutStore(ctx, err)
		}
		m.saw(row, start)
		switch {
		case asked && grant.Taken && grant.Wait == 0:
			a := accessOf(row)
			a.Over = grant.Over
			_, accepted := row.acceptedBy()
			_, refuses := row.refusedBy(c.route.Name)
			a.marked = accepted && !refuses
			return a, nil
		case asked:
			if req, err = m.limits.Hold(ctx, req, grant); err != nil {
				return Access{}, waitError(err)
			}
		default:
			if err := c.ready(ctx, row, before); err != nil {
				m.limits.Drop(ctx, c.route.Class, req.Ticket)
				return Access{}, err
			}
		}
	}
}

// waitError wraps the end of a context in an *Error; *limit.Exhausted is returned unchanged.
func waitError(err error) error {
	var ex *limit.Exhausted
	if errors.As(err, &ex) {
		return err
	}
	return timedOut(err, "waiting for the budget")
}

// ready makes row usable, or finds that it is.
func (c *call) ready(ctx context.Context, row Row, before seen) error {
	why := need(row, before)
	_, wait := c.m.plan(row, before, why)
	err := error(nil)
	fault := (*Error)(nil)
	if wait > 0 && limit.IsAwaited(ctx) {
		fault = c.m.faultBefore(ctx, wait)
	}
	if d, ok := ctx.Deadline(); fault != nil {
		err = fault
	} else if ok && wait > 0 && time.Until(d) < wait {
		err = c.m.notYet(ctx, wait)
	} else {
		err = c.m.await(ctx, why)
	}
	if !limit.IsAwaited(ctx) && isPermanent(err) { // background work waits for the next try
		err = nil
	}
	var e *Error
	if c.rounds++; err == nil && c.rounds > 3 { // slow down when this repeats
		if sleep(ctx, min(c.m.c.PollFirst*time.Duration(c.rounds), c.m.c.PollMax)) != nil {
			return timedOut(ctx.Err(), "waiting for a login or refresh")
		}
	}
	if err == nil || !errors.As(err, &e) || c.lenient || !c.m.alive(row, before) || e.Kind == TimedOut {
		return err
	}
	c.lenient = true // it cannot be renewed, but it is still valid
	return nil
}

// withoutStore lets a person's call use the pair from memory until its hand-over (rule K1). No process knows what the
// others send meanwhile, so this process allows itself a sixth of the budget, and the call counts as exceeding it.
func (c *call) withoutStore(ctx context.Context, cause error) (Access, error) {
	m := c.m
	if ctx.Err() != nil {
		return Access{}, timedOut(ctx.Err(), "the shared store did not answer")
	}
	m.mu.Lock()
	cp := m.copied
	m.mu.Unlock()
	if errors.Is(cause, ErrStoreLost) { // others may share another store by now, with another pair
		return Access{}, storeError(cause)
	}
	if limit.IsBackground(ctx) || cp.access.Token.Empty() || m.clock.Steady() >= cp.steadyUntil ||
		!m.clock.Wall().Before(cp.wallUntil) {
		return Access{}, storeError(cause)
	}
	req := m.limits.Request(ctx, c.route.Class)
	req.Rule.N = max(1, req.Rule.N/6)
	for {
		g, err := m.spare.Take(ctx, m.key, req)
		if err != nil {
			return Access{}, err
		}
		if g.Taken && g.Wait == 0 {
			break
		}
		if req, err = m.limits.Hold(ctx, req, g); err != nil {
			return Access{}, waitError(err)
		}
	}
	if m.clock.Steady() >= cp.steadyUntil {
		return Access{}, storeError(cause)
	}
	cp.access.Over, cp.access.marked = true, true
	return cp.access, nil
}

func (m *Manager) isClosed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}

// The meanings of a 401, kept as the Reason of an EventUnauthorized.
const (
	OtherPair = "other_pair" // another process has rotated (E1)
	OnItsWay  = "on_its_way" // a rotation is in progress (E1)
	Expired   = "expired"    // the hand-over was due (E2)
	YoungPair = "young_pair" // perhaps not known to all replicas yet (E3)
	Early     = "premature"  // before it expired (E4): other routes show whether the pair died
	RouteOnly = "route_only" // from a route that refuses pairs which others accept
)

// refusedBecause is the meaning of a 401 to a call with a, given the row read after it.
func (c Constants) refusedBecause(row Row, a Access, route string, graced bool) string {
	_, refuses := row.refusedBy(route)
	switch {
	case row.Incarnation != a.Incarnation || row.Gen != a.Gen || row.State != Live:
		return OtherPair
	case row.Phase.Sent():
		return OnItsWay
	case refuses:
		return RouteOnly
	case row.AccessLeft <= c.margin(row.AccessTTL):
		return Expired
	case row.Age < c.Young && !graced:
		return YoungPair
	}
	return Early
}

// unauthorized handles a call that got a 401 (rules E1 to E5).
func (c *call) unauthorized(ctx context.Context, a Access, h http.Header) (again bool, err error) {
	m := c.m
	row, before, err := m.load(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return false, timedOut(ctx.Err(), "after a refused call")
		}
		return false, storeError(err)
	}
	graced := c.graced.Incarnation == a.Incarnation && c.graced.Gen == a.Gen
	verdict := m.c.refusedBecause(row, a, c.route.Name, graced)
	ev := Event{Kind: EventUnauthorized, Reason: verdict, Route: c.route.Name, Gen: a.Gen, Fence: row.Fence,
		Session: row.Incarnation,
		Status:  http.StatusUnauthorized}
	if row.Gen == a.Gen {
		ev.Age, ev.Left = row.Age, row.AccessLeft
	}
	ev.Served, _ = http.ParseTime(h.Get("Date"))
	m.note(ctx, ev)
	more := c.sends < maxSends
	switch verdict {
	case YoungPair:
		if !more {
			return false, nil
		}
		c.graced = a
		wait := max(time.Second, m.c.Young*2/3-row.Age) + time.Duration(m.cfg.Random()*float64(500*time.Millisecond))
		if err := sleep(ctx, wait); err != nil {
			return false, timedOut(err, "waiting until the service knows the new tokens everywhere")
		}
	case Expired:
		if m.usable(row, before) || c.lenient {
			err = m.await(ctx, refused(a, c.route.Name, false))
		}
	case RouteOnly:
		err = notAuthorised()
	case Early:
		err = c.early(ctx, a)
	}
	return more, err
}

// early waits until a pair that this call's route refused early is known to be dead and is being replaced, or to be
// refused by this route only.
func (c *call) early(ctx context.Context, a Access) error {
	m := c.m
	for {
		if err := m.await(ctx, refused(a, c.route.Name, true)); err != nil {
			return err
		}
		row, _, err := m.load(ctx)
		if err != nil {
			return storeError(err)
		}
		switch m.c.refusedBecause(row, a, c.route.Name, true) {
		case RouteOnly:
			return notAuthorised()
		case Early: // the wait ended for another reason
		default:
			return nil
		}
		if sleep(ctx, m.c.PollFirst) != nil {
			return timedOut(ctx.Err(), "checking whether the session is over")
		}
	}
}

// notAuthorised is the error of a call whose route refuses pairs that others accept.
func notAuthorised() *Error {
	return &Error{Kind: NotAuthorised, Public: "the service refuses this call (401) but accepts the session for other " +
		"calls: the account is not authorised for this one"}
}

// RouteMark is what one route of the service has shown about the session's pairs. A token that one route refuses is
// dead only if no other route accepts it afterwards.
type RouteMark struct {
	Route   string        `json:"route"`
	Refused bool          `json:"refused"`      // false: it accepted the pair
	Gen     int64         `json:"gen"`          // of the pair
	By      string        `json:"by,omitempty"` // Refused: the route that accepted the pair after it
	Ago     time.Duration `json:"-"`            // since it was shown; set by the store, ≥ 0
}

// MaxRoutes is how many marks a row keeps, newest last.
const MaxRoutes = 16

// AddRoute returns marks with m added: m replaces the mark of its route, and an acceptance replaces the previous
// acceptance by any route.
func AddRoute[M any](marks []M, m M, of func(M) RouteMark) []M {
	next := of(m)
	kept := slices.DeleteFunc(slices.Clone(marks), func(old M) bool {
		was := of(old)
		return was.Route == next.Route || !was.Refused && !next.Refused
	})
	return append(kept[max(0, len(kept)-MaxRoutes+1):], m)
}

// routeRefuses is how long a route counts as refusing pairs that others accept. A later 401 from it is checked again.
const routeRefuses = 5 * time.Minute

// acceptedBy is the route that last accepted r's pair; ok is false when none did.
func (r Row) acceptedBy() (route string, ok bool) {
	for _, m := range r.Routes {
		if !m.Refused && m.Gen == r.Gen {
			return m.Route, true
		}
	}
	return "", false
}

// refusedBy reports whether route is known to refuse pairs that other routes accept.
func (r Row) refusedBy(route string) (mark RouteMark, ok bool) {
	i := slices.IndexFunc(r.Routes, func(m RouteMark) bool {
		return m.Refused && m.Route == route && m.Ago < routeRefuses
	})
	if i < 0 {
		return mark, false
	}
	return r.Routes[i], true
}

// Probe is a read that shows whether the service accepts a pair. Its route needs a session; its answer is not used
// otherwise.
type Probe struct {
	Route
	Send Send
}

// maxProbes bounds the probes for one refusal.
const maxProbes = 2

// judgement is the result of probing a pair that one route refused.
type judgement struct {
	alive, dead bool   // neither: no probe had a conclusive answer
	by          string // the route that accepted the pair, or refused it as well
	accepted    bool   // a route had accepted the pair before
}

// witnesses are the routes that can show whether the service accepts a pair.
type witnesses struct {
	key    Key
	store  Store
	limits *limit.Budgets
	probes func() []Probe // nil: none
	within time.Duration  // the time for all probes of one refusal
	log    *slog.Logger
}

// all returns the available probes.
func (w *witnesses) all() []Probe {
	if w.probes == nil {
		return nil
	}
	return w.probes()
}

// judge probes row's pair, which route refused, on other routes. The pair is dead if a route refuses it that accepted
// it before, or if all probed routes do. The caller holds the lease, so that one process probes for all.
func (w *witnesses) judge(ctx context.Context, row Row, route string) judgement {
	ctx, cancel := context.WithTimeout(ctx, w.within)
	defer cancel()
	before, accepted := row.acceptedBy()
	j := judgement{accepted: accepted}
	asked, refused := 0, 0
	for _, p := range probesFor(w.all(), row, route) {
		if asked == maxProbes {
			break
		}
		if !w.room(ctx, p.Class) {
			continue
		}
		asked++
		status, _, err := p.Send(ctx, accessOf(row))
		switch {
		case err != nil:
		case status/100 == 2:
			j.alive, j.by = true, p.Name
			return j
		case status == http.StatusUnauthorized:
			j.by = p.Name
			if refused++; p.Name == before {
				j.dead = true
				return j
			}
		}
	}
	j.dead = refused > 0 && refused == asked
	return j
}

// probesFor returns the probes that can judge a pair which route refused, best first: that of the route which
// accepted the pair before.
func probesFor(probes []Probe, row Row, route string) []Probe {
	before, _ := row.acceptedBy()
	probes = slices.DeleteFunc(slices.Clone(probes), func(p Probe) bool {
		_, refuses := row.refusedBy(p.Name)
		return p.Name == route || refuses
	})
	if i := slices.IndexFunc(probes, func(p Probe) bool { return p.Name == before }); i > 0 {
		probes[0], probes[i] = probes[i], probes[0]
	}
	return probes
}

// room takes a slot of class if one is free now.
func (w *witnesses) room(ctx context.Context, class limit.Class) bool {
	req := w.limits.Request(ctx, class)
	req.MaxWait, req.Background = limit.Soon, false
	g, err := w.store.Take(ctx, w.key, req)
	return err == nil && g.Taken && g.Wait == 0
}

// shown records that an answer by route accepted a's pair.
func (w *witnesses) shown(ctx context.Context, a Access, route Route, status int) {
	if status/100 != 2 || route.Open || route.Name == "" || a.marked {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reasonTime)
	defer cancel()
	mark := RouteMark{Route: route.Name, Gen: a.Gen}
	if err := w.store.MarkRoute(ctx, w.key, a.Incarnation, mark); err != nil {
		w.log.Warn("session: what a route accepted is not noted", "err", err)
	}
}
