package store_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

// TestTurn: of many who want the turn one gets it, no one gets it again soon after it was done, and
// another one takes over from a process that does not prolong it.
func TestTurn(t *testing.T) {
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) {
			var moved atomic.Int64
			base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			s := storetest.OpenAt(t, storetest.URL(t, e), func() time.Time { return base.Add(time.Duration(moved.Load())) })
			ctx := t.Context()
			take := func(owner string, want bool) {
				t.Helper()
				if mine, err := s.TakeTurn(ctx, "work", owner, time.Hour, time.Minute); err != nil || mine != want {
					t.Errorf("%s has the turn: %t, %v", owner, mine, err)
				}
			}
			var got atomic.Int64
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					mine, err := s.TakeTurn(ctx, "work", string(rune('a'+i)), time.Hour, time.Minute)
					if err != nil {
						t.Error(err)
					}
					if mine {
						got.Add(1)
					}
				})
			}
			wg.Wait()
			if got.Load() != 1 {
				t.Errorf("%d have the turn", got.Load())
			}
			moved.Add(int64(2 * time.Minute))
			take("x", true)
			moved.Add(int64(50 * time.Second))
			take("x", true)
			moved.Add(int64(50 * time.Second))
			take("y", false)
			end := func(owner string, done bool) {
				t.Helper()
				if err := s.EndTurn(ctx, "work", owner, done); err != nil {
					t.Error(err)
				}
			}
			end("y", true) // it is not theirs
			take("y", false)
			end("x", false)
			take("y", true)
			end("y", true)
			take("x", false)
			moved.Add(int64(time.Hour))
			take("x", true)
			end("x", true)
			moved.Add(-int64(10 * time.Hour)) // the clock was set back
			take("y", true)
		})
	}
}
