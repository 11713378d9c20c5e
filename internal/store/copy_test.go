package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
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

// TestCopyUnderLoad: copies that are made while others write are whole, and nothing older than the copying began.
func TestCopyUnderLoad(t *testing.T) {
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
		file := filepath.Join(t.TempDir(), "copy.db")
		least := counter(t, s.Core)
		if err := s.CopyTo(ctx, file, filepath.Join(filepath.Dir(file), "copy-index.db")); err != nil {
			t.Fatal(err)
		}
		copied := storetest.OpenURL(t, "sqlite:"+file)
		if core, bulk := counter(t, copied.Core), counter(t, copied.Bulk); core < least || bulk > core {
			t.Errorf("core %d, bulk %d, before %d", core, bulk, least)
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

// TestReplaceIsAllOrNothing: after each number of renames that a killed process made, the next Open finds the new store,
// and the old one aside.
func TestReplaceIsAllOrNothing(t *testing.T) {
	ctx := context.Background()
	for taken := range 11 {
		dir := filepath.Join(t.TempDir(), "state")
		core := filepath.Join(dir, "opdeck.db")
		old := opened(t, "sqlite:"+core)
		counters(t, old)
		fresh, aside := filepath.Join(dir, "new"), filepath.Join(dir, "old")
		if err := os.Mkdir(fresh, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := old.CopyTo(ctx, filepath.Join(fresh, "opdeck.db"), filepath.Join(fresh, "opdeck-index.db")); err != nil {
			t.Fatal(err)
		}
		made := opened(t, "sqlite:"+filepath.Join(fresh, "opdeck.db"))
		for _, db := range []*store.DB{made.Core, made.Bulk} {
			if err := errors.Join(db.Exec(ctx, "UPDATE counter SET n = 7"), db.Tune(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(made.Close(), old.Close()); err != nil {
			t.Fatal(err)
		}
		var list []store.Placed
		var renames [][2]string
		if err := os.Mkdir(aside, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"opdeck-index.db", "opdeck.db"} {
			path := filepath.Join(dir, name)
			list = append(list, store.Placed{Name: name, Path: path})
			for _, end := range []string{"-wal", "-shm", ""} {
				renames = append(renames, [2]string{path + end, filepath.Join(aside, name) + end})
			}
			if err := errors.Join(os.WriteFile(path+"-wal", []byte("a log of the old store"), 0o600),
				os.WriteFile(path+"-shm", nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			renames = append(renames, [2]string{filepath.Join(core+".restoring", name), path})
		}
		if taken == 0 { // nobody is killed
			if err := store.Replace(ctx, core, fresh, aside, list); err != nil {
				t.Fatal(err)
			}
		} else {
			text, err := json.Marshal(map[string]any{"aside": aside, "files": list})
			if err == nil {
				err = os.WriteFile(filepath.Join(fresh, "places.json"), text, 0o600)
			}
			if err = errors.Join(err, os.Rename(fresh, core+".restoring")); err != nil {
				t.Fatal(err)
			}
			for _, r := range renames[:min(taken-1, len(renames))] {
				if err := os.Rename(r[0], r[1]); err != nil {
					t.Fatal(err)
				}
			}
			if taken > len(renames)+1 { // it was killed while it removed the folder
				if err := os.Remove(filepath.Join(core+".restoring", "places.json")); err != nil {
					t.Fatal(err)
				}
			}
		}
		s := storetest.OpenURL(t, "sqlite:"+core)
		if a, b := counter(t, s.Core), counter(t, s.Bulk); a != 7 || b != 7 {
			t.Errorf("after %d renames: core %d, bulk %d", taken, a, b)
		}
		for _, r := range list {
			if _, err := os.Lstat(filepath.Join(aside, r.Name)); err != nil {
				t.Errorf("after %d renames: %v", taken, err)
			}
		}
		if _, err := os.Lstat(core + ".restoring"); err == nil {
			t.Errorf("after %d renames the folder is still there", taken)
		}
	}
}
