package presence_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"opdeck/internal/domain/presence"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/storetest"
)

// counted counts the writes to a store.
type counted struct {
	presence.Store
	writes int
	fail   error
}

func (c *counted) Put(ctx context.Context, p presence.Place) error {
	c.writes++
	if c.fail != nil {
		return c.fail
	}
	return c.Store.Put(ctx, p)
}

func TestWhoIsWhere(t *testing.T) {
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) { whoIsWhere(t, e) })
	}
}

func whoIsWhere(t *testing.T, e store.Engine) {
	ctx, now := context.Background(), time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	s := storetest.OpenAt(t, storetest.URL(t, e), clock)
	st := &counted{Store: journal.NewPresence(s.Core)}
	ana := presence.New(st, "stage", "ana", "desk1", "process", clock)
	bo := presence.New(st, "stage", "bo", "desk2", "process", clock)
	live := presence.New(st, "live", "cy", "desk3", "process", clock)
	here := func(b *presence.Presence, id string, dialog bool) {
		t.Helper()
		if err := b.Here(ctx, "operation", id, dialog); err != nil {
			t.Fatal(err)
		}
	}
	others := func(b *presence.Presence, id, want string) {
		t.Helper()
		list, err := b.Others(ctx, "operation", id)
		got := ""
		for _, p := range list {
			got += fmt.Sprintf("%s@%s since %s dialog %v;", p.Person, p.Host, p.Since.Format("15:04:05"), p.Dialog)
		}
		if err != nil || got != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	here(ana, "op-1", false)
	now = now.Add(5 * time.Second)
	here(bo, "op-1", true)
	here(live, "op-1", false)
	others(bo, "op-1", "ana@desk1 since 09:00:00 dialog false;")
	others(ana, "op-1", "bo@desk2 since 09:00:05 dialog true;")
	others(ana, "op-2", "")

	st.writes = 0
	for range 60 { // a minute of heartbeats, one a second
		now = now.Add(time.Second)
		here(ana, "op-1", false)
	}
	if st.writes != 6 {
		t.Errorf("%d writes in a minute, want 6", st.writes)
	}
	others(ana, "op-1", "") // bo gave no sign of life for 30 s
	others(bo, "op-1", "ana@desk1 since 09:00:00 dialog false;")

	here(bo, "op-1", false)
	others(ana, "op-1", "bo@desk2 since 09:01:05 dialog false;")
	st.writes = 0
	here(ana, "op-1", true) // a change is written at once
	here(ana, "op-2", true)
	if st.writes != 2 {
		t.Errorf("%d writes for two changes", st.writes)
	}
	others(bo, "op-1", "")
	others(bo, "op-2", "ana@desk1 since 09:01:05 dialog true;")
	if err := errors.Join(ana.Leave(ctx), ana.Leave(ctx)); err != nil {
		t.Fatal(err)
	}
	others(bo, "op-2", "")

	st.fail = errors.New("disk full")
	if err := ana.Here(ctx, "operation", "op-3", false); err == nil {
		t.Error("no error")
	}
	st.fail = nil
	here(ana, "op-3", false) // not taken for written
	others(bo, "op-3", "ana@desk1 since 09:01:05 dialog false;")

	now = now.Add(presence.Kept + time.Minute)
	here(bo, "op-9", false)
	var rows int
	if err := s.Core.QueryRow(ctx, "SELECT COUNT(*) FROM presence").Scan(&rows); err != nil || rows != 1 {
		t.Errorf("%d places are kept, %v", rows, err)
	}

	// A host whose clock is off sees and is seen, each by its own time of day.
	ahead := presence.New(st, "stage", "di", "desk4", "process", func() time.Time { return now.Add(40 * time.Minute) })
	now = now.Add(5 * time.Second)
	here(ahead, "op-9", false)
	others(ahead, "op-9", "bo@desk2 since 09:42:05 dialog false;")
	others(bo, "op-9", "di@desk4 since 09:02:10 dialog false;")
}

// TestConnected: open consoles are listed with their place; one on a list writes no sign of life and is listed while its
// process is alive. A console that ended is not listed.
func TestConnected(t *testing.T) {
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) {
			ctx, now := context.Background(), time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
			clock := func() time.Time { return now }
			s := storetest.OpenAt(t, storetest.URL(t, e), clock)
			st := &counted{Store: journal.NewPresence(s.Core)}
			ana, bo := presence.New(st, "stage", "ana", "desk1", "p1", clock), presence.New(st, "stage", "bo", "desk2", "p2", clock)
			crashed, other := presence.New(st, "stage", "cy", "desk3", "p3", clock), presence.New(st, "live", "di", "desk1", "p1", clock)
			for _, b := range []*presence.Presence{ana, bo, crashed, other} {
				if err := b.Here(ctx, "operations", "", false); err != nil {
					t.Fatal(err)
				}
				now = now.Add(time.Second)
			}
			lives := func(process string) bool { return process != "p3" }
			connected := func(want string) {
				t.Helper()
				list, err := presence.Connected(ctx, st, "stage", lives, clock)
				var got []string
				for _, p := range list {
					got = append(got, fmt.Sprintf("%s at %s%s since %s", p.Person, p.Object, p.ID, p.Since.Format("15:04:05")))
				}
				if err != nil || strings.Join(got, "; ") != want {
					t.Errorf("%q, %v; want %q", got, err, want)
				}
			}
			connected("ana at operations since 09:00:00; bo at operations since 09:00:01")
			writes := st.writes
			for range 60 {
				now = now.Add(time.Minute)
				if err := ana.Here(ctx, "operations", "", false); err != nil {
					t.Fatal(err)
				}
			}
			if st.writes != writes {
				t.Errorf("%d writes in an hour at a list", st.writes-writes)
			}
			if err := bo.Here(ctx, "operation", "op-1", false); err != nil {
				t.Fatal(err)
			}
			connected("ana at operations since 09:00:00; bo at operationop-1 since 10:00:04")
			if err := bo.Leave(ctx); err != nil {
				t.Fatal(err)
			}
			connected("ana at operations since 09:00:00")
		})
	}
}
