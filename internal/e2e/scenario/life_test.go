//go:build unix

package scenario

import (
	"strings"
	"testing"
	"time"

	"opdeck/internal/store"
)

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
