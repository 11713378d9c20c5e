package accounts_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"opdeck/api/session"
	"opdeck/internal/store"
	"opdeck/internal/store/accounts"
	"opdeck/internal/store/seal"
	"opdeck/internal/store/storetest"
)

const (
	processes    = 32
	logsPerChild = 40
	kills        = 20
)

func TestManyProcessesOpenAndMigrateAtOnce(t *testing.T) {
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) {
			url := storetest.Bare(t, e)
			finish(t, startMany(t, processes, "open", url, ""))
			st := storetest.OpenURL(t, url)
			for _, table := range []string{"opdeck_core_version", "opdeck_bulk_version"} {
				db := st.Core
				if strings.Contains(table, "bulk") {
					db = st.Bulk
				}
				var all, distinct int
				err := db.QueryRow(context.Background(), "SELECT COUNT(*), COUNT(DISTINCT version_id) FROM "+table).Scan(&all, &distinct)
				if err != nil && strings.Contains(table, "bulk") && strings.Contains(err.Error(), "opdeck_bulk_version") {
					continue // no bulk tables yet
				}
				if err != nil || all != distinct {
					t.Errorf("%s: %d rows for %d migrations, %v", table, all, distinct, err)
				}
			}
		})
	}
}

// TestColdStartBehindSmallPools: as many processes as a fleet has start at once on
// an empty database behind a pooler with fewer connections.
func TestColdStartBehindSmallPools(t *testing.T) {
	for _, size := range []int{12, 2, 1} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			direct := storetest.Bare(t, store.Postgres)
			finish(t, startMany(t, 24, "open", storetest.PooledBy(t, direct, size), ""))
			for _, table := range []string{"opdeck_core_version", "opdeck_bulk_version"} {
				var all, distinct int
				err := storetest.OpenURL(t, direct).Core.QueryRow(context.Background(), "SELECT COUNT(*), COUNT(DISTINCT version_id) FROM "+table).Scan(&all, &distinct)
				if err != nil || all < 2 || all != distinct {
					t.Errorf("%s: %d rows for %d migrations, %v", table, all, distinct, err)
				}
			}
		})
	}
}

// TestKilledInstanceIsKnown: on one host the kernel knows at once which instances
// have ended; with PostgreSQL no one claims to know.
func TestKilledInstanceIsKnown(t *testing.T) {
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) {
			ctx := context.Background()
			url, keyFile := storetest.URL(t, e), writeKey(t)
			s := storeSession(t, storetest.OpenURL(t, url))
			if err := s.Beat(ctx, key1, owner("me")); err != nil {
				t.Fatal(err)
			}
			p := start(t, "beat", url, keyFile)
			p.awaitHeld(t)
			known := e == store.SQLite && runtime.GOOS == "linux"
			look := func(gone bool) {
				t.Helper()
				list, err := s.Instances(ctx, key1)
				if err != nil || len(list) != 2 {
					t.Fatalf("%+v, %v", list, err)
				}
				for _, in := range list {
					if child := in.Owner.ID == "child"; in.Sure != (known || !child && in.Sure) || in.Gone != (known && child && gone) {
						t.Errorf("%s, killed %v: sure %v, gone %v", in.Owner.ID, gone, in.Sure, in.Gone)
					}
				}
			}
			look(false)
			p.kill(t)
			look(true)
		})
	}
}

