package session

import (
	"context"
	"net/http"
	"slices"
	"time"

	"opdeck/api/limit"
)

// RouteMark is what one route of the service has shown about the session's pairs. A
// token that one route refuses is over only if no other route accepts it afterwards.
type RouteMark struct {
	Route   string        `json:"route"`
	Refused bool          `json:"refused"`      // false: it accepted the pair
	Gen     int64         `json:"gen"`          // of the pair
	By      string        `json:"by,omitempty"` // Refused: the route that accepted the pair after it
	Ago     time.Duration `json:"-"`            // since it was shown; set by the store, ≥ 0
}

// MaxRoutes is how many marks a row keeps, newest last.
const MaxRoutes = 16

// AddRoute is marks with m added: it takes the place of what was known of its route, and an
// acceptance that of the acceptance before, by whichever route.
func AddRoute[M any](marks []M, m M, of func(M) RouteMark) []M {
	next := of(m)
	kept := slices.DeleteFunc(slices.Clone(marks), func(old M) bool {
		was := of(old)
		return was.Route == next.Route || !was.Refused && !next.Refused
	})
	return append(kept[max(0, len(kept)-MaxRoutes+1):], m)
}

// routeRefuses is for how long a route that refused a pair which others accept is known to
// do so. A later 401 of it is looked at anew.
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

// Probe is a read that shows whether the service accepts a pair. Its route needs a session,
// and its answer is of no other interest.
type Probe struct {
	Route
	Send Send
}

// maxProbes is how many of them are made for one refusal.
const maxProbes = 2

// judgement is what probes make of a pair that one route refused.
type judgement struct {
	alive, dead bool   // neither: no probe had an answer that tells
	by          string // the route that accepted the pair, or refused it as well
	accepted    bool   // a route had accepted the pair before
}

// judge asks other routes about row's pair, which route refused. It is dead when a route
// refuses it that accepted it before, or when all that were asked do. The caller has the
// lease, so that one process asks for all.
func (m *Manager) judge(ctx context.Context, row Row, route string) judgement {
	ctx, cancel := context.WithTimeout(ctx, m.c.LeaseHeld/2)
	defer cancel()
	before, accepted := row.acceptedBy()
	j := judgement{accepted: accepted}
	asked, refused := 0, 0
	for _, p := range probesFor(m.probes(), row, route) {
		if asked == maxProbes {
			break
		}
		if !m.room(ctx, p.Class) {
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

func (m *Manager) probes() []Probe {
	if m.cfg.Probes == nil {
		return nil
	}
	return m.cfg.Probes()
}

// probesFor are the probes that can tell about a pair which route refused, the best one
// first: that of the route which accepted the pair before.
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

// room takes a slot of class that is free now.
func (m *Manager) room(ctx context.Context, class limit.Class) bool {
	req := m.limits.Request(ctx, class)
	req.MaxWait, req.Background = limit.Soon, false
	g, err := m.store.Take(ctx, m.key, req)
	return err == nil && g.Taken && g.Wait == 0
}

// shown keeps what an answer to a call by route has shown: it accepts a's pair.
func (m *Manager) shown(ctx context.Context, a Access, route Route, status int) {
	if status/100 != 2 || route.Open || route.Name == "" || a.marked {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellTime)
	defer cancel()
	mark := RouteMark{Route: route.Name, Gen: a.Gen}
	if err := m.store.MarkRoute(ctx, m.key, a.Incarnation, mark); err != nil {
		m.log.Warn("session: what a route accepted is not noted", "err", err)
	}
}
