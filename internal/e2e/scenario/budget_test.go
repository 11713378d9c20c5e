//go:build unix

package scenario

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"opdeck/api/limit"
)

// S33: eight workers want more than the budget allows. The short run has windows
// of a tenth of the real length, and the real two seconds to spare.
func TestS33Budgets(t *testing.T) {
	stores(t, false, func(t testing.TB, p place) {
		scale := pick(10*time.Second, time.Second) / time.Second // how much shorter everything is
		window, minute := pick(8*time.Second, 0), time.Minute/time.Duration(scale)
		s := newService(t, long())
		uplink := 2 * time.Second / time.Duration(scale)
		s.mu.Lock()
		s.jitter = func() time.Duration { return rand.N(uplink) }
		s.mu.Unlock()
		const n = 8
		ws := startMany(t, n, p, s, func(set *workerSettings) {
			set.Window, set.PerMinute = window, limit.Recommended()
		})
		noErrors(t, ws[0].do(order{Do: "calls"}).Calls)
		length := pick(26*time.Second, 10*time.Minute)
		// 30 a minute wanted, 12 allowed: each worker is back 16 s after its last call
		rs := all(ws, order{Do: "calls", For: length, Gap: n * minute / 30, Deadline: time.Minute})
		r := joined(rs)
		for what := range r.Errors { // max_wait is 30 s: in the long run some get a retry time
			if !full() || !strings.HasPrefix(what, "rate_limited") {
				t.Errorf("calls failed: %v", r.Errors)
				break
			}
		}
		if r.OK == 0 {
			t.Fatalf("no call went through: %v", r.Errors)
		}
		hits := s.seen("GET /v2/billing", time.Time{})
		most := mostWithin(hits, minute)
		if most > 12 {
			grave(t, "%d calls in %v, 12 are allowed", most, minute)
		}
		least, largest := 1<<30, 0
		for _, one := range rs {
			least, largest = min(least, one.Calls.OK), max(largest, one.Calls.OK)
		}
		mean := float64(r.OK) / n
		if f := 0.25*mean + 1; float64(largest)-mean > f || mean-float64(least) > f {
			t.Errorf("shares from %d to %d, mean %.1f", least, largest, mean)
		}
		slices.Sort(r.Took)
		t.Logf("%d calls, at most %d in %v; shares %d to %d; waits p50 %v, p90 %v, longest %v", len(hits), most, minute, least, largest,
			r.Took[len(r.Took)/2].Round(time.Millisecond), r.Took[len(r.Took)*9/10].Round(time.Millisecond), r.slowest().Round(time.Millisecond))
	})
}

// S31: behind a pooler the log says once that hints do not come through. (The
// scenarios S01 to S10 run through it as well.)
func TestS31PoolerIsNamedOnce(t *testing.T) {
	on(t, []string{"PgBouncer"}, func(t testing.TB, p place) {
		s := newService(t, serviceOptions{Access: 5 * time.Second, Refresh: 20 * time.Second})
		log := filepath.Join(t.TempDir(), "log")
		w := start(t, p, s, func(set *workerSettings) { set.Log = log })
		noErrors(t, w.do(order{Do: "calls", For: 5 * time.Second, Gap: 100 * time.Millisecond}).Calls)
		text, err := os.ReadFile(log)
		if err != nil || strings.Count(string(text), "NOTIFY does not come through") != 1 {
			t.Errorf("%v; the log says:\n%s", err, text)
		}
	})
}
