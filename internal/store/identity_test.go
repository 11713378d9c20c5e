//go:build linux

package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

// both runs a test for each of the two files: pick is the database that is
// attacked.
func both(t *testing.T, run func(t *testing.T, url string, pick func(*store.Store) *store.DB)) {
	for name, pick := range map[string]func(*store.Store) *store.DB{
		"core": func(s *store.Store) *store.DB { return s.Core },
		"bulk": func(s *store.Store) *store.DB { return s.Bulk },
	} {
		t.Run(name, func(t *testing.T) { run(t, storetest.URL(t, store.SQLite), pick) })
	}
}

func holds(ctx context.Context, t *testing.T, db *store.DB, want ...string) {
	t.Helper()
	for _, v := range want {
		var n int
		if err := db.QueryRow(ctx, "SELECT COUNT(*) FROM probe WHERE v = ?", v).Scan(&n); err != nil || n != 1 {
			t.Errorf("%q is there %d times, %v", v, n, err)
		}
	}
}

func remove(t *testing.T, names ...string) {
	t.Helper()
	for _, n := range names {
		if err := os.Remove(n); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLostFileIsRefused: whatever happened to its files, the process that has them
// open acknowledges and reads nothing more, also when they come back. Another process
// works with what has the name now, and the end of the first one leaves that alone.
func TestLostFileIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(t *testing.T, file string)
		says string
	}{
		"all deleted":             {func(t *testing.T, f string) { remove(t, f, f+"-wal", f+"-shm") }, "was deleted or moved away"},
		"the file alone deleted":  {func(t *testing.T, f string) { remove(t, f) }, "was deleted or moved away"},
		"the log and its index":   {func(t *testing.T, f string) { remove(t, f+"-wal", f+"-shm") }, "-wal was deleted or moved away"},
		"the folder deleted":      {func(t *testing.T, f string) { check(t, os.RemoveAll(filepath.Dir(f))) }, "was deleted or moved away"},
		"moved away":              {func(t *testing.T, f string) { check(t, os.Rename(f, filepath.Join(t.TempDir(), "away"))) }, "was deleted or moved away"},
		"replaced by a backup":    {replaceByCopy, "was replaced by another file"},
		"emptied":                 {func(t *testing.T, f string) { check(t, os.Truncate(f, 0)) }, "was emptied"},
		"an empty log":            {emptyLog, "-wal was replaced by another file"},
		"the log of another tool": {logOfTool, "-wal was replaced by another file"},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, url string, pick func(*store.Store) *store.DB) {
				ctx := context.Background()
				first, err := store.Open(ctx, store.Options{URL: url})
				check(t, err)
				db := pick(first)
				check(t, write(ctx, db, "before"))
				c.do(t, db.Path())
				refused(t, first, db, c.says)
				if strings.HasPrefix(c.says, "-wal") || name == "emptied" { // within one process SQLite would mix both logs: see TestDeletedStore
					check(t, first.Close())
					return
				}
				second := storetest.OpenURL(t, url)
				check(t, write(ctx, pick(second), "after"))
				refused(t, first, db, c.says)
				check(t, first.Close())
				holds(ctx, t, pick(second), "after")
				checkIntegrity(t, pick(second))
				check(t, write(ctx, pick(second), "at the end"))
			})
		})
	}
}

