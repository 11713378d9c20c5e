//go:build unix

package scenario

import (
	"testing"
	"time"

	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/sandbox/faulty"
)

// wants checks what the service has seen; -1: not asked.
type wants struct{ logins, refreshes, unauthorized int64 }

func (s *service) check(t testing.TB, w wants) faulty.Stats {
	t.Helper()
	st := s.stats()
	if w.logins >= 0 && st.Logins+st.LoginsRefused != w.logins {
		t.Errorf("%d logins and %d refused, want %d", st.Logins, st.LoginsRefused, w.logins)
	}
	if w.refreshes >= 0 && st.Refreshes != w.refreshes {
		t.Errorf("%d refreshes, want %d", st.Refreshes, w.refreshes)
	}
	if w.unauthorized >= 0 && st.Unauthorized > w.unauthorized+pick(unlessRace[int64](2, 8), unlessRace[int64](0, 8)) { // busy machines have calls on their way at a hand-over
		t.Errorf("%d × 401, want %d", st.Unauthorized, w.unauthorized)
	}
	if st.RefreshesRefused != 0 {
		t.Errorf("%d refreshes were refused", st.RefreshesRefused)
	}
	s.unrepeated(t)
	return st
}

// unrepeated checks, gravely, that no refresh token was shown twice.
func (s *service) unrepeated(t testing.TB) {
	t.Helper()
	if n, wire := s.stats().MostPresentations, s.mostPresentations(); n > 1 || wire > 1 {
		grave(t, "a refresh token was presented %d times (%d on the wire)", n, wire)
	}
}

func noErrors(t testing.TB, r callReport) {
	t.Helper()
	if len(r.Errors) > 0 {
		t.Errorf("calls failed: %v", r.Errors)
	}
}

// S01: all start at once on an empty store, one call each. S04: silent past the
// hand-over, then a call each at the same instant. S29: idle longer than the
// refresh token lives, then one call.
func TestS01S04S29ColdStartHerdIdle(t *testing.T) {
	stores(t, true, func(t testing.TB, p place) {
		s := newService(t, serviceOptions{Access: 5 * time.Second, Refresh: 14 * time.Second})
		ws := startMany(t, pick(unlessRace(10, 8), 32), p, s)
		for _, w := range ws {
			w.do(order{Do: "stall"}) // answers once it runs
		}
		began := time.Now()
		r := joined(all(ws, order{Do: "calls"}))
		took := time.Since(began)
		noErrors(t, r)
		s.check(t, wants{logins: 1})
		if took > pick(8*time.Second, unlessRace(2*time.Second, 8*time.Second)) { // in the short run a compiler may be at work beside it
			t.Errorf("all were served after %v", took)
		}
		t.Logf("S01: %d processes, all served after %v", len(ws), took.Round(time.Millisecond))

		time.Sleep(time.Until(began.Add(took + 3600*time.Millisecond)))
		again := joined(all(ws, order{Do: "calls"}))
		noErrors(t, again)
		s.check(t, wants{logins: 1, refreshes: 1})
		t.Logf("S04: slowest %v", again.slowest().Round(time.Millisecond))

		time.Sleep(14500 * time.Millisecond)
		noErrors(t, joined(all(ws[:1], order{Do: "calls"})))
		s.check(t, wants{logins: 2, refreshes: 1})
	})
}

// S02: steady calls of many processes over three lifetimes.
func TestS02Steady(t *testing.T) {
	stores(t, !racedetector.Enabled, func(t testing.TB, p place) {
		access := 5 * time.Second
		s := newService(t, serviceOptions{Access: access, Refresh: 20 * time.Second})
		ws := startMany(t, pick(unlessRace(8, 6), 32), p, s)
		r := joined(all(ws, order{Do: "calls", For: 3 * access, Gap: pick(800*time.Millisecond, 400*time.Millisecond)}))
		noErrors(t, r)
		st := s.check(t, wants{logins: 1, refreshes: -1})
		want := int64(3 * access / (access * 2 / 3)) // a third of so short a life is margin
		if st.Refreshes < want-1 || st.Refreshes > want+1 {
			t.Errorf("%d refreshes, want %d ± 1", st.Refreshes, want)
		}
		t.Logf("%d processes, %d calls, %d refreshes, p50 %v, slowest %v", len(ws), r.OK, st.Refreshes, r.Took[len(r.Took)/2].Round(10*time.Microsecond), r.slowest().Round(time.Millisecond))
	})
}

// S03: a new process for each call.
func TestS03ShortLived(t *testing.T) {
	stores(t, !racedetector.Enabled, func(t testing.TB, p place) {
		access := 5 * time.Second
		s := newService(t, serviceOptions{Access: access, Refresh: 20 * time.Second})
		began := time.Now()
		n := 0
		// On a busy machine processes come too seldom for as many refreshes: it continues.
		for time.Since(began) < 3*access || s.stats().Refreshes < 3 && time.Since(began) < 9*access {
			ws := startMany(t, pick(1, 8), p, s)
			noErrors(t, joined(all(ws, order{Do: "calls"})))
			for _, w := range ws {
				w.kill()
			}
			n += len(ws)
			time.Sleep(pick(unlessRace(350*time.Millisecond, time.Second), 250*time.Millisecond))
		}
		st := s.check(t, wants{logins: 1, refreshes: -1})
		if most := int64(time.Since(began)/access) + 2; st.Refreshes < 3 || st.Refreshes > most {
			t.Errorf("%d refreshes, want 3 to %d", st.Refreshes, most)
		}
		t.Logf("%d processes, %d refreshes", n, st.Refreshes)
	})
}
