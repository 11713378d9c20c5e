package session

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"opdeck/api/limit"
)

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