// TestKilledInstancesAreForgotten: of processes that were killed a few are listed, however many there were; those that
// run stay all.
func TestKilledInstancesAreForgotten(t *testing.T) {
	ctx, url := t.Context(), storetest.URL(t, store.SQLite)
	s := storeSession(t, storetest.OpenURL(t, url))
	beat := func(s *accounts.Store, name string) {
		t.Helper()
		if err := s.Beat(ctx, key1, owner(name)); err != nil {
			t.Fatal(err)
		}
	}
	const many = 40
	for n := range many {
		beat(s, fmt.Sprint("runs ", n))
	}
	other, err := store.Open(ctx, store.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	killed := storeSession(t, other)
	for n := range many {
		beat(killed, fmt.Sprint("killed ", n))
	}
	if err := other.Close(); err != nil { // the kernel's locks go with it
		t.Fatal(err)
	}
	beat(s, "the next one")
	list, err := s.Instances(ctx, key1)
	if err != nil {
		t.Fatal(err)
	}
	gone := 0
	for _, in := range list {
		if in.Gone {
			gone++
		}
	}
	if runs := len(list) - gone; runs != many+1 || gone == 0 || gone > 16 {
		t.Errorf("%d run and %d are gone", runs, gone)
	}
}

func TestWritersNeverSeeBusy(t *testing.T) {
	ctx := context.Background()
	url, keyFile := storetest.URL(t, store.SQLite), writeKey(t)
	st := storetest.OpenURL(t, url)
	finish(t, startMany(t, processes, "log", url, keyFile))
	n, err := storeSession(t, st).Count(ctx, key1)
	if err != nil || n[session.EventUnauthorized] != processes*logsPerChild {
		t.Errorf("%d events counted, %v; want %d", n[session.EventUnauthorized], err, processes*logsPerChild)
	}
	checkIntegrity(t, st.Core)
}

func TestKilledWriterLeavesNoTrace(t *testing.T) {
	ctx := context.Background()
	url, keyFile := storetest.URL(t, store.SQLite), writeKey(t)
	st := storetest.OpenURL(t, url)
	s := storeSession(t, st)
	before := installed(t, s, "acc", "ref")
	for range kills {
		p := start(t, "hold write lock", url, keyFile)
		p.awaitHeld(t)
		p.kill(t)
		began := time.Now()
		if err := s.Beat(ctx, key1, owner("a")); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 5*time.Second { // a lease is longer
			t.Errorf("the next write took %v", took)
		}
	}
	after, err := s.Load(ctx, key1)
	if err != nil || after.Fails != before.Fails || after.Access.Reveal() != "acc" {
		t.Errorf("fails %d (was %d), %v", after.Fails, before.Fails, err)
	}
	checkIntegrity(t, st.Core)
}

func TestKilledHolderIsNoticedAtOnce(t *testing.T) {
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) {
			ctx := context.Background()
			url, keyFile := storetest.URL(t, e), writeKey(t)
			st := storetest.OpenURL(t, url)
			key, err := seal.OpenKey(context.Background(), keyFile, st.Core)
			if err != nil {
				t.Fatal(err)
			}
			s := newSession(t, st, key, new(storetest.Shift), "")
			row := installed(t, s, "acc", "ref")
			live := s.Liveness()
			worst := time.Duration(0)
			for i := range kills {
				p := start(t, "hold lease", url, keyFile)
				p.awaitHeld(t)
				if i == 0 {
					waitUntil(t, func() bool { return storeReady(live) })
				}
				if live.Gone(key1) {
					t.Fatal("a living holder counts as gone")
				}
				p.kill(t)
				began := time.Now()
				waitUntil(t, func() bool { return live.Gone(key1) })
				worst = max(worst, time.Since(began))
				if row, err = s.Load(ctx, key1); err != nil || row.Phase != session.SentLogin || row.LeaseLeft == 0 || !row.HasLock {
					t.Fatalf("phase %s, lease %v, lock %v, %v", row.Phase, row.LeaseLeft, row.HasLock, err)
				}
				row, won, err := s.Acquire(ctx, key1, session.Claim{Incarnation: row.Incarnation, Gen: row.Gen, Fence: row.Fence, Owner: owner("a"), For: time.Second, Over: true})
				if err != nil || !won || row.State != session.Doubtful || !row.Refresh.Empty() {
					t.Fatalf("takeover: %v, state %s, %v", won, row.State, err)
				}
			}
			t.Logf("a killed holder is noticed after at most %v", worst)
			if e == store.SQLite {
				checkIntegrity(t, st.Core)
			}
		})
	}
}

var otherKey = session.Key{BaseURL: "https://none.example", Account: "nobody"}

// storeReady reports whether the hints work: no one holds the lock of a key that
// no one uses.
func storeReady(l session.Liveness) bool { return l.Gone(otherKey) }

func waitUntil(t testing.TB, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); {
		if time.Now().After(end) {
			t.Fatal("it did not happen within a minute")
		}
		time.Sleep(time.Millisecond)
	}
}

func writeKey(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(strings.Repeat("0123456789abcdef", 4)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func checkIntegrity(t testing.TB, db *store.DB) {
	t.Helper()
	var said string
	if err := db.QueryRow(context.Background(), "PRAGMA integrity_check").Scan(&said); err != nil || said != "ok" {
		t.Errorf("integrity_check: %q, %v", said, err)
	}
}

func unixOnly(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("access lists decide there")
	}
}
