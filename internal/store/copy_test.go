package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

// counters makes a table with one number in each database.
func counters(t *testing.T, s *store.Store) {
	t.Helper()
	for _, db := range []*store.DB{s.Core, s.Bulk} {
		for _, q := range []string{"CREATE TABLE counter (n INTEGER NOT NULL)", "INSERT INTO counter VALUES (0)"} {
			if err := db.Exec(context.Background(), q); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func counter(t *testing.T, db *store.DB) (n int64) {
	t.Helper()
	if err := db.QueryRow(context.Background(), "SELECT n FROM counter").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// opened is a store that the test closes.
func opened(t *testing.T, url string) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), store.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCopiesShowOneInstant: a writer increments the core first and then the bulk database, so that at each instant they
// are equal or the core is one ahead.
func TestCopiesShowOneInstant(t *testing.T) {
	ctx := context.Background()
	url := storetest.Bare(t, store.SQLite)
	s := storetest.OpenURL(t, url)
	counters(t, s)
	stop := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, db := range []*store.DB{s.Core, s.Bulk} {
				if err := db.WriteUnsynced(ctx, func(tx *store.Tx) error {
					return tx.Exec(ctx, "UPDATE counter SET n = n + 1")
				}); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for range 8 {
		dir := t.TempDir()
		if err := s.CopyTo(ctx, dir); err != nil {
			t.Fatal(err)
		}
		copied := storetest.OpenURL(t, "sqlite:"+filepath.Join(dir, "opdeck.db"))
		core, bulk := counter(t, copied.Core), counter(t, copied.Bulk)
		if core != bulk && core != bulk+1 {
			t.Errorf("core %d, bulk %d", core, bulk)
		}
		for _, db := range []*store.DB{copied.Core, copied.Bulk} {
			if err := store.Check(ctx, db); err != nil {
				t.Error(err)
			}
		}
	}
	close(stop)
	writing.Wait()
	if counter(t, s.Core) == 0 {
		t.Error("nothing was written meanwhile")
	}
}

// TestReplaceIsAllOrNothing: after each number of steps that a killed process took, the next Open finds the new store,
// and the old one aside.
func TestReplaceIsAllOrNothing(t *testing.T) {
	ctx := context.Background()
	for taken := 0; ; taken++ {
		dir := filepath.Join(t.TempDir(), "state")
		core := filepath.Join(dir, "opdeck.db")
		url := "sqlite:" + core
		old := opened(t, url)
		counters(t, old)
		var list []store.Replacement
		fresh := t.TempDir()
		if err := old.CopyTo(ctx, fresh); err != nil {
			t.Fatal(err)
		}
		prepared := opened(t, "sqlite:"+filepath.Join(fresh, "opdeck.db"))
		for _, db := range []*store.DB{prepared.Core, prepared.Bulk} {
			if err := errors.Join(db.Exec(ctx, "UPDATE counter SET n = 7"), db.Tune(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(prepared.Close(), old.Close()); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"opdeck-index.db", "opdeck.db"} {
			r := store.Replacement{New: filepath.Join(dir, "new-"+name), Path: filepath.Join(dir, name),
				Aside: filepath.Join(dir, "old-"+name)}
			if err := os.Rename(filepath.Join(fresh, name), r.New); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(r.Path+"-wal", []byte("a log of the old store"), 0o600); err != nil {
				t.Fatal(err)
			}
			list = append(list, r)
		}
		left := store.LeaveReplacement(t, core, list, taken)
		s := storetest.OpenURL(t, url)
		if a, b := counter(t, s.Core), counter(t, s.Bulk); a != 7 || b != 7 {
			t.Errorf("after %d steps: core %d, bulk %d", taken, a, b)
		}
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || strings.Contains(strings.Join(names, " "), "new-") {
			t.Errorf("after %d steps: %v, %v", taken, names, err)
		}
		for _, r := range list {
			if _, err := os.Lstat(r.Aside); err != nil {
				t.Errorf("after %d steps: %v", taken, err)
			}
		}
		if _, err := os.Lstat(core + ".restoring"); err == nil {
			t.Errorf("after %d steps the list is still there", taken)
		}
		if left == 0 {
			if taken < 4 {
				t.Errorf("only %d steps", taken)
			}
			return
		}
	}
}
