package accounts_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"opdeck/api/limit"
	"opdeck/api/secret"
	"opdeck/api/session"
	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

func TestFullDiskIsNamedAndReadable(t *testing.T) {
	ctx := context.Background()
	st := storetest.Open(t, store.SQLite)
	s := storeSession(t, st)
	installed(t, s, "acc", "ref")
	fillUp(t, st.Core)
	var err error
	for range 5000 {
		if err = s.Log(ctx, key1, session.Event{Kind: session.EventReset, Detail: strings.Repeat("x", 4000)}); err != nil {
			break
		}
	}
	if !store.IsKind(err, store.Full) || !strings.Contains(err.Error(), st.Core.Path()) {
		t.Fatalf("%v; want Full with the file's name", err)
	}
	row, err := s.Load(ctx, key1)
	if err != nil || row.Access.Reveal() != "acc" {
		t.Errorf("reading on a full disk: %s, %v", row.State, err)
	}
	checkIntegrity(t, st.Core)
}

// TestLostCommitAnswers breaks the connection after a COMMIT was done and before
// its answer arrives (rule A8).
func TestLostCommitAnswers(t *testing.T) {
	ctx := context.Background()
	direct := storetest.URL(t, store.Postgres)
	relay := newRelay(t, direct)
	key, shift := testKey(t), new(storetest.Shift)
	s := newSession(t, storetest.OpenURL(t, relay.url), key, shift, "")
	sure := newSession(t, storetest.OpenURL(t, direct), key, shift, "")
	row, err := s.Load(ctx, key1)
	if err != nil {
		t.Fatal(err)
	}

	relay.cutNextCommit()
	row, won, err := s.Acquire(ctx, key1, session.Claim{Incarnation: row.Incarnation, Owner: owner("a"), For: 5 * time.Second})
	if err != nil || !won || row.Fence != 1 {
		t.Fatalf("acquire: won %v, fence %d, %v", won, row.Fence, err)
	}

	mark := session.Mark{Incarnation: row.Incarnation, Fence: 1, Owner: "a", Kind: session.ByLogin, For: 15 * time.Second, Rule: loginRule}
	relay.cutNextCommit()
	if _, err = s.Mark(ctx, key1, mark); !store.IsKind(err, store.Unknown) {
		t.Fatalf("a mark without an answer must not count: %v", err)
	}
	if row, err = sure.Load(ctx, key1); err != nil || row.Phase != session.SentLogin {
		t.Fatalf("the relay did not let the commit through: %s, %v", row.Phase, err)
	}

	relay.cutNextCommit()
	row, err = s.Install(ctx, key1, session.Install{Incarnation: row.Incarnation, Fence: 1, Kind: session.ByLogin, Access: secret.New("acc"),
		Refresh: secret.New("ref"), AccessTTL: time.Minute, RefreshTTL: time.Hour, By: owner("a")})
	if err != nil || row.Gen != 1 || row.Access.Reveal() != "acc" {
		t.Fatalf("install: gen %d, %v", row.Gen, err)
	}

	row, won, err = s.Acquire(ctx, key1, session.Claim{Incarnation: row.Incarnation, Gen: 1, Fence: 1, Owner: owner("a"), For: 5 * time.Second})
	if err != nil || !won {
		t.Fatalf("second acquire: %v, %v", won, err)
	}
	relay.cutNextCommit()
	if err = s.Release(ctx, key1, session.Release{Incarnation: row.Incarnation, Fence: 2, Fail: true}); err != nil {
		t.Fatalf("release: %v", err)
	}
	if row, err = sure.Load(ctx, key1); err != nil || row.Phase != session.Free || row.Fails != 1 || row.Gen != 1 {
		t.Errorf("phase %s, fails %d, gen %d, %v", row.Phase, row.Fails, row.Gen, err)
	}

	relay.cutNextCommit()
	if g, err := s.Take(ctx, key1, limit.Request{Class: limit.Billing, Rule: apiRule}); !store.IsKind(err, store.Unknown) || g.Taken {
		t.Errorf("a slot without an answer: %+v, %v", g, err)
	}
	if relay.cuts() != 5 {
		t.Errorf("%d commits were cut, want 5", relay.cuts())
	}
}

// fillUp leaves no room for further pages.
func fillUp(t *testing.T, db *store.DB) {
	t.Helper()
	ctx := context.Background()
	for _, write := range []func(context.Context, func(*store.Tx) error) error{db.Write, db.WriteUnsynced} { // two connections
		err := write(ctx, func(tx *store.Tx) error {
			var n, most int
			if err := tx.QueryRow(ctx, "PRAGMA page_count").Scan(&n); err != nil {
				return err
			}
			return tx.QueryRow(ctx, "PRAGMA max_page_count = "+strconv.Itoa(n+2)).Scan(&most)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestLostStoreIsNamedToTheSession: a pair in memory is not used beside a store that
// others may have begun again.
func TestLostStoreIsNamedToTheSession(t *testing.T) {
	ctx := context.Background()
	st := storetest.OpenURL(t, storetest.URL(t, store.SQLite))
	s := storeSession(t, st)
	installed(t, s, "acc", "ref")
	if err := os.Rename(st.Core.Path(), st.Core.Path()+".away"); err != nil {
		t.Fatal(err)
	}
	_, _, err := s.Enter(ctx, key1, limit.Request{Class: limit.Billing, Rule: limit.Rule{N: 12, Window: time.Minute}}, func(session.Row) bool { return true })
	if !errors.Is(err, session.ErrStoreLost) {
		t.Errorf("%v", err)
	}
}
