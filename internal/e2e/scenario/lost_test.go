//go:build linux

package scenario

import (
	"context"
	"database/sql"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"opdeck/api/session"
	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

// TestColdFleetBehindSmallPools: 24 processes start at once on an empty database
// behind a pooler with fewer connections than they are, and make one call each.
func TestColdFleetBehindSmallPools(t *testing.T) {
	t.Parallel()
	for _, size := range []int{12, 2, 1} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			t.Parallel()
			try(t, func(t testing.TB) {
				p := newPlace(t, "PostgreSQL")
				p.direct = storetest.Bare(t, store.Postgres)
				p.url = storetest.PooledBy(t, p.direct, size)
				s := newService(t, long())
				ws := startMany(t, unlessRace(24, 8), p, s)
				for _, w := range ws {
					w.do(order{Do: "stall"}) // answers once it runs
				}
				began := time.Now()
				r := joined(all(ws, order{Do: "calls", Deadline: time.Minute}))
				noErrors(t, r)
				s.check(t, wants{logins: 1, refreshes: 0, unauthorized: 0})
				t.Logf("%d processes served after %v", len(ws), time.Since(began).Round(10*time.Millisecond))
			})
		})
	}
}

// TestDeletedStore: files of the store are deleted under processes that work. They
// stop within a second; those who come begin again or with an older state, and log in
// instead of using a refresh token that was used before.
func TestDeletedStore(t *testing.T) {
	for name, parts := range map[string][]string{"all": {"", "-wal", "-shm"}, "the file": {""}, "the log": {"-wal", "-shm"}} {
		t.Run(name, func(t *testing.T) {
			on(t, []string{"SQLite"}, func(t testing.TB, p place) {
				s := newService(t, serviceOptions{Access: 6 * time.Second, Refresh: 24 * time.Second})
				old := startMany(t, 4, p, s)
				noErrors(t, joined(all(old, order{Do: "calls"})))
				file := strings.TrimPrefix(p.url, "sqlite:")
				intoFile(t, file)
				noErrors(t, joined(all(old, order{Do: "calls", For: 8 * time.Second, Gap: 100 * time.Millisecond}))) // beyond the first refresh
				for _, part := range parts {
					if err := os.Remove(file + part); err != nil {
						t.Fatal(err)
					}
				}
				fresh := startMany(t, 3, p, s)
				noErrors(t, joined(all(fresh, order{Do: "calls"})))
				r := joined(all(old, order{Do: "calls", For: 3 * time.Second, Gap: 100 * time.Millisecond}))
				if r.OK != 0 {
					t.Errorf("%d calls went out beside the new store", r.OK)
				}
				for what := range r.Errors {
					if !strings.HasPrefix(what, string(session.StoreUnavailable)) {
						t.Errorf("%s", what)
					}
				}
				noErrors(t, joined(all(fresh, order{Do: "calls", For: 8 * time.Second, Gap: 100 * time.Millisecond})))
				st := s.check(t, wants{logins: 2, refreshes: -1, unauthorized: 0})
				p.sound(t)
				t.Logf("%d refreshes", st.Refreshes)
			})
		})
	}
}

// intoFile copies the write-ahead log into the file: what the file holds without it.
func intoFile(t testing.TB, file string) {
	t.Helper()
	tool, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tool.Close() }()
	if _, err := tool.Exec("PRAGMA wal_checkpoint(FULL)"); err != nil {
		t.Fatal(err)
	}
}

// TestReplacedStore: another store takes the file's place. Those of the old one stop,
// those who come share the new one, with one login.
func TestReplacedStore(t *testing.T) {
	on(t, []string{"SQLite"}, func(t testing.TB, p place) {
		s := newService(t, serviceOptions{Access: 8 * time.Second, Refresh: 24 * time.Second})
		old := startMany(t, 4, p, s)
		noErrors(t, joined(all(old, order{Do: "calls"})))
		file := strings.TrimPrefix(p.url, "sqlite:")
		other, err := store.Open(context.Background(), store.Options{URL: "sqlite:" + file + ".other.db"})
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		for _, rest := range []string{"-wal", "-shm"} {
			if err := os.Remove(file + rest); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Rename(file+".other.db", file); err != nil {
			t.Fatal(err)
		}
		fresh := startMany(t, 4, p, s)
		noErrors(t, joined(all(fresh, order{Do: "calls"})))
		for range 3 { // for longer than a look at the file is good for
			time.Sleep(700 * time.Millisecond)
			r := joined(all(old, order{Do: "calls", Deadline: 20 * time.Second}))
			if r.OK != 0 {
				t.Errorf("%d calls went out beside the new store", r.OK)
			}
			for what := range r.Errors {
				if !strings.HasPrefix(what, string(session.StoreUnavailable)) {
					t.Errorf("%s", what)
				}
			}
		}
		noErrors(t, joined(all(fresh, order{Do: "calls"})))
		s.check(t, wants{logins: 2, refreshes: 0, unauthorized: 0})
	})
}
