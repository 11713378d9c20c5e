package session

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestDeadIsDead: a token that the service refused before its time has nothing
// left, in every form; a pair that is only in doubt, or a later one, has.
func TestDeadIsDead(t *testing.T) {
	noon := time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC)
	early := Event{At: noon.Add(12 * time.Second), Kind: EventUnauthorized, Reason: Early, Gen: 3, Session: "a", Status: 401}
	death := Event{At: noon.Add(13 * time.Second), Kind: EventPremature, Gen: 3, Session: "a"}
	row := Row{Incarnation: "a", Gen: 3, State: Doubtful, AccessTTL: 5 * time.Minute, AccessLeft: 4 * time.Minute}
	for name, c := range map[string]struct {
		events []Event
		change func(*Row)
		dead   bool
	}{
		"refused":             {[]Event{early, death}, func(*Row) {}, true},
		"seen by the holder":  {[]Event{death}, func(*Row) {}, true},
		"in doubt":            {[]Event{{At: noon, Kind: EventRefresh, Outcome: Unknown, Gen: 3, Session: "a"}}, func(*Row) {}, false},
		"a new pair":          {[]Event{early, death}, func(r *Row) { r.Gen, r.State = 4, Live }, false},
		"another session":     {[]Event{early, death}, func(r *Row) { r.Incarnation = "b" }, false},
		"expired in its time": {[]Event{{At: noon, Kind: EventUnauthorized, Reason: Expired, Gen: 3, Session: "a"}}, func(*Row) {}, false},
	} {
		r := row
		c.change(&r)
		at, dead := diedEarly(c.events, r)
		if dead != c.dead || dead && at.Before(noon.Add(12*time.Second)) {
			t.Errorf("%s: dead %v at %s", name, dead, at)
		}
	}
}

func TestStatusTellsTheCause(t *testing.T) {
	at := time.Date(2026, 3, 1, 14, 0, 12, 0, time.UTC)
	s := Status{State: "doubtful", AsOf: at.Add(time.Minute), Access: Lifetime{TTL: 5 * time.Minute, ExpiresAt: at, Dead: true},
		Verdict: Verdict{Culprit: ForeignClient, At: at, Sentence: "another client logged in", Evidence: []string{"e"}}}
	for _, want := range []string{`"dead_since":"2026-03-01T14:00:12Z"`, `"remaining_seconds":0`,
		`"cause":{"culprit":"foreign_client","at":"2026-03-01T14:00:12Z","sentence":"another client logged in","evidence":["e"],"over_since":null}`} {
		if b, err := json.Marshal(s); err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s is not in %s %v", want, b, err)
		}
	}
	if got := s.Cause(); got != "another client logged in" {
		t.Error(got)
	}
	s.Verdict.Healed, s.Verdict.Over = true, at.Add(30*time.Second)
	if got := s.Cause(); got != "earlier, over since 14:00:42 UTC: another client logged in" {
		t.Error(got)
	}
	s.AsOf = at.Add(48 * time.Hour)
	if got := s.Cause(); !strings.Contains(got, "over since 2026-03-01 14:00:42 UTC:") {
		t.Error(got)
	}
	if b, _ := json.Marshal(Status{}); !strings.Contains(string(b), `"cause":null`) || !strings.Contains(string(b), `"dead_since":null`) {
		t.Errorf("%s", b)
	}
}
