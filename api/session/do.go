package session

import (
	"context"
	"errors"
	"net/http"
	"time"

	"opdeck/api/limit"
	"opdeck/api/secret"
)

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