// refused checks that the file is lost to db. Where both files of a store are gone, the store names its first one.
func refused(t *testing.T, s *store.Store, db *store.DB, says string) {
	t.Helper()
	ctx := context.Background()
	wrote := write(ctx, db, "into nothing")
	s.Core.ForgetCheck()
	s.Bulk.ForgetCheck()
	for what, err := range map[string]error{
		"write": wrote, "exec": db.Exec(ctx, "DELETE FROM probe"), "read": db.QueryRow(ctx, "SELECT COUNT(*) FROM probe").Scan(new(int)),
		"snapshot": db.Snapshot(ctx, func(store.Querier) error { return nil }), "the store": s.Lost(), "watch": s.WatchLost(ctx),
	} {
		if !store.IsKind(err, store.Lost) || !strings.Contains(err.Error(), says) ||
			!strings.Contains(err.Error(), db.Path()) && !strings.Contains(err.Error(), s.Core.Path()) {
			t.Errorf("%s: %v; want Lost and %q", what, err, says)
		}
	}
	if e := api.AsError(wrote); e.Kind != api.Unavailable || e.Remedy.Kind != api.RestoreStore {
		t.Errorf("%+v has no remedy", e)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func replaceByCopy(t *testing.T, file string) {
	t.Helper()
	copyFile(t, file, file+".backup")
	remove(t, file+"-wal", file+"-shm")
	check(t, os.Rename(file+".backup", file))
}

func emptyLog(t *testing.T, file string) {
	t.Helper()
	remove(t, file+"-wal", file+"-shm")
	check(t, os.WriteFile(file+"-wal", nil, 0o600))
}

// logOfTool lets a tool open the file by name, which continues.
func logOfTool(t *testing.T, file string) {
	t.Helper()
	remove(t, file+"-wal", file+"-shm")
	tool, err := sql.Open("sqlite", "file:"+file)
	check(t, err)
	t.Cleanup(func() { _ = tool.Close() })
	_ = tool.QueryRow("SELECT 1 FROM sqlite_master").Scan(new(int)) // an older state: maybe nothing
}

// TestMissingFileIsAnnounced: who begins a new file beside the rest of an old one
// says so.
func TestMissingFileIsAnnounced(t *testing.T) {
	url, said := storetest.URL(t, store.SQLite), ""
	s := storetest.OpenURL(t, url)
	remove(t, s.Core.Path())
	second, err := store.Open(context.Background(), store.Options{URL: url, Notice: func(s string) { said = s }})
	check(t, err)
	if check(t, second.Close()); !strings.Contains(said, s.Core.Path()+" was missing") {
		t.Errorf("said %q", said)
	}
}

// TestDeletedUnderLoad: no write that began after the deletion is acknowledged.
func TestDeletedUnderLoad(t *testing.T) {
	both(t, func(t *testing.T, url string, pick func(*store.Store) *store.DB) {
		ctx := context.Background()
		var gone atomic.Bool
		var writers sync.WaitGroup
		began := make(chan struct{}, 1000)
		for w := range 3 {
			db := pick(storetest.OpenURL(t, url))
			writers.Go(func() {
				for n := 0; ; n++ {
					late := gone.Load()
					err := write(ctx, db, fmt.Sprintf("%d/%d", w, n))
					switch {
					case store.IsKind(err, store.Lost):
						return
					case err != nil:
						t.Errorf("%d/%d: %v", w, n, err)
						return
					case late:
						t.Errorf("%d/%d was acknowledged", w, n)
						return
					}
					select {
					case began <- struct{}{}:
					default:
					}
				}
			})
		}
		for range 30 {
			<-began
		}
		file := pick(storetest.OpenURL(t, url)).Path()
		remove(t, file)
		gone.Store(true)
		writers.Wait()
		checkIntegrity(t, pick(storetest.OpenURL(t, url)))
	})
}

// TestFirstUserEnds: the last user takes the log away while another one comes.
func TestFirstUserEnds(t *testing.T) {
	both(t, func(t *testing.T, url string, pick func(*store.Store) *store.DB) {
		ctx := context.Background()
		var users sync.WaitGroup
		for w := range 4 {
			users.Go(func() {
				for n := range 30 {
					began := time.Now()
					s, err := store.Open(ctx, store.Options{URL: url})
					if err != nil {
						t.Error(err)
						return
					}
					if took := time.Since(began); took > 5*time.Second {
						t.Errorf("opened after %v", took)
					}
					if err := write(ctx, pick(s), fmt.Sprintf("%d/%d", w, n)); err != nil {
						t.Error(err)
					}
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		users.Wait()
		var n int
		if err := pick(storetest.OpenURL(t, url)).QueryRow(ctx, "SELECT COUNT(*) FROM probe").Scan(&n); err != nil || n != 120 {
			t.Errorf("%d rows of 120, %v", n, err)
		}
	})
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
