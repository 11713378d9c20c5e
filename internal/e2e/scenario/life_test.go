//go:build unix

package scenario

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/store"
)

// S27: short lives of tokens with the real budgets of logins and refreshes.
func TestS27ShortLives(t *testing.T) {
	t.Parallel()
	lives := pick([]int{10, 5}, []int{120, 60, 30, 10, 5})
	for _, seconds := range lives {
		t.Run(fmt.Sprintf("%d s", seconds), func(t *testing.T) {
			stores(t, false, func(t testing.TB, p place) {
				s := newService(t, serviceOptions{Access: time.Duration(seconds) * time.Second, Refresh: time.Duration(3*seconds) * time.Second})
				ws := startMany(t, 3, p, s, realAuth)
				r := joined(all(ws, order{Do: "calls", For: pick(14*time.Second, 130*time.Second), Gap: 500 * time.Millisecond, Deadline: time.Minute}))
				noErrors(t, r)
				logins, refreshes := s.seen(loginLine, time.Time{}), s.seen(refreshLine, time.Time{})
				if l, f := mostWithin(logins, time.Minute), mostWithin(refreshes, time.Minute); l > 6 || f > 1 {
					grave(t, "%d logins and %d refreshes in a minute", l, f)
				}
				s.unrepeated(t)
				t.Logf("%d logins, %d refreshes, %d × 401, %d calls, slowest %v", len(logins), len(refreshes), s.stats().Unauthorized, r.OK, r.slowest().Round(time.Millisecond))
			})
		})
	}
}

// S28: the lifetimes are announced in all kinds of units. The rotation count
// follows from the lifetime that is believed; the full run counts it as well.
func TestS28Units(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"s", "ms", "min", "epoch_s", "epoch_ms", "string"} {
		for _, opaque := range []bool{false, true} {
			if opaque && (unit == "min" || unit == "ms") {
				continue // a minute's 60000 is read as seconds without a JWT, and minutes are never guessed
			}
			t.Run(fmt.Sprintf("%s, opaque %v", unit, opaque), func(t *testing.T) {
				stores(t, false, func(t testing.TB, p place) {
					if racedetector.Enabled && !p.sqlite() {
						t.Skip("the answers are read the same way; without the race detector both stores run")
					}
					s := newService(t, serviceOptions{Access: time.Minute, Refresh: 3 * time.Minute, Unit: unit, Opaque: opaque})
					w := start(t, p, s)
					noErrors(t, w.do(order{Do: "calls"}).Calls)
					st := w.status()
					if d := (st.AccessTTL - time.Minute).Abs(); d > 2*time.Second {
						t.Errorf("access tokens are believed to live %v, want 1 min", st.AccessTTL)
					}
					if d := (st.RefreshTTL - 3*time.Minute).Abs(); d > 2*time.Second {
						t.Errorf("refresh tokens are believed to live %v, want 3 min", st.RefreshTTL)
					}
					if !full() {
						return
					}
					r := w.do(order{Do: "calls", For: 150 * time.Second, Gap: time.Second}).Calls
					noErrors(t, r)
					if n := s.check(t, wants{logins: 1, refreshes: -1, unauthorized: 0}).Refreshes; n < 2 || n > 4 {
						t.Errorf("%d refreshes, want 3 ± 1", n)
					}
				})
			})
		}
	}
}

