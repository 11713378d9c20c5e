package storetest_test

import (
	"context"
	"testing"

	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

func TestStoresAreEmptyAndApart(t *testing.T) {
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) {
			one, two := storetest.Open(t, e), storetest.Open(t, e)
			insert(t, one)
			if n := count(t, one); n != 1 {
				t.Errorf("%d rows in the first store, want 1", n)
			}
			if n := count(t, two); n != 0 {
				t.Errorf("%d rows in the second store, want 0", n)
			}
		})
	}
}

func TestHandlesShareADatabase(t *testing.T) {
	url := storetest.URL(t, store.Postgres)
	direct := storetest.OpenURL(t, url)
	pooled := storetest.OpenURL(t, storetest.Pooled(t, url))
	insert(t, pooled)
	if n := count(t, direct); n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
}

func insert(t *testing.T, s *store.Store) {
	t.Helper()
	err := s.Core.Exec(context.Background(), "INSERT INTO job (id, kind, context, step, body, owner, created_us, updated_us) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		"1", "k", "c", "s", "{}", "me", 1, 2)
	if err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, s *store.Store) (n int) {
	t.Helper()
	if err := s.Core.QueryRow(context.Background(), "SELECT count(*) FROM job").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
