package accounts_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opdeck/api/secret"
	"opdeck/api/session"
	"opdeck/internal/store"
	"opdeck/internal/store/accounts"
	"opdeck/internal/store/storetest"
)

// TestCopiedStateNeverRefreshes: of a copied state folder only the original presents the refresh token; the
// copy says what it is.
func TestCopiedStateNeverRefreshes(t *testing.T) {
	ctx := context.Background()
	url, key := storetest.URL(t, store.SQLite), testKey(t)
	open := func(url string) (*store.Store, *accounts.Store) {
		st, err := store.Open(ctx, store.Options{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		return st, newSession(t, st, key, new(storetest.Shift), "")
	}
	st, s := open(url)
	installed(t, s, "access1", "refresh1")
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	file := strings.TrimPrefix(url, "sqlite:")
	there := t.TempDir()
	if err := os.CopyFS(there, os.DirFS(filepath.Dir(file))); err != nil {
		t.Fatal(err)
	}
	for place, want := range map[string]session.Origin{filepath.Join(there, filepath.Base(file)): session.Copied, file: session.Own} {
		_, s := open("sqlite:" + place)
		row := acquired(t, s, session.Claim{})
		if row.Origin != want || row.Refresh.Empty() != (want == session.Copied) {
			t.Errorf("origin %q, refresh token %v, want %q", row.Origin, !row.Refresh.Empty(), want)
		}
		if kind := marked(t, s, row); (kind == session.ByLogin) != (want == session.Copied) {
			t.Errorf("%q begins with %s", want, kind)
		}
		if _, err := s.Install(ctx, key1, session.Install{Incarnation: row.Incarnation, Fence: row.Fence, Kind: session.ByLogin,
			Access: secret.New("access2"), Refresh: secret.New("refresh2"), AccessTTL: time.Minute, RefreshTTL: time.Hour,
			By: owner("a")}); err != nil {
			t.Fatal(err)
		}
		if row := acquired(t, s, session.Claim{}); row.Origin != session.Own || row.Refresh.Empty() {
			t.Errorf("noticed once more: %q", row.Origin)
		}
	}
}

// TestOlderStateNeverRefreshes: a database that is older than the newest use of the
// pair, a backup or one without its log, is good for a login and not for a refresh.
func TestOlderStateNeverRefreshes(t *testing.T) {
	ctx := context.Background()
	for _, known := range []bool{true, false} { // whether the state knows the present incarnation
		url, key := storetest.URL(t, store.SQLite), testKey(t)
		file := strings.TrimPrefix(url, "sqlite:")
		open := func() (*store.Store, *accounts.Store) {
			st, err := store.Open(ctx, store.Options{URL: url})
			if err != nil {
				t.Fatal(err)
			}
			return st, newSession(t, st, key, new(storetest.Shift), "")
		}
		st, s := open()
		installed(t, s, "access1", "refresh1")
		if err := st.Close(); err != nil { // writes the log into the file
			t.Fatal(err)
		}
		backup, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		st, s = open()
		row := acquired(t, s, session.Claim{Doubt: !known, Renew: !known})
		if kind := marked(t, s, row); known && kind != session.ByRefresh {
			t.Fatalf("begins with %s", kind)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, backup, 0o600); err != nil {
			t.Fatal(err)
		}
		_, s = open()
		if row, err = s.Load(ctx, key1); err != nil || row.State != session.Live || row.Refresh.Reveal() != "refresh1" {
			t.Fatalf("the backup holds %s, %v", row.State, err)
		}
		was := row.Incarnation
		row = acquired(t, s, session.Claim{})
		if row.State != session.Doubtful || !row.Refresh.Empty() || row.Incarnation == was {
			t.Fatalf("%s with refresh token %v, same incarnation %v", row.State, !row.Refresh.Empty(), row.Incarnation == was)
		}
		marked(t, s, row)
		if _, err = s.Install(ctx, key1, session.Install{Incarnation: row.Incarnation, Fence: row.Fence, Kind: session.ByLogin, Access: secret.New("access2"),
			Refresh: secret.New("refresh2"), AccessTTL: time.Minute, RefreshTTL: time.Hour, By: owner("a")}); err != nil {
			t.Fatal(err)
		}
		if row = acquired(t, s, session.Claim{}); row.State != session.Live || row.Refresh.Reveal() != "refresh2" {
			t.Errorf("the pair behind the login is %s", row.State)
		}
	}
}

// TestUnsentIsNotSpent: a refresh that was announced and not sent leaves the pair good.
func TestUnsentIsNotSpent(t *testing.T) {
	ctx := context.Background()
	s := storeSession(t, storetest.Open(t, store.SQLite))
	installed(t, s, "access1", "refresh1")
	for range 2 {
		row := acquired(t, s, session.Claim{})
		if kind := marked(t, s, row); kind != session.ByRefresh {
			t.Errorf("goes on with %s", kind)
		}
		if err := s.Release(ctx, key1, session.Release{Incarnation: row.Incarnation, Fence: row.Fence}); err != nil {
			t.Fatal(err)
		}
	}
}

// acquired takes the lease with claim c of whatever row is there.
func acquired(t *testing.T, s *accounts.Store, c session.Claim) session.Row {
	t.Helper()
	row, err := s.Load(context.Background(), key1)
	if err != nil {
		t.Fatal(err)
	}
	c.Incarnation, c.Gen, c.Fence, c.Owner, c.For = row.Incarnation, row.Gen, row.Fence, owner("a"), 5*time.Second
	row, won, err := s.Acquire(context.Background(), key1, c)
	if err != nil || !won {
		t.Fatalf("acquire: %v, %v", won, err)
	}
	return row
}

// marked announces what the row allows: a refresh, else a login.
func marked(t *testing.T, s *accounts.Store, row session.Row) session.Kind {
	t.Helper()
	kind := session.ByLogin
	if !row.Refresh.Empty() {
		kind = session.ByRefresh
	}
	wait, err := s.Mark(context.Background(), key1, session.Mark{Incarnation: row.Incarnation, Fence: row.Fence, Owner: "a", Kind: kind, For: 15 * time.Second, Rule: apiRule})
	if err != nil || wait != 0 {
		t.Fatalf("mark: wait %v, %v", wait, err)
	}
	return kind
}
