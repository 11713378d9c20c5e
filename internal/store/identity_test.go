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
	"testing"
	"time"

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

// TestDeletedFileIsPutBack: whatever was acknowledged before the file was deleted is
// there afterwards, for those who had it open and for those who come.
func TestDeletedFileIsPutBack(t *testing.T) {
	for name, parts := range map[string][]string{
		"all of it": {"", "-wal", "-shm"}, "the file alone": {""}, "the log alone": {"-wal"}, "log and its index": {"-wal", "-shm"},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, url string, pick func(*store.Store) *store.DB) {
				ctx := context.Background()
				one, two := pick(storetest.OpenURL(t, url)), pick(storetest.OpenURL(t, url))
				var acked []string
				acknowledge := func(db *store.DB, v string) {
					t.Helper()
					err := write(ctx, db, v)
					if err == nil {
						acked = append(acked, v)
					} else if !store.IsKind(err, store.Lost) {
						t.Errorf("%s: %v", v, err)
					}
				}
				acknowledge(one, "before, one")
				acknowledge(two, "before, two")
				for round := range 3 {
					for _, part := range parts {
						remove(t, one.Path()+part)
					}
					acknowledge(one, "right after, one"+string(rune('0'+round)))
					acknowledge(two, "right after, two"+string(rune('0'+round)))
					one.ForgetCheck()
					two.ForgetCheck()
					acknowledge(one, "later, one"+string(rune('0'+round)))
					acknowledge(two, "later, two"+string(rune('0'+round)))
				}
				if len(acked) < 8 {
					t.Errorf("acknowledged only %q", acked)
				}
				third := pick(storetest.OpenURL(t, url))
				for _, db := range []*store.DB{one, two, third} {
					holds(ctx, t, db, acked...)
					checkIntegrity(t, db)
				}
				rest, _ := filepath.Glob(filepath.Join(filepath.Dir(one.Path()), ".*"))
				if len(rest) != 0 {
					t.Errorf("left over: %q", rest)
				}
			})
		})
	}
}

// TestNameProvesNothing: a log of that name which the users of a database do not have
// open is not their log. A newcomer reads what was acknowledged, or nothing.
func TestNameProvesNothing(t *testing.T) {
	for name, made := range map[string]func(t *testing.T, file string){
		"an empty log": func(t *testing.T, file string) {
			remove(t, file+"-wal", file+"-shm")
			if err := os.WriteFile(file+"-wal", nil, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"the log of a tool": func(t *testing.T, file string) { // which opened the file by name, and goes on
			remove(t, file+"-wal", file+"-shm")
			tool, err := sql.Open("sqlite", "file:"+file)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = tool.Close() })
			_ = tool.QueryRow("SELECT 1 FROM sqlite_master").Scan(new(int)) // an older state: maybe nothing
		},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, url string, pick func(*store.Store) *store.DB) {
				ctx := context.Background()
				one := pick(storetest.OpenURL(t, url))
				if err := write(ctx, one, "before"); err != nil {
					t.Fatal(err)
				}
				made(t, one.Path())
				come := make(chan *store.Store)
				go func() {
					s, err := store.Open(ctx, store.Options{URL: url})
					if err != nil {
						t.Error(err)
					}
					come <- s
				}()
				for s := (*store.Store)(nil); s == nil; {
					select {
					case s = <-come:
						if s == nil {
							return
						}
						holds(ctx, t, pick(s), "before")
						checkIntegrity(t, pick(s))
						if err := s.Close(); err != nil {
							t.Error(err)
						}
					default:
						one.ForgetCheck()
						_ = one.QueryRow(ctx, "SELECT 1").Scan(new(int)) // the first user goes on, and notices
					}
				}
				holds(ctx, t, one, "before")
			})
		})
	}
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

