package accounts_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"opdeck/api/session"
	"opdeck/api/session/sessiontest"
	"opdeck/internal/store"
	"opdeck/internal/store/accounts"
	"opdeck/internal/store/seal"
	"opdeck/internal/store/storetest"
)

// TestSessionSuite holds every kind of store against the contracts of sessions
// and budgets.
func TestSessionSuite(t *testing.T) {
	for name, urls := range map[string]func(*testing.T) (string, string){
		"Memory": func(*testing.T) (string, string) { return "memory", "" },
		"SQLite": func(t *testing.T) (string, string) {
			url := storetest.URL(t, store.SQLite)
			return url, url
		},
		"PostgreSQL": func(t *testing.T) (string, string) {
			url := storetest.URL(t, store.Postgres)
			return url, url
		},
		"PgBouncer": func(t *testing.T) (string, string) {
			url := storetest.URL(t, store.Postgres)
			return storetest.Pooled(t, url), storetest.Pooled(t, url)
		},
	} {
		t.Run(name, func(t *testing.T) {
			url, peerURL := urls(t)
			store1 := storetest.OpenURL(t, url)
			store2 := store1
			if peerURL != "" {
				store2 = storetest.OpenURL(t, peerURL)
			}
			sessiontest.Run(t, func(t *testing.T) sessiontest.Opened {
				wipe(t, store1)
				shift, key := new(storetest.Shift), testKey(t)
				one := newSession(t, store1, key, shift, "")
				two := one
				if store2 != store1 {
					two = newSession(t, store2, key, shift, "")
				}
				return sessiontest.Opened{Store: one, Peer: two, Shift: shift.Add}
			})
		})
	}
}

// wipe empties the tables of sessions and budgets.
func wipe(t testing.TB, st *store.Store) {
	t.Helper()
	tables := []string{"session", "session_event", "session_count", "session_instance", "limit_ring", "limit_slot", "limit_throttle"}
	if st.Core.Engine() == store.SQLite {
		tables = append(tables, "store_clock")
	}
	for _, table := range tables {
		if err := st.Core.Exec(context.Background(), "DELETE FROM "+table); err != nil {
			t.Fatal(err)
		}
	}
}

// testKey is a random key for sealing.
func testKey(t testing.TB) seal.Key {
	t.Helper()
	random := make([]byte, 32)
	_, _ = rand.Read(random)
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(hex.EncodeToString(random)), 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := seal.ReadKey(file)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newSession(t testing.TB, s *store.Store, key seal.Key, shift *storetest.Shift, boot string) *accounts.Store {
	t.Helper()
	se, err := accounts.New(s.Core, accounts.Options{Key: key, Clock: shift.Clock(s.Core, boot)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := se.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return se
}

var key1 = session.Key{BaseURL: "https://one.example", Account: "machine@one.example"}
