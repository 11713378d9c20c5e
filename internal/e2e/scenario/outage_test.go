//go:build unix

package scenario

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"opdeck/api/limit"
	"opdeck/internal/store"
)

// realAuth leaves the budgets of logins and refreshes at what the service's
// documents say.
func realAuth(s *workerSettings) {
	s.PerMinute = roomy()
	s.PerMinute[limit.Login], s.PerMinute[limit.Refresh] = 6, 1
}

// long is a pair that lives through the scenario unless it is renewed by hand.
func long() serviceOptions {
	return serviceOptions{Access: 5 * time.Minute, Refresh: 15 * time.Minute}
}

// authVia sends logins and refreshes through r.
func authVia(r *relay) func(*workerSettings) {
	return func(s *workerSettings) { s.AuthVia = r.addr }
}

// S16: no one listens where refreshes go, for a while.
func TestS16ConnectionRefused(t *testing.T) {
	stores(t, false, func(t testing.TB, p place) {
		access, gone := pick(9*time.Second, 120*time.Second), pick(2*time.Second, 60*time.Second)
		s := newService(t, serviceOptions{Access: access, Refresh: 3 * access})
		auth := newRelay(t, "tcp", s.addr)
		ws := startMany(t, 3, p, s, authVia(auth))
		noErrors(t, joined(all(ws, order{Do: "calls"})))
		due := access * 2 / 3
		if access > time.Minute {
			due = access - 15*time.Second
			gone = 5 * time.Second
		}
		time.Sleep(due - time.Second)
		auth.down()
		closed := time.Now()
		reports := make(chan callReport, 1)
		go func() {
			reports <- joined(all(ws, order{Do: "calls", For: gone + pick(3*time.Second, 10*time.Second), Gap: 300 * time.Millisecond}))
		}()
		time.Sleep(time.Second + gone)
		auth.up(t)
		noErrors(t, <-reports)
		s.check(t, wants{logins: 1, refreshes: 1, unauthorized: 0})
		if n := ws[0].events("not_sent"); n < 1 || n > 10 {
			t.Errorf("%d attempts while nobody listened", n)
		} else {
			t.Logf("%d attempts in %v", n, time.Since(closed).Round(time.Second))
		}
	})
}

// S17: everything between client and service is a black hole for a while.
func TestS17BlackHole(t *testing.T) {
	stores(t, false, func(t testing.TB, p place) {
		hole := pick(9*time.Second, 5*time.Minute)
		s := newService(t, serviceOptions{Access: 6 * time.Second, Refresh: 24 * time.Second})
		ws := startMany(t, 4, p, s, fast, realAuth)
		noErrors(t, joined(all(ws, order{Do: "calls"})))
		s.stall()
		deadline := 3 * time.Second
		r := joined(all(ws, order{Do: "calls", For: hole, Gap: 300 * time.Millisecond, Deadline: deadline}))
		if r.OK != 0 || len(r.Errors) == 0 {
			t.Errorf("%d calls went through the hole, errors %v", r.OK, r.Errors)
		}
		if r.slowest() > deadline+time.Second {
			t.Errorf("a caller with a deadline of %v was answered after %v", deadline, r.slowest())
		}
		before := s.stats()
		s.pass()
		healed := time.Now()
		until(t, "a call goes well", func() bool { // after minutes the back-off is up to 90 s, and callers fail at once
			return ws[0].do(order{Do: "calls", Deadline: time.Minute}).Calls.OK > 0
		})
		noErrors(t, joined(all(ws, order{Do: "calls", Deadline: time.Minute})))
		t.Logf("served %v after healing", time.Since(healed).Round(100*time.Millisecond))
		after := s.stats()
		if n := after.Logins - before.Logins; n > 1 {
			t.Errorf("%d logins after healing", n)
		}
		logins, refreshes := s.seen(loginLine, time.Time{}), s.seen(refreshLine, time.Time{})
		if l, f := mostWithin(logins, time.Minute), mostWithin(refreshes, time.Minute); l > 6 || f > 1 {
			grave(t, "%d logins and %d refreshes in a minute", l, f)
		}
		s.unrepeated(t)
		t.Logf("%d logins and %d refreshes sent; answers to callers %v, slowest %v", len(logins), len(refreshes), r.Errors, r.slowest().Round(time.Millisecond))
	})
}

