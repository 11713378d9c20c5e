package accounts_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"opdeck/api/session"
	"opdeck/internal/e2e/lockedbuffer"
	"opdeck/internal/store"
	"opdeck/internal/store/accounts"
	"opdeck/internal/store/seal"
	"opdeck/internal/store/storetest"
)

func listening(t *testing.T, url string, key seal.Key) (*accounts.Store, *lockedbuffer.Buffer) {
	t.Helper()
	out := new(lockedbuffer.Buffer)
	s, err := accounts.New(storetest.OpenURL(t, url).Core,
		accounts.Options{Key: key, Log: slog.New(slog.NewTextHandler(out, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, out
}

func TestHintArrives(t *testing.T) {
	url, key := storetest.URL(t, store.Postgres), testKey(t)
	waiter, _ := listening(t, url, key)
	changed, stop := waiter.Changed(key1)
	defer stop()
	waitUntil(t, func() bool { return storeReady(waiter.Liveness()) })
	for len(changed) > 0 { // one is given when listening begins
		<-changed
	}
	maker := newSession(t, storetest.OpenURL(t, url), key, new(storetest.Shift), "")
	began := time.Now()
	installed(t, maker, "acc", "ref")
	select {
	case <-changed:
		t.Logf("a pair and its hint took %v", time.Since(began))
	case <-time.After(time.Minute):
		t.Error("no hint")
	}
}

func TestHintAfterReconnect(t *testing.T) {
	ctx := context.Background()
	url, key := storetest.URL(t, store.Postgres), testKey(t)
	waiter, _ := listening(t, url, key)
	changed, stop := waiter.Changed(key1)
	defer stop()
	live := waiter.Liveness()
	waitUntil(t, func() bool { return storeReady(live) })
	release, ok := live.Hold(key1)
	if !ok {
		t.Fatal("no lock")
	}
	defer release()
	for len(changed) > 0 {
		<-changed
	}
	other := storetest.OpenURL(t, url)
	err := other.Core.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE ? AND pid <> pg_backend_pid()", "%advisory%")
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed: // whatever happened meanwhile was not heard: look
	case <-time.After(time.Minute):
		t.Fatal("no hint after the connection was lost")
	}
	s, _ := listening(t, url, key)
	watcher := s.Liveness()
	waitUntil(t, func() bool { return storeReady(watcher) })
	waitUntil(t, func() bool { return !watcher.Gone(key1) }) // taken again
}

func TestPoolerIsNoticedAndNamedOnce(t *testing.T) {
	url, key := storetest.URL(t, store.Postgres), testKey(t)
	s, out := listening(t, storetest.Pooled(t, url), key)
	changed, stop := s.Changed(key1)
	defer stop()
	waitUntil(t, func() bool { return strings.Count(out.String(), "NOTIFY does not come through") == 1 })
	if _, ok := s.Liveness().Hold(key1); ok {
		t.Error("a liveness lock behind a pooler")
	}
	if s.Liveness().Gone(key1) {
		t.Error("gone, in doubt")
	}
	if row := installed(t, s, "acc", "ref"); row.State != session.Live {
		t.Errorf("state %s", row.State)
	}
	if len(changed) != 0 {
		t.Error("a hint through a pooler")
	}
	if n := strings.Count(out.String(), "\n"); n != 1 {
		t.Errorf("%d lines logged, want 1", n)
	}
}

func TestNoHintsWithSQLite(t *testing.T) {
	s := storeSession(t, storetest.Open(t, store.SQLite))
	changed, stop := s.Changed(key1)
	defer stop()
	if changed != nil {
		t.Error("SQLite claims to give hints")
	}
}

func TestLivenessOnFiles(t *testing.T) {
	url := storetest.URL(t, store.SQLite)
	one, two := storeSession(t, storetest.OpenURL(t, url)).Liveness(), storeSession(t, storetest.OpenURL(t, url)).Liveness()
	if !two.Gone(key1) {
		t.Error("nobody ever held it, yet it is not free")
	}
	release, ok := one.Hold(key1)
	if !ok || two.Gone(key1) {
		t.Errorf("held %v, gone %v", ok, two.Gone(key1))
	}
	if _, ok := two.Hold(key1); ok {
		t.Error("two holders")
	}
	if _, ok := two.Hold(session.Key{BaseURL: "https://two.example", Account: "x"}); !ok {
		t.Error("another key's lock is in the way")
	}
	release()
	if !two.Gone(key1) {
		t.Error("still held after release")
	}
}

func TestLivenessOnTheServer(t *testing.T) {
	url := storetest.URL(t, store.Postgres)
	one, two := storeSession(t, storetest.OpenURL(t, url)), storeSession(t, storetest.OpenURL(t, url))
	release, ok := one.Liveness().Hold(key1) // at once: the connection is not there yet
	if !ok {
		t.Fatal("a process that has just started gets no lock")
	}
	if one.Liveness().Gone(key1) {
		t.Error("to its own process the holder is gone")
	}
	waitUntil(t, func() bool { return storeReady(two.Liveness()) })
	if two.Liveness().Gone(key1) {
		t.Error("to another process the holder is gone")
	}
	release()
	waitUntil(t, func() bool { return two.Liveness().Gone(key1) })
}
