package accounts_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"opdeck/api/limit"
	"opdeck/api/secret"
	"opdeck/api/session"
	"opdeck/internal/store"
	"opdeck/internal/store/accounts"
	"opdeck/internal/store/storetest"
)

var (
	loginRule = limit.Rule{N: 6, Window: 65 * time.Second}
	apiRule   = limit.Rule{N: 12, Window: 62 * time.Second}
)

func owner(id string) session.Owner { return session.Owner{ID: id, Host: "h", PID: 1, Version: "test"} }

// installed leads a fresh row to a live pair and returns it.
func installed(t testing.TB, s *accounts.Store, access, refresh string) session.Row {
	t.Helper()
	ctx := context.Background()
	row, err := s.Load(ctx, key1)
	if err != nil {
		t.Fatal(err)
	}
	row, won, err := s.Acquire(ctx, key1, session.Claim{Incarnation: row.Incarnation, Gen: row.Gen, Fence: row.Fence, Owner: owner("a"), For: 5 * time.Second})
	if err != nil || !won {
		t.Fatalf("acquire: %v, %v", won, err)
	}
	wait, err := s.Mark(ctx, key1, session.Mark{Incarnation: row.Incarnation, Fence: row.Fence, Owner: "a", Kind: session.ByLogin, For: 15 * time.Second, Rule: loginRule})
	if err != nil || wait != 0 {
		t.Fatalf("mark: wait %v, %v", wait, err)
	}
	row, err = s.Install(ctx, key1, session.Install{Incarnation: row.Incarnation, Fence: row.Fence, Kind: session.ByLogin,
		Access: secret.New(access), Refresh: secret.New(refresh), AccessTTL: 300 * time.Second, RefreshTTL: 900 * time.Second,
		Elapsed: time.Second, By: owner("a")})
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func TestRestartOfTheMachineEndsLeasesOnly(t *testing.T) {
	ctx := context.Background()
	url, key, shift := storetest.URL(t, store.SQLite), testKey(t), new(storetest.Shift)
	before := newSession(t, storetest.OpenURL(t, url), key, shift, "one")
	row := installed(t, before, "acc", "ref")
	row, won, err := before.Acquire(ctx, key1, session.Claim{Incarnation: row.Incarnation, Gen: 1, Fence: row.Fence, Owner: owner("a"), For: 15 * time.Second})
	if err != nil || !won {
		t.Fatalf("acquire: %v, %v", won, err)
	}
	after := newSession(t, storetest.OpenURL(t, url), key, shift, "two")
	row, err = after.Load(ctx, key1)
	if err != nil {
		t.Fatal(err)
	}
	if row.LeaseLeft != 0 {
		t.Errorf("a lease of %v outlived the machine's restart", row.LeaseLeft)
	}
	if row.State != session.Live || row.AccessLeft < 290*time.Second {
		t.Errorf("the pair did not survive: %s, %v left", row.State, row.AccessLeft)
	}
	if _, won, err = after.Acquire(ctx, key1, session.Claim{Incarnation: row.Incarnation, Gen: 1, Fence: row.Fence, Owner: owner("b"), For: time.Second}); err != nil || !won {
		t.Errorf("acquire after a restart: %v, %v", won, err)
	}
}

func TestDeletedRowIsAnotherSession(t *testing.T) {
	ctx := context.Background()
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		s := newSession(t, st, testKey(t), new(storetest.Shift), "")
		old := installed(t, s, "acc", "ref")
		if err := s.Log(ctx, key1, session.Event{Kind: session.EventReset}); err != nil {
			t.Fatal(err)
		}
		if err := st.Core.Exec(ctx, "DELETE FROM session"); err != nil {
			t.Fatal(err)
		}
		row, err := s.Load(ctx, key1)
		if err != nil {
			t.Fatal(err)
		}
		if row.Incarnation == old.Incarnation || row.State != session.None || row.Gen != 0 {
			t.Errorf("incarnation same: %v, state %s, gen %d", row.Incarnation == old.Incarnation, row.State, row.Gen)
		}
		if _, err := s.Install(ctx, key1, session.Install{Incarnation: old.Incarnation, Fence: old.Fence, Access: secret.New("late")}); !errors.Is(err, session.ErrFenced) {
			t.Errorf("install into another incarnation: %v", err)
		}
		if err := s.Log(ctx, key1, session.Event{Kind: session.EventReset}); err != nil {
			t.Fatal(err)
		}
		events, err := s.Events(ctx, key1, 0, 10)
		if err != nil || len(events) != 2 || events[1].Seq != 2 {
			t.Errorf("events after the row was recreated: %+v, %v", events, err)
		}
		if n, err := s.Count(ctx, key1); err != nil || n[session.EventReset] != 1 {
			t.Errorf("counts of the new incarnation: %v, %v", n, err)
		}
	})
}