// storeRelay is before PostgreSQL; the returned place goes through it.
func storeRelay(t testing.TB, p place) (*relay, place) {
	t.Helper()
	u, err := url.Parse(p.url)
	if err != nil {
		t.Fatal(err)
	}
	if u.Host != "" {
		t.Skip("the relay needs a server on a local socket")
	}
	dir, err := os.MkdirTemp("", "opdeck-sr-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r := newUnixRelay(t, filepath.Join(dir, ".s.PGSQL.5432"), filepath.Join(u.Query().Get("host"), ".s.PGSQL.5432"))
	u.RawQuery = url.Values{"host": {dir}}.Encode()
	p.direct, p.url = p.url, u.String()
	return r, p
}

// S18: the store is a black hole for half of the workers.
func TestS18StoreGoneForHalf(t *testing.T) {
	on(t, []string{"PostgreSQL"}, func(t testing.TB, p place) {
		hole, cut := storeRelay(t, p)
		s := newService(t, serviceOptions{Access: 6 * time.Second, Refresh: 24 * time.Second})
		theirs := newRelay(t, "tcp", s.addr)
		lucky, unlucky := startMany(t, 3, p, s, fast), startMany(t, 3, cut, s, fast, authVia(theirs))
		noErrors(t, joined(all(lucky, order{Do: "calls"})))
		noErrors(t, joined(all(unlucky, order{Do: "calls"})))
		hole.stall()
		gone := time.Now() // on a slow machine a pair can be due for its refresh before
		length := pick(12*time.Second, 2*time.Minute)
		reports := make(chan callReport, 1)
		go func() {
			reports <- joined(all(unlucky, order{Do: "calls", For: length, Gap: 300 * time.Millisecond, Deadline: 3 * time.Second}))
		}()
		good := joined(all(lucky, order{Do: "calls", For: length, Gap: 300 * time.Millisecond}))
		noErrors(t, good)
		bad := <-reports
		if len(bad.Errors) == 0 {
			t.Error("the unlucky half has noticed nothing")
		}
		if n := len(theirs.seen(loginLine, gone)) + len(theirs.seen(refreshLine, gone)); n != 0 {
			grave(t, "the half without a store sent %d logins or refreshes", n)
		}
		s.check(t, wants{logins: 1, refreshes: -1, unauthorized: -1})
		hole.pass()
		noErrors(t, joined(all(unlucky, order{Do: "calls"})))
		t.Logf("with the store %d calls; without it %d and errors %v, slowest %v; %d × 401", good.OK, bad.OK, bad.Errors, bad.slowest().Round(time.Millisecond), s.stats().Unauthorized)
	})
}

// S19: the store dies between answer and install.
func TestS19StoreDiesBeforeInstall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		gone   time.Duration
		logins int64
	}{"back in time": {2500 * time.Millisecond, 1}, "back after the lease": {fastLease() + 2*time.Second, 2}} {
		t.Run(name, func(t *testing.T) {
			stores(t, false, func(t testing.TB, p place) {
				if p.sqlite() && c.logins > 1 {
					t.Skip("while the one file is locked, nobody can take over")
				}
				s := newService(t, long())
				die, heal, seen := deadStore(t, p)
				holder, other := start(t, seen, s, fast, stalling("answered")), start(t, p, s, fast)
				holder.must(order{Do: "open"})
				other.must(order{Do: "open"})
				holder.must(order{Do: "stall"})
				noErrors(t, other.do(order{Do: "calls"}).Calls)
				holder.must(order{Do: "stall", Point: "answered"})
				refreshed := holder.order(order{Do: "refresh", Deadline: time.Minute})
				holder.awaitPoint("answered")
				die()
				holder.must(order{Do: "go"})
				time.Sleep(c.gone)
				if c.logins > 1 { // someone else needs the session meanwhile
					noErrors(t, other.do(order{Do: "calls"}).Calls)
				}
				heal()
				holder.await(refreshed)
				st := other.status()
				noErrors(t, other.do(order{Do: "calls"}).Calls)
				noErrors(t, holder.do(order{Do: "calls"}).Calls)
				if want := int64(2); st.Generation != want || st.State != "live" {
					t.Errorf("generation %d, %s; want %d, live", st.Generation, st.State, want)
				}
				s.check(t, wants{logins: c.logins, refreshes: 1, unauthorized: 0})
			})
		})
	}
}

// deadStore is a store that can die: behind a relay, or locked by someone.
func deadStore(t testing.TB, p place) (die, heal func(), seen place) {
	t.Helper()
	if !p.sqlite() {
		r, seen := storeRelay(t, p)
		return r.cut, r.pass, seen
	}
	st := p.open(t)
	over, locked, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	die = func() {
		go func() {
			done <- st.Core.Write(context.Background(), func(tx *store.Tx) error {
				if err := tx.Exec(context.Background(), "UPDATE session SET fails = fails"); err != nil {
					return err
				}
				close(locked)
				<-over
				return nil
			})
		}()
		<-locked
	}
	return die, func() {
		close(over)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}, p
}
