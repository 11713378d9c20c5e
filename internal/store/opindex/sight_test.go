package opindex_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/index/indextest"
	"opdeck/internal/store"
	"opdeck/internal/store/opindex"
	"opdeck/internal/store/storetest"
)

// eachSight runs run once per engine with an index whose clock the test moves.
func eachSight(t *testing.T, run func(t *testing.T, s *store.Store, x *opindex.Store, at *time.Time)) {
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) {
			at := now
			s := storetest.OpenAt(t, storetest.URL(t, e), func() time.Time { return at })
			run(t, s, openIndex(t, s), &at)
		})
	}
}

func sights(t *testing.T, x index.Store) index.Sights {
	t.Helper()
	s, err := x.Sights(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func totalOf(t *testing.T, x index.Store) (rows, count int64) {
	t.Helper()
	n, err := x.Count(context.Background(), filter.OperationExpr{}, now)
	if err != nil {
		t.Fatal(err)
	}
	all, err := x.Totals(context.Background(), filter.OperationExpr{}, nil, 0, now)
	if err != nil {
		t.Fatal(err)
	}
	return n, all.Count
}

// TestSights: requests make rows seen, webhooks do not, and no sight is newer than
// the request or lies ahead of the store's clock.
func TestSights(t *testing.T) {
	eachSight(t, func(t *testing.T, s *store.Store, x *opindex.Store, at *time.Time) {
		ops := sampleOps(5)
		put(t, x, index.List, now.Add(-time.Hour), ops...)
		if got := sights(t, x); got.Rows != 5 || !got.Oldest.Equal(now.Add(-time.Hour)) || !got.Newest.Equal(now.Add(-time.Hour)) {
			t.Errorf("%+v", got)
		}
		put(t, x, index.List, now.Add(time.Hour), ops[:4]...) // a host whose clock is ahead
		put(t, x, index.Hook, now, ops[4])
		if got := sights(t, x); !got.Oldest.Equal(now.Add(-time.Hour)) || !got.Newest.Equal(now) {
			t.Errorf("%+v", got)
		}
		put(t, x, index.List, now.Add(-2*time.Hour), ops[0]) // an answer that was overtaken
		if r, err := x.Get(context.Background(), string(ops[0].OPID)); err != nil || !r.Seen.Equal(now) {
			t.Errorf("%v, %v", r.Seen, err)
		}
		left, err := x.Candidates(context.Background(), now.Add(-time.Minute), 9)
		if err != nil || !slices.Equal(left, []string{string(ops[4].OPID)}) {
			t.Errorf("candidates %v, %v", left, err)
		}
		if _, err := x.Put(context.Background(), index.Batch{Asked: left}); err != nil {
			t.Fatal(err)
		}
		if left, err = x.Candidates(context.Background(), now.Add(-time.Minute), 9); err != nil || len(left) != 0 {
			t.Errorf("asked for, and again: %v, %v", left, err)
		}
		*at = now.Add(-3 * time.Hour) // the clock is set back
		if err := x.ForgetSights(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := sights(t, x); got.Unseen != 5 || !got.Oldest.IsZero() || !got.Newest.IsZero() {
			t.Errorf("%+v", got)
		}
	})
}

// TestGone: what the service does not have leaves list, sums and words, stays known,
// and comes back with a later answer only.
func TestGone(t *testing.T) {
	eachSight(t, func(t *testing.T, s *store.Store, x *opindex.Store, at *time.Time) {
		ctx := context.Background()
		ops := sampleOps(40)
		put(t, x, index.List, now.Add(-time.Hour), ops...)
		id := string(ops[7].OPID)
		remove := func(proof time.Time, want int) {
			t.Helper()
			m, err := x.Put(ctx, index.Batch{Gone: []index.Gone{{OPID: id, At: proof}}})
			if err != nil || m.Gone != want {
				t.Fatalf("%+v, %v", m, err)
			}
		}
		remove(now.Add(-2*time.Hour), 0) // a proof from before it was seen
		version, err := x.Version(ctx)
		if err != nil {
			t.Fatal(err)
		}
		remove(now, 1)
		if v, err := x.Version(ctx); err != nil || v == version {
			t.Errorf("nobody hears of it: %v", err)
		}
		if rows, count := totalOf(t, x); rows != 39 || count != 39 || sights(t, x).Gone != 1 {
			t.Errorf("%d rows, %d in the totals, %+v", rows, count, sights(t, x))
		}
		w, err := x.Window(ctx, index.Query{Limit: 100}, now)
		if err != nil || len(w.Rows) != 39 {
			t.Errorf("%d rows, %v", len(w.Rows), err)
		}
		r, err := x.Get(ctx, id)
		if err != nil || !r.Gone.Equal(now) || r.Op.Status != ops[7].Status {
			t.Errorf("%v, %v", r.Gone, err)
		}
		put(t, x, index.List, now.Add(-time.Minute), ops[7]) // an answer from before
		if r, _ := x.Get(ctx, id); r.Gone.IsZero() {
			t.Error("an older answer brought it back")
		}
		put(t, x, index.Hook, now.Add(time.Minute), ops[7])
		if due, err := x.Owed(ctx, now.Add(time.Hour), 9); err != nil || !slices.Contains(due, id) {
			t.Errorf("a webhook about it owes no read: %v, %v", due, err)
		}
		*at = now.Add(2 * time.Minute)
		if m := put(t, x, index.Read, *at, ops[7]); m.Back != 1 || m.New != 1 {
			t.Errorf("%+v", m)
		}
		if rows, count := totalOf(t, x); rows != 40 || count != 40 || sights(t, x).Gone != 0 {
			t.Errorf("%d rows, %d in the totals", rows, count)
		}
		states, err := x.History(ctx, id)
		if err != nil || len(states) != 3 || !states[1].Gone || !states[2].Current || states[2].Gone {
			t.Errorf("%d states, %v", len(states), err)
		}
	})
}

// TestAnnounced: an operation of which nothing is known but its name is read, and
// is in the list only then.
func TestAnnounced(t *testing.T) {
	eachSight(t, func(t *testing.T, s *store.Store, x *opindex.Store, at *time.Time) {
		ctx := context.Background()
		op := indextest.Options{}.Make(1)
		id := string(op.OPID)
		if err := x.Owe(ctx, id, now); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Get(ctx, id); !errors.Is(err, index.ErrNone) {
			t.Errorf("%v", err)
		}
		due, err := x.Owed(ctx, now, 9)
		if err != nil || !slices.Equal(due, []string{id}) {
			t.Errorf("%v, %v", due, err)
		}
		put(t, x, index.Read, now, op)
		if due, err = x.Owed(ctx, now, 9); err != nil || len(due) != 0 || sights(t, x).Rows != 1 {
			t.Errorf("%v, %v", due, err)
		}
	})
}

// TestSwap: data is stored whichever process wins, progress only over the value that was read.
func TestSwap(t *testing.T) {
	eachSight(t, func(t *testing.T, s *store.Store, x *opindex.Store, at *time.Time) {
		ctx := context.Background()
		swap := func(old, is string, n int, want bool) {
			t.Helper()
			m, err := x.Put(ctx, index.Batch{Entries: []index.Entry{{Op: indextest.Options{}.Make(n), Seen: now}}, Swap: &index.Swap{Name: "p", Old: old, New: is}})
			if err != nil || m.Swapped != want || m.New != 1 {
				t.Errorf("%q to %q: %+v, %v", old, is, m, err)
			}
		}
		swap("", "a", 1, true)
		swap("", "b", 2, false)
		swap("x", "b", 3, false)
		swap("a", "b", 4, true)
		if v, err := x.Meta(ctx, "p"); err != nil || v != "b" {
			t.Errorf("%q, %v", v, err)
		}
	})
}

// TestSnapshot: answers from one snapshot agree, regardless of writers.
func TestSnapshot(t *testing.T) {
	ctx := context.Background()
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) {
			x := openIndex(t, storetest.Open(t, e))
			put(t, x, index.List, now, sampleOps(10)...)
			err := x.Snapshot(ctx, func(s index.Store) error {
				if rows, _ := totalOf(t, s); rows != 10 {
					t.Errorf("%d rows", rows)
				}
				put(t, x, index.List, now, sampleOps(20)...)
				w, err := s.Window(ctx, index.Query{Limit: 100}, now)
				if rows, count := totalOf(t, s); rows != 10 || count != 10 || len(w.Rows) != 10 {
					t.Errorf("%d rows, %d in the totals, %d shown", rows, count, len(w.Rows))
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if rows, _ := totalOf(t, x); rows != 20 {
				t.Errorf("%d rows behind it", rows)
			}
		})
	}
}

// TestReset drops one account's rows and no one else's.
func TestReset(t *testing.T) {
	eachSight(t, func(t *testing.T, s *store.Store, x *opindex.Store, at *time.Time) {
		ctx := context.Background()
		other, err := opindex.New(ctx, s.Bulk, "https://b.test", "m")
		if err != nil {
			t.Fatal(err)
		}
		put(t, x, index.List, now, sampleOps(30)...)
		put(t, other, index.List, now, sampleOps(5)...)
		if err := x.SetMeta(ctx, "sync", "x"); err != nil {
			t.Fatal(err)
		}
		if err := x.Reset(ctx, "sync"); err != nil {
			t.Fatal(err)
		}
		if rows, count := totalOf(t, x); rows != 0 || count != 0 || sights(t, x) != (index.Sights{}) {
			t.Errorf("%d rows, %d in the totals, %+v", rows, count, sights(t, x))
		}
		if v, err := x.Meta(ctx, "sync"); err != nil || v != "" {
			t.Errorf("%q, %v", v, err)
		}
		if rows, _ := totalOf(t, other); rows != 5 || sights(t, other).Rows != 5 {
			t.Errorf("another account has %d rows", rows)
		}
		put(t, x, index.List, now, sampleOps(30)...)
		if n, err := x.Count(ctx, parse(t, "comment:a OR ref:a"), now); err != nil || n == 0 {
			t.Errorf("%d found by their words, %v", n, err)
		}
	})
}
