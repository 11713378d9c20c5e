//go:build unix

package scenario

import (
	"strings"
	"testing"
	"time"
)

// S23: another client logs in, again and again.
func TestS23ForeignLogins(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		every time.Duration
		only  bool // in the full run
	}{{"every second", time.Second, false}, {"every 10 s", 10 * time.Second, true}, {"every 60 s", time.Minute, true}} {
		t.Run(c.name, func(t *testing.T) {
			if c.only {
				longOnly(t)
			}
			stores(t, false, func(t testing.TB, p place) {
				s := newService(t, long())
				ws := startMany(t, 4, p, s)
				noErrors(t, joined(all(ws, order{Do: "calls"})))
				length := pick(14*time.Second, 10*time.Minute)
				reports := make(chan callReport, 1)
				go func() {
					reports <- joined(all(ws, order{Do: "calls", For: length, Gap: pick(200*time.Millisecond, time.Second)}))
				}()
				began, foreign := time.Now(), 0
				for time.Since(began) < length-c.every {
					time.Sleep(c.every)
					s.foreignLogin()
					foreign++
				}
				r := <-reports
				logins := s.seen(loginLine, time.Time{})
				if len(logins) > 1+foreign {
					t.Errorf("%d logins for %d foreign ones", len(logins), foreign)
				}
				if n := mostWithin(s.seen(loginLine, began.Add(time.Minute)), time.Minute); n > 3 {
					t.Errorf("%d logins in a minute", n)
				}
				if !full() && len(logins) > 4 { // the first, two at once, one 10 s later
					t.Errorf("%d logins in %v", len(logins), length)
				}
				if c.every == time.Minute {
					noErrors(t, r)
				}
				st := ws[0].status()
				if st.Premature < 1 || !strings.Contains(st.Sentence, "another client") || strings.Contains(st.Sentence, "our own") {
					t.Errorf("%d premature deaths, %q", st.Premature, st.Sentence)
				}
				s.unrepeated(t)
				t.Logf("%d foreign logins, %d of ours, at most %d in a minute; %d calls, errors %v, slowest %v, %d × 401", foreign, len(logins),
					mostWithin(logins, time.Minute), r.OK, r.Errors, r.slowest().Round(time.Millisecond), s.stats().Unauthorized)
			})
		})
	}
}

// S24: two stores on one account fight without knowing each other.
func TestS24TwoStores(t *testing.T) {
	stores(t, false, func(t testing.TB, p place) {
		s := newService(t, long())
		q := newPlace(t, p.name)
		one, two := start(t, p, s), start(t, q, s)
		length := pick(16*time.Second, 5*time.Minute)
		replies := all([]*process{one, two}, order{Do: "calls", For: length, Gap: 500 * time.Millisecond})
		logins := s.seen(loginLine, time.Time{})
		if n := mostWithin(logins, time.Minute); n > 12 {
			t.Errorf("%d logins in a minute", n)
		}
		for i, w := range []*process{one, two} {
			if st := w.status(); st.Premature < 1 || !strings.Contains(st.Sentence, "another client") {
				t.Errorf("side %d: %d premature deaths, %q", i+1, st.Premature, st.Sentence)
			}
		}
		r := joined(replies)
		s.unrepeated(t)
		t.Logf("%d logins, at most %d in a minute; %d calls, errors %v, slowest %v", len(logins), mostWithin(logins, time.Minute), r.OK, r.Errors, r.slowest().Round(time.Millisecond))
	})
}

// S25: the pair is revoked while 200 calls are on their way.
func TestS25Storm401(t *testing.T) {
	stores(t, false, func(t testing.TB, p place) {
		s := newService(t, long())
		ws := startMany(t, 4, p, s)
		noErrors(t, joined(all(ws, order{Do: "calls"})))
		time.Sleep(3200 * time.Millisecond) // no young pair
		s.faults("delay=api:1s")
		each := unlessRace(50, 10)
		began := time.Now()
		reports := make(chan callReport, 1)
		go func() { reports <- joined(all(ws, order{Do: "calls", Parallel: each})) }()
		until(t, "half of the calls are sent", func() bool { return len(s.seen("GET /v2/billing", began)) >= 2*each })
		s.revoke()
		r := <-reports
		noErrors(t, r)
		if r.OK != 4*each || r.MaxSends > 3 {
			t.Errorf("%d calls went well, the most sends were %d", r.OK, r.MaxSends)
		}
		st := s.check(t, wants{logins: 2, refreshes: 0, unauthorized: -1})
		t.Logf("%d × 401, at most %d sends, slowest call %v", st.Unauthorized, r.MaxSends, r.slowest().Round(time.Millisecond))
	})
}

// S26: a new token is not known everywhere for a while.
func TestS26ReplicaLag(t *testing.T) {
	stores(t, false, func(t testing.TB, p place) {
		s := newService(t, serviceOptions{Access: 8 * time.Second, Refresh: 24 * time.Second, Faults: "lag=1.5s"})
		ws := startMany(t, 4, p, s)
		r := joined(all(ws, order{Do: "calls", For: pick(14*time.Second, 3*time.Minute), Gap: 300 * time.Millisecond}))
		noErrors(t, r)
		st := s.check(t, wants{logins: 1, refreshes: -1, unauthorized: -1})
		t.Logf("%d refreshes, %d × 401 (lag), %d calls, slowest %v", st.Refreshes, st.Unauthorized, r.OK, r.slowest().Round(time.Millisecond))
	})
}

// S36: the session is reset while others work.
func TestS36Reset(t *testing.T) {
	stores(t, false, func(t testing.TB, p place) {
		s := newService(t, long())
		ws := startMany(t, pick(5, 8), p, s)
		noErrors(t, joined(all(ws, order{Do: "calls"})))
		reports := make(chan callReport, 1)
		go func() {
			reports <- joined(all(ws, order{Do: "calls", For: 3 * time.Second, Gap: 50 * time.Millisecond}))
		}()
		time.Sleep(time.Second)
		resetter := start(t, p, s)
		old := ws[0].status().Generation
		resetter.must(order{Do: "reset"})
		erased := time.Now()
		r := <-reports
		noErrors(t, r)
		late := 0
		for i, g := range r.Gens {
			if r.Started[i].After(erased) && strings.HasSuffix(g, "/1") {
				late++
			}
		}
		if old != 1 {
			t.Errorf("generation %d before the reset", old)
		}
		if late > 0 {
			grave(t, "%d calls used the erased pair", late)
		}
		noErrors(t, joined(all(ws, order{Do: "calls"}))) // on a busy machine none may have come after the reset
		s.check(t, wants{logins: 2, refreshes: 0, unauthorized: -1})
		t.Logf("%d calls, %d × 401", r.OK, s.stats().Unauthorized)
	})
}