// TestReplacedFileIsRefused: nothing is acknowledged into the old file, nothing is
// taken from the new one.
func TestReplacedFileIsRefused(t *testing.T) {
	both(t, func(t *testing.T, url string, pick func(*store.Store) *store.DB) {
		ctx := context.Background()
		db, other := pick(storetest.OpenURL(t, url)), pick(storetest.Open(t, store.SQLite))
		if err := write(ctx, db, "before"); err != nil {
			t.Fatal(err)
		}
		backup := db.Path() + ".backup"
		copyFile(t, other.Path(), backup)
		if err := os.Rename(backup, db.Path()); err != nil {
			t.Fatal(err)
		}
		if err := write(ctx, db, "right after"); !store.IsKind(err, store.Lost) || !strings.Contains(err.Error(), "replaced by another file") {
			t.Errorf("write: %v", err)
		}
		var n int
		if err := db.QueryRow(ctx, "SELECT COUNT(*) FROM probe").Scan(&n); !store.IsKind(err, store.Lost) {
			t.Errorf("read: %v", err)
		}
		if err := db.Exec(ctx, "DELETE FROM probe"); !store.IsKind(err, store.Lost) {
			t.Errorf("exec: %v", err)
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

// TestMovedFileIsWaitedFor: a file that was moved away is not put back, and good
// again when it returns.
func TestMovedFileIsWaitedFor(t *testing.T) {
	both(t, func(t *testing.T, url string, pick func(*store.Store) *store.DB) {
		ctx := context.Background()
		s := storetest.OpenURL(t, url)
		db := pick(s)
		if err := write(ctx, db, "before"); err != nil {
			t.Fatal(err)
		}
		away := filepath.Join(t.TempDir(), "away")
		if err := os.Rename(db.Path(), away); err != nil {
			t.Fatal(err)
		}
		if err := write(ctx, db, "while it is away"); !store.IsKind(err, store.Lost) || !strings.Contains(err.Error(), "deleted or moved away") {
			t.Errorf("%v", err)
		}
		if err := s.Lost(ctx); !store.IsKind(err, store.Lost) {
			t.Errorf("%v", err)
		}
		if err := os.Rename(away, db.Path()); err != nil {
			t.Fatal(err)
		}
		db.ForgetCheck()
		if err := write(ctx, db, "after"); err != nil {
			t.Error(err)
		}
		holds(ctx, t, db, "before", "after")
		if err := s.Lost(ctx); err != nil {
			t.Error(err)
		}
	})
}

// TestRemovedFolderIsTold: nothing is acknowledged, nothing is made again.
func TestRemovedFolderIsTold(t *testing.T) {
	both(t, func(t *testing.T, url string, pick func(*store.Store) *store.DB) {
		ctx := context.Background()
		s, err := store.Open(ctx, store.Options{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		db := pick(s)
		dir := filepath.Dir(db.Path())
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := write(ctx, db, "into nothing"); !store.IsKind(err, store.Lost) {
				t.Errorf("%v", err)
			}
			db.ForgetCheck()
		}
		if _, err := os.Stat(dir); err == nil {
			t.Error("the folder is there again")
		}
	})
}

// TestDeletedUnderLoad: writers of several handles go on while the file is deleted
// again and again and others come; what was acknowledged is found afterwards.
func TestDeletedUnderLoad(t *testing.T) {
	both(t, func(t *testing.T, url string, pick func(*store.Store) *store.DB) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var mu sync.Mutex
		var acked []string
		refused := 0
		var writers sync.WaitGroup
		for w := range 3 {
			db := pick(storetest.OpenURL(t, url))
			writers.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					v := fmt.Sprintf("%d/%d", w, n)
					err := write(context.Background(), db, v)
					mu.Lock()
					switch {
					case err == nil:
						acked = append(acked, v)
					case store.IsKind(err, store.Lost):
						refused++
					default:
						t.Errorf("%s: %v", v, err)
					}
					mu.Unlock()
				}
			})
		}
		count := func() int { mu.Lock(); defer mu.Unlock(); return len(acked) }
		await := func(n int) {
			for end := time.Now().Add(20 * time.Second); count() < n; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%d acknowledged, %d refused; want %d", count(), refused, n)
				}
			}
		}
		await(30)
		file := pick(storetest.OpenURL(t, url)).Path()
		for round := range 5 {
			for _, part := range []string{"", "-wal", "-shm"}[:1+round%3] {
				_ = os.Remove(file + part)
			}
			s, err := store.Open(context.Background(), store.Options{URL: url})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			await(count() + 30)
		}
		cancel()
		writers.Wait()
		db := pick(storetest.OpenURL(t, url))
		holds(context.Background(), t, db, acked...)
		checkIntegrity(t, db)
		t.Logf("%d acknowledged, %d refused", len(acked), refused)
	})
}
