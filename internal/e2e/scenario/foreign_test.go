//go:build unix

package scenario

import (
	"strings"
	"testing"
	"time"
)

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