// S30: hosts whose wall clocks are off, and a store whose times lie an hour
// ahead because the clock was set back while a holder lay dead.
func TestS30Clocks(t *testing.T) {
	stores(t, false, func(t testing.TB, p place) {
		s := newService(t, serviceOptions{Access: 5 * time.Second, Refresh: 20 * time.Second})
		off := func(by time.Duration) func(*workerSettings) { // without the lock, so that clocks alone decide
			return func(set *workerSettings) { set.Skew, set.NoLock = by, true }
		}
		ws := []*process{start(t, p, s, fast, off(0)), start(t, p, s, fast, off(time.Hour)), start(t, p, s, fast, off(-time.Hour))}
		r := joined(all(ws, order{Do: "calls", For: pick(7*time.Second, time.Minute), Gap: 300 * time.Millisecond}))
		noErrors(t, r)
		s.check(t, wants{logins: 1, refreshes: -1, unauthorized: 0})

		victim := start(t, p, s, fast, off(0), stalling("marked"))
		victim.order(order{Do: "refresh"})
		victim.awaitPoint("marked")
		victim.kill()
		ahead(t, p, time.Hour)
		began := time.Now()
		noErrors(t, joined(all(ws, order{Do: "calls"})))
		if took := time.Since(began); took > fastLease()+unlessRace(2*time.Second, 5*time.Second) {
			t.Errorf("the fleet stood for %v; the lease is %v", took, fastLease())
		} else {
			t.Logf("served %v after the clock was set back with a dead holder", took.Round(time.Millisecond))
		}
		s.check(t, wants{logins: 2, refreshes: -1, unauthorized: -1})
	})
}

// ahead moves every stored time by d, as they lie after the clock was set back
// by d.
func ahead(t testing.TB, p place, d time.Duration) {
	t.Helper()
	db := p.open(t).Core
	for _, q := range []string{
		"UPDATE session SET access_until_ns = access_until_ns + ?, refresh_until_ns = refresh_until_ns + ?, installed_ns = installed_ns + ?, lease_until_ns = lease_until_ns + ?, login_from_ns = login_from_ns + ?",
		"UPDATE limit_slot SET at_ns = at_ns + ?",
		"UPDATE limit_ring SET not_before_ns = not_before_ns + ?",
	} {
		var args []any
		for range strings.Count(q, "?") {
			args = append(args, int64(d))
		}
		if err := db.Exec(t.Context(), q, args...); err != nil {
			t.Fatal(err)
		}
	}
}

// S32: the store goes back to an older row, or loses it.
func TestS32StoreWentBack(t *testing.T) {
	stores(t, false, func(t testing.TB, p place) {
		s := newService(t, long())
		ws := startMany(t, 4, p, s)
		noErrors(t, joined(all(ws, order{Do: "calls"})))
		db := p.open(t).Core
		exec := func(q string) {
			t.Helper()
			if err := db.Exec(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
		exec("CREATE TABLE older AS SELECT * FROM session")
		ws[0].must(order{Do: "refresh"})
		ws[1].must(order{Do: "refresh"})
		working := make(chan callReport, 1)
		work := func(act func()) {
			go func() {
				working <- joined(all(ws, order{Do: "calls", For: 1500 * time.Millisecond, Gap: 20 * time.Millisecond}))
			}()
			time.Sleep(500 * time.Millisecond)
			act()
			noErrors(t, <-working)
		}
		work(func() {
			if err := db.Write(t.Context(), func(tx *store.Tx) error {
				for _, q := range []string{"DELETE FROM session", "INSERT INTO session SELECT * FROM older"} {
					if err := tx.Exec(t.Context(), q); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		})
		s.check(t, wants{logins: 2, refreshes: 2, unauthorized: -1})
		noErrors(t, joined(all(ws, order{Do: "calls"})))
		work(func() { exec("DELETE FROM session") })
		s.check(t, wants{logins: 3, refreshes: 2, unauthorized: -1})
		ws[2].must(order{Do: "refresh"})

		exec("ALTER TABLE session RENAME TO session_away") // dropped, and restored a second later
		for _, r := range all(ws, order{Do: "calls", Deadline: 2 * time.Second}) {
			if r.Calls.OK > 0 && r.Calls.Errors["store_unavailable"] > 0 {
				t.Errorf("%+v", r.Calls)
			}
		}
		exec("ALTER TABLE session_away RENAME TO session")
		noErrors(t, joined(all(ws, order{Do: "calls"})))
		s.check(t, wants{logins: 3, refreshes: 3, unauthorized: -1})
	})
}