// TestEnterLeavesNoLock ends the caller's context in the middle of an entry.
func TestEnterLeavesNoLock(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		s := storeSession(t, st)
		installed(t, s, "acc", "ref")
		req := limit.Request{Class: limit.Billing, Rule: limit.Rule{N: 100, Window: time.Minute}}
		for range 5 {
			ctx, cancel := context.WithCancel(context.Background())
			_, g, err := s.Enter(ctx, key1, req, func(session.Row) bool { cancel(); return true })
			if !errors.Is(err, context.Canceled) || g.Taken {
				t.Fatalf("cancelled entry: %+v, %v", g, err)
			}
			ctx, cancel = context.WithTimeout(context.Background(), time.Minute)
			if _, g, err = s.Enter(ctx, key1, req, func(session.Row) bool { return true }); err != nil || !g.Taken {
				t.Fatalf("entry after it: %+v, %v", g, err)
			}
			cancel()
		}
		if state, err := s.State(context.Background(), key1); err != nil || len(state[limit.Billing].Slots) != 5 {
			t.Errorf("%d slots, %v; want 5", len(state[limit.Billing].Slots), err)
		}
	})
}

// A sign of life is no news to the process that gave it, unless someone else
// wrote as well; to others it is.
func TestEcho(t *testing.T) {
	ctx := t.Context()
	url, key := storetest.URL(t, store.SQLite), testKey(t)
	mine, others := storetest.OpenURL(t, url), storetest.OpenURL(t, url)
	s := newSession(t, mine, key, new(storetest.Shift), "")
	if err := others.Core.Exec(ctx, "CREATE TABLE echo_test (n INTEGER)"); err != nil {
		t.Fatal(err)
	}
	stamp := func(st *store.Store) store.Version {
		at, ok := st.Version(ctx)
		if !ok {
			t.Fatal("no stamp")
		}
		return at
	}
	beat := func() {
		t.Helper()
		if err := s.Beat(ctx, key1, owner("a")); err != nil {
			t.Fatal(err)
		}
	}
	write := func() {
		t.Helper()
		if err := others.Core.Exec(ctx, "INSERT INTO echo_test VALUES (1)"); err != nil {
			t.Fatal(err)
		}
	}
	before, seen := stamp(mine), stamp(others)
	beat()
	after := stamp(mine)
	if after == before || mine.OwnWrites(before) != after {
		t.Error("the own sign of life is news")
	}
	if stamp(others) == seen || others.OwnWrites(seen) != seen {
		t.Error("another's sign of life is no news")
	}
	if mine.OwnWrites(after) != after {
		t.Error("an echo of nothing")
	}
	write()
	beat()
	if now := stamp(mine); mine.OwnWrites(after) == now {
		t.Error("a write before it is not seen")
	}
	before = stamp(mine)
	beat()
	write()
	if now := stamp(mine); mine.OwnWrites(before) == now {
		t.Error("a write behind it is not seen")
	}
}
