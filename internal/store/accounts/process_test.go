package accounts_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"opdeck/api/session"
	"opdeck/internal/store"
	"opdeck/internal/store/accounts"
	"opdeck/internal/store/storetest"
)

// TestEndedInstanceIsKnown: on one host the kernel knows at once which instances
// have ended; with PostgreSQL no one claims to know.
func TestEndedInstanceIsKnown(t *testing.T) {
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) {
			ctx, url := t.Context(), storetest.URL(t, e)
			s := storeSession(t, storetest.OpenURL(t, url))
			other, err := store.Open(ctx, store.Options{URL: url})
			if err != nil {
				t.Fatal(err)
			}
			child := storeSession(t, other)
			if err := errors.Join(s.Beat(ctx, key1, owner("me")), child.Beat(ctx, key1, owner("child"))); err != nil {
				t.Fatal(err)
			}
			known := e == store.SQLite && runtime.GOOS == "linux"
			look := func(gone bool) {
				t.Helper()
				list, err := s.Instances(ctx, key1)
				if err != nil || len(list) != 2 {
					t.Fatalf("%+v, %v", list, err)
				}
				for _, in := range list {
					child := in.Owner.ID == "child"
					if in.Sure != (known || !child && in.Sure) || in.Gone != (known && child && gone) {
						t.Errorf("%s, ended %v: sure %v, gone %v", in.Owner.ID, gone, in.Sure, in.Gone)
					}
				}
			}
			look(false)
			if err := other.Close(); err != nil { // the kernel's locks go with it, as when it is killed
				t.Fatal(err)
			}
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
