package journal_test

import (
	"testing"
	"time"

	"opdeck/api/session"
	"opdeck/internal/domain/lending"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/storetest"
)

// TestBorrowers: two proxies post to one board, on every engine, and accounts do not
// mix.
func TestBorrowers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		board, ctx := journal.NewBorrowers(s.Core), t.Context()
		at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
		post := func(scope, process string, calls int64) {
			t.Helper()
			if err := board.Post(ctx, scope, process, []session.Borrower{{Name: "nightly", Calls: calls, Last: at, Running: true}}); err != nil {
				t.Fatal(err)
			}
		}
		post("a", "one", 1)
		post("a", "one", 3)
		post("a", "two", 4)
		post("b", "three", 100)
		posts, err := board.Posts(ctx, "a")
		if err != nil || len(posts) != 2 || posts[0].Age > time.Minute {
			t.Fatalf("%+v, %v", posts, err)
		}
		if all := lending.Together(posts); len(all) != 1 || all[0].Calls != 7 || !all[0].Last.Equal(at) || !all[0].Running {
			t.Errorf("%+v", all)
		}
	})
}
