package session

import (
	"testing"
	"time"

	"opdeck/api/secret"
)

// TestDeadIsDead: a token that the service refused before its time has nothing
// left, in every form; a pair that is only in doubt, or a later one, has.
func TestDeadIsDead(t *testing.T) {
	noon := time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC)
	early := Event{At: noon.Add(12 * time.Second), Kind: EventUnauthorized, Reason: Early, Gen: 3, Session: "a",
		Status: 401}
	death := Event{At: noon.Add(13 * time.Second), Kind: EventPremature, Gen: 3, Session: "a"}
	row := Row{Incarnation: "a", Gen: 3, State: Doubtful, AccessTTL: 5 * time.Minute, AccessLeft: 4 * time.Minute}
	for name, c := range map[string]struct {
		events []Event
		change func(*Row)
		dead   bool
	}{
		"refused":            {[]Event{early, death}, func(*Row) {}, true},
		"seen by the holder": {[]Event{death}, func(*Row) {}, true},
		"in doubt": {[]Event{{At: noon, Kind: EventRefresh, Outcome: Unknown, Gen: 3, Session: "a"}},
			func(*Row) {}, false},
		"a new pair":      {[]Event{early, death}, func(r *Row) { r.Gen, r.State = 4, Live }, false},
		"another session": {[]Event{early, death}, func(r *Row) { r.Incarnation = "b" }, false},
		"expired in its time": {[]Event{{At: noon, Kind: EventUnauthorized, Reason: Expired, Gen: 3, Session: "a"}},
			func(*Row) {}, false},
	} {
		r := row
		c.change(&r)
		at, dead := revokedAt(c.events, r)
		if dead != c.dead || dead && at.Before(noon.Add(12*time.Second)) {
			t.Errorf("%s: dead %v at %s", name, dead, at)
		}
	}
}

// TestStatusUsesOneClock: host, store and service disagree about the time. Lifetimes and history use one clock, the
// store's or the configured one.
func TestStatusUsesOneClock(t *testing.T) {
	store := time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return store.Add(time.Duration(s-60) * time.Second) }
	login := Event{At: at(0), Kind: EventLogin, Outcome: OK, Gen: 1}
	early := Event{At: at(12), Kind: EventUnauthorized, Reason: Early, Gen: 1, Served: at(12).Add(3 * time.Hour)}
	death := Event{At: at(13), Kind: EventPremature, Gen: 1}
	row := Row{Gen: 1, State: Doubtful, At: store, AccessTTL: 5 * time.Minute, AccessLeft: 4 * time.Minute,
		Age: time.Minute, Refresh: secret.New("r"), RefreshTTL: 15 * time.Minute, RefreshLeft: 14 * time.Minute}
	for name, now := range map[string]time.Time{"the store's": {}, "a given one": store.Add(-5 * time.Hour)} {
		for what, events := range map[string][]Event{
			"dead": {login, early, death},
			"blocked": {login, early, death, {At: at(14), Kind: EventBlocked, Reason: BlockRefused, Status: 401,
				Served: at(14).Add(3 * time.Hour)}},
			"not sent": {login, {At: at(20), Kind: EventLogin, Outcome: Unknown, Served: at(14).Add(3 * time.Hour)}},
			"over":     {login, early, death, {At: at(30), Kind: EventReset}},
			"our own": {login, {At: at(15), Kind: EventRefresh, Outcome: OK, Gen: 2},
				{At: at(16), Kind: EventUnauthorized, Reason: OtherPair, Gen: 1}},
			"rolled up": {login, {At: at(20), Kind: EventRollback, Gen: 1}},
		} {
			m := &Manager{clock: still(store.Add(-time.Hour)), c: Defaults()}
			want := store
			if !now.IsZero() {
				m.cfg.StatusClock = func() time.Time { return now }
				want = now
			}
			s := m.describe(row, nil, events, []Instance{{SeenAt: at(50), Started: at(0)}})
			if !s.AsOf.Equal(want) || !s.Refresh.ExpiresAt.Equal(want.Add(14*time.Minute)) ||
				!s.Seen[0].SeenAt.Equal(want.Add(-10*time.Second)) {
				t.Errorf("%s, %s: as of %s, refresh until %s, seen %s", name, what, s.AsOf, s.Refresh.ExpiresAt, s.Seen[0].SeenAt)
			}
			for i, e := range s.History {
				if !e.At.Equal(events[i].At.Add(want.Sub(store))) || !e.Served.Equal(events[i].Served) {
					t.Errorf("%s, %s: event %d at %s, served %s", name, what, i, e.At, e.Served)
				}
			}
			if what == "dead" && (!s.Access.Dead || !s.Access.ExpiresAt.Equal(s.History[1].At)) {
				t.Errorf("%s: dead %v since %s", name, s.Access.Dead, s.Access.ExpiresAt)
			}
		}
	}
}
