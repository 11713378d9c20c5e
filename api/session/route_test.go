package session

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"opdeck/api/limit"
)

// routes are a service whose routes may refuse a session that it knows.
type routes struct {
	w       *world
	refuse  []string // these answer 401
	broken  []string // these answer 500
	probing int
}

func (r *routes) send(route string) Send {
	return func(ctx context.Context, a Access) (int, http.Header, error) {
		status := r.w.svc.call(limit.General, a.Token.Reveal(), a.Over, false)
		switch {
		case slices.Contains(r.broken, route):
			status = 500
		case slices.Contains(r.refuse, route) || slices.Contains(r.refuse, "*"):
			status = 401
		}
		return status, http.Header{}, nil
	}
}

// manager is a process whose session asks the routes a, b and c.
func (r *routes) manager() *Manager {
	return r.w.manager(func(c *Config) {
		c.Probes = func() (out []Probe) {
			for _, name := range []string{"a", "b", "c"} {
				send := r.send(name)
				out = append(out, Probe{Route{Class: limit.General, Name: name},
					func(ctx context.Context, a Access) (int, http.Header, error) {
						r.probing++
						return send(ctx, a)
					}})
			}
			return out
		}
	})
}

func (r *routes) call(m *Manager, route string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return m.Do(ctx, Route{Class: limit.General, Name: route}, r.send(route))
}

// TestRefusalByOneRoute: a 401 ends the session only if no other route accepts the pair
// afterwards. before are calls that went well before.
func TestRefusalByOneRoute(t *testing.T) {
	for name, c := range map[string]struct {
		before         []string
		refuse, broken []string
		foreign        bool
		want           ErrKind
		logins, probes int       // probes at most
		ended          EventKind // the newest event about the pair
	}{
		"one route":                       {before: []string{"a"}, refuse: []string{"x"}, want: NotAuthorised, logins: 1, probes: 1, ended: EventRoute},
		"the only route that was called":  {refuse: []string{"x"}, want: NotAuthorised, logins: 1, probes: 1, ended: EventRoute},
		"it was accepted before":          {before: []string{"x"}, refuse: []string{"x"}, want: NotAuthorised, logins: 1, probes: 1, ended: EventRoute},
		"two routes":                      {refuse: []string{"x", "a"}, want: NotAuthorised, logins: 1, probes: 2, ended: EventRoute},
		"a route that is asked itself":    {before: []string{"b"}, refuse: []string{"a"}, want: NotAuthorised, logins: 1, probes: 1, ended: EventRoute},
		"none that is asked has answered": {before: []string{"x"}, refuse: []string{"x"}, broken: []string{"a", "b", "c"}, want: Unauthorized, logins: 1, probes: 2, ended: EventUnauthorized},
		"another client":                  {before: []string{"a"}, foreign: true, logins: 2, probes: 1, ended: EventPremature},
		"another client, other routes":    {before: []string{"x"}, foreign: true, logins: 2, probes: 2, ended: EventPremature},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				r := &routes{w: w}
				m := r.manager()
				for _, route := range c.before {
					if err := r.call(m, route); err != nil {
						w.Fatal(err)
					}
				}
				time.Sleep(10 * time.Second)
				if r.refuse, r.broken = c.refuse, c.broken; c.foreign {
					w.svc.foreignLogin()
				}
				route := "x"
				if len(c.refuse) > 0 {
					route = c.refuse[0]
				}
				err := r.call(m, route)
				if c.want == "" && err != nil {
					w.Fatal(err)
				}
				if c.want != "" {
					w.kindIs(err, c.want)
				}
				s, err := m.Status(context.Background())
				if e := newest(s); err != nil || e.Kind != c.ended || e.Kind == EventPremature && !e.Known {
					w.Errorf("%+v, %v; want %s", e, err, c.ended)
				}
				if len(w.svc.logins) != c.logins || r.probing > c.probes {
					w.Errorf("%d logins, %d probes; want %d and at most %d", len(w.svc.logins), r.probing, c.logins, c.probes)
				}
				if dead := int(s.Counts.Premature); (dead > 0) != (c.logins > 1) {
					w.Errorf("%d pairs are counted as revoked", dead)
				}
			})
		})
	}
}

// newest is the newest event that says what became of a refused pair.
func newest(s Status) Event {
	for _, e := range slices.Backward(s.History) {
		if e.Kind == EventPremature || e.Kind == EventRoute || e.Kind == EventUnauthorized {
			return e
		}
	}
	return Event{}
}

// TestRefusedEverywhere: new pairs that no route accepts are no sign of another client.
func TestRefusedEverywhere(t *testing.T) {
	inWorld(t, func(w *world) {
		r := &routes{w: w, refuse: []string{"*"}}
		m := r.manager()
		for range 4 {
			w.kindIs(r.call(m, "*"), Unauthorized)
			time.Sleep(time.Minute)
		}
		s, err := m.Status(context.Background())
		if e := newest(s); err != nil || e.Kind != EventPremature || e.Known || s.Counts.Premature < 2 {
			w.Errorf("%+v, %d revoked, %v", e, s.Counts.Premature, err)
		}
		if r.refuse = nil; !s.Accepted.IsZero() || r.call(m, "a") != nil {
			w.Errorf("accepted at %s", s.Accepted)
		}
		if s, err = r.manager().Status(context.Background()); err != nil || !s.Accepted.After(newest(s).At) {
			w.Errorf("accepted at %s, the newest refusal at %s, %v", s.Accepted, newest(s).At, err)
		}
		if len(w.svc.logins) > 8 {
			w.Errorf("%d logins", len(w.svc.logins))
		}
	})
}

// TestRefusingRouteIsShared: what one process has found out about a route holds for all of
// them for a while, costs no login, and ends when the route accepts a pair.
func TestRefusingRouteIsShared(t *testing.T) {
	inWorld(t, func(w *world) {
		r := &routes{w: w, refuse: []string{"x"}}
		one, two := r.manager(), r.manager()
		for _, m := range []*Manager{one, two} {
			for range 4 {
				w.kindIs(r.call(m, "x"), NotAuthorised)
				if err := r.call(m, "a"); err != nil {
					w.Fatal(err)
				}
			}
		}
		if w.counts(1, 0); r.probing != 1 {
			w.Fatalf("%d probes", r.probing)
		}
		for range 12 { // an hour of it
			time.Sleep(routeRefuses)
			w.kindIs(r.call(two, "x"), NotAuthorised)
		}
		if len(w.svc.logins) != 1 || r.probing > 13 || w.svc.refusedR != 0 {
			w.Fatalf("%d logins, %d probes, %d refused refreshes", len(w.svc.logins), r.probing, w.svc.refusedR)
		}
		r.refuse = nil
		if err := r.call(one, "x"); err != nil {
			w.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		w.svc.foreignLogin()
		if err := r.call(one, "x"); err != nil { // believed again at once
			w.Fatal(err)
		}
		if len(w.svc.logins) != 2 {
			w.Fatalf("%d logins", len(w.svc.logins))
		}
	})
}
