package session

import (
	"context"
	"net/http"
	"time"
)

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
		err = notAuthorised(row, c.route.Name)
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
			return notAuthorised(row, c.route.Name)
		case Early: // the wait ended for another reason
		default:
			return nil
		}
		if sleep(ctx, m.c.PollFirst) != nil {
			return timedOut(ctx.Err(), "checking whether the session is over")
		}
	}
}

// notAuthorised is the error, with evidence, of a call whose route refuses pairs that others accept.
func notAuthorised(row Row, route string) *Error {
	mark, _ := row.refusedBy(route)
	why, _ := forbidden(Event{Route: route, By: mark.By, Gen: mark.Gen, At: row.At.Add(-mark.Ago)}, row)
	return &Error{Kind: NotAuthorised, Public: "the service refuses this call (401) but accepts the session for other " +
		"calls: the account is not authorised for this one",
		Why: why}
}
