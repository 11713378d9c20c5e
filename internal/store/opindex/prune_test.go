package opindex_test

import (
	"context"
	"testing"
	"time"

	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/indextest"
	"opdeck/internal/store"
	"opdeck/internal/store/opindex"
)

// TestPruneHistory: a state goes when it was replaced too long ago, not when it was first seen;
// the present one never does, and states that come later find their place.
func TestPruneHistory(t *testing.T) {
	eachSight(t, func(t *testing.T, s *store.Store, x *opindex.Store, at *time.Time) {
		ctx := context.Background()
		quiet, busy := indextest.Options{}.Make(1), indextest.Options{}.Make(2)
		begin := *at
		put(t, x, index.Read, begin, quiet, busy)
		for day := 1; day <= 10; day++ {
			*at = begin.AddDate(0, 0, day)
			put(t, x, index.Read, *at, changed(busy, day))
		}
		put(t, x, index.Read, *at, changed(quiet, 1)) // the first state held for ten days
		removed := 0
		for n := 2; n == 2; removed += n {
			var err error
			if n, err = opindex.PruneHistory(ctx, s.Bulk, begin.AddDate(0, 0, 7), 2); err != nil {
				t.Fatal(err)
			}
		}
		if removed != 6 {
			t.Errorf("%d were removed", removed)
		}
		put(t, x, index.Read, *at, changed(busy, 11))
		for _, c := range []struct {
			op   string
			want int
		}{{string(quiet.OPID), 2}, {string(busy.OPID), 6}} {
			states, err := x.History(ctx, c.op)
			if err != nil || len(states) != c.want || !states[len(states)-1].Current {
				t.Errorf("%d states of %s, %v", len(states), c.op, err)
			}
		}
	})
}

// TestPruneGone: an operation that is gone for too long is forgotten with its states, one of
// which a read is due is not, and one that comes back is new.
func TestPruneGone(t *testing.T) {
	eachSight(t, func(t *testing.T, s *store.Store, x *opindex.Store, at *time.Time) {
		ctx := context.Background()
		begin := *at
		ops := sampleOps(5)
		put(t, x, index.Read, begin, ops...)
		remove := func(n int) {
			t.Helper()
			if m, err := x.Put(ctx, index.Batch{Gone: []index.Gone{{OPID: string(ops[n].OPID), At: *at}}}); err != nil || m.Gone != 1 {
				t.Fatal(m, err)
			}
		}
		*at = begin.Add(time.Hour)
		put(t, x, index.Read, *at, changed(ops[0], 1))
		remove(0)
		remove(1)
		remove(2)
		if err := x.Owe(ctx, string(ops[2].OPID), *at); err != nil {
			t.Fatal(err)
		}
		if err := x.MarkSeen(ctx, "ana", string(ops[0].OPID), *at); err != nil {
			t.Fatal(err)
		}
		*at = begin.AddDate(0, 0, 10)
		remove(3)
		for _, want := range []int{2, 0} {
			if n, err := opindex.PruneGone(ctx, s.Bulk, begin.AddDate(0, 0, 7), 100); err != nil || n != want {
				t.Errorf("%d were removed, %v", n, err)
			}
		}
		for n, there := range []bool{false, false, true, true, true} {
			if _, err := x.Get(ctx, string(ops[n].OPID)); (err == nil) != there {
				t.Errorf("operation %d: %v", n, err)
			}
		}
		if seen, err := x.LastSeen(ctx, "ana", string(ops[0].OPID)); err != nil || !seen.IsZero() {
			t.Error(seen, err)
		}
		if m := put(t, x, index.Read, *at, ops[0]); m.New != 1 || m.Back != 0 {
			t.Errorf("%+v", m)
		}
		if states, err := x.History(ctx, string(ops[0].OPID)); err != nil || len(states) != 1 {
			t.Errorf("%d states, %v", len(states), err)
		}
	})
}
