package store_test

import (
	"context"
	"testing"

	"opdeck/api/session"
	"opdeck/api/session/sessiontest"
	"opdeck/internal/store"
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
			sessiontest.Run(t, func(t *testing.T) sessiontest.Opened {
				url, peer := urls(t)
				shift := new(store.Shift)
				key := testKey(t)
				one := newSession(t, storetest.OpenURL(t, url), key, shift, "")
				two := one
				if peer != "" {
					two = newSession(t, storetest.OpenURL(t, peer), key, shift, "")
				}
				return sessiontest.Opened{Store: one, Peer: two, Shift: shift.Add}
			})
		})
	}
}

// testKey is a random key for sealing.
func testKey(t testing.TB) store.Key {
	t.Helper()
	m, err := store.Open(context.Background(), store.Options{URL: "memory"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	key, err := store.OpenKey("", m.Core)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newSession(t testing.TB, s *store.Store, key store.Key, shift *store.Shift, boot string) *store.Session {
	t.Helper()
	se, err := store.NewShiftedSession(context.Background(), s.Core, key, shift, boot)
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
