package session

import (
	"context"
	"net/http"
	"time"
)

// Verdicts on a 401, kept as the Reason of an EventUnauthorized.
const (
	OtherPair = "other_pair" // somebody rotated meanwhile (E1)
	OnItsWay  = "on_its_way" // a rotation is on its way (E1)
	Expired   = "expired"    // the hand-over was due (E2)
	YoungPair = "young_pair" // perhaps not known everywhere yet (E3)
	Early     = "premature"  // it died before its time (E4)
)

// refusedBecause says what a 401 for a call sent with a means, given the row read after it.
func (c Constants) refusedBecause(row Row, a Access, graced bool) string {
	switch {
	case row.Incarnation != a.Incarnation || row.Gen != a.Gen || row.State != Live:
		return OtherPair
	case row.Phase.Sent():
		return OnItsWay
	case row.AccessLeft <= c.margin(row.AccessTTL):
		return Expired
	case row.Age < c.Young && !graced:
		return YoungPair
	}
	return Early
}

// unauthorized decides what becomes of a call that was answered with 401 (rules
// E1 to E5).
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
	verdict := m.c.refusedBecause(row, a, graced)
	ev := Event{Kind: EventUnauthorized, Reason: verdict, Gen: a.Gen, Fence: row.Fence, Session: row.Incarnation,
		Status: http.StatusUnauthorized}
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
			return false, timedOut(err, "giving a new pair time to be known everywhere")
		}
	case Expired:
		if m.usable(row, before) || c.lenient {
			err = m.await(ctx, refused(a, false))
		}
	case Early:
		err = m.await(ctx, refused(a, true))
	}
	return more, err
}
