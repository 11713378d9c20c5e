package verdict

import (
	"strings"
	"testing"
	"time"

	"opdeck/api/reach"
	"opdeck/api/session"
)

func TestExplain(t *testing.T) {
	noon := time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }
	ana, bob := session.Owner{Host: "alpha", PID: 11}, session.Owner{Host: "beta", PID: 22}
	login := session.Event{At: at(0), Kind: session.EventLogin, Outcome: session.OK, Gen: 1, Fence: 1, Owner: ana}
	refused := func(s int, reason string) session.Event {
		return session.Event{At: at(s), Kind: session.EventUnauthorized, Reason: reason, Gen: 1, Age: time.Duration(s) * time.Second,
			Left: 5*time.Minute - time.Duration(s)*time.Second, Status: 401, Owner: bob}
	}
	early := refused(127, session.Early)
	early.Served = at(125)
	death := session.Event{At: at(128), Kind: session.EventPremature, Gen: 1, Age: 127 * time.Second, Left: 173 * time.Second, Owner: bob}
	for _, c := range []struct {
		name   string
		events []session.Event
		life   time.Duration // the age at which pairs end
		want   PastCause
		says   []string // in sentence or evidence
		healed bool
		silent string // is not said
	}{
		{name: "nothing", events: []session.Event{login}, want: NoPast},
		{name: "expired", events: []session.Event{login, refused(290, session.Expired)}, want: ItExpired,
			says: []string{"had expired", "4m 50s old"}},
		{name: "our own refresh", events: []session.Event{login, {At: at(270), Kind: session.EventRefresh, Outcome: session.OK, Gen: 2, Fence: 2,
			Owner: bob}, refused(271, session.OtherPair)},
			want: OurRotation, says: []string{"our own refresh at 14:04:30 UTC (beta, process 22)", "generation 2"}},
		{name: "our rotation on its way", events: []session.Event{login, refused(271, session.OnItsWay)}, want: OurRotation,
			says: []string{"during a call"}},
		{name: "young pair", events: []session.Event{login, refused(1, session.YoungPair)}, want: NotYetKnown, says: []string{"only 1s old"}},
		{name: "foreign login", events: []session.Event{login, early, death}, want: ForeignClient,
			says: []string{"our tokens were revoked at about 14:02:07", "another client logged in or refreshed, or the service ended them", "2m 07s old", "with 2m 53s left",
				"by the service's clock that was at 14:02:05", "none of our processes"}},
		{name: "a copy of the folder", events: []session.Event{{At: at(-60), Kind: session.EventRollback, Reason: string(session.Copied)},
			login, early, death}, want: StateCopied, says: []string{"is a copy of another one"}},
		{name: "foreign login, healed", events: []session.Event{login, early, death,
			{At: at(129), Kind: session.EventLogin, Outcome: session.OK, Gen: 2}}, want: ForeignClient, healed: true},
		{name: "one refused call", events: []session.Event{login, early}, want: OneRefusal, says: []string{"14:02:07"}},
		{name: "one route", events: []session.Event{login, early, {At: at(128), Kind: session.EventRoute, Route: "GET /x", By: "GET /y", Gen: 1}},
			want: RouteRefuses, says: []string{"GET /x", "GET /y accepted generation 1 after this route had refused it, at 14:02:08"}},
		{name: "accepted nowhere", events: []session.Event{login, early, {At: at(128), Kind: session.EventPremature, Route: "GET /x",
			By: "GET /y", Gen: 1}}, want: NeverAccepted, says: []string{"GET /y refused it as well"}},
		{name: "shorter life", events: []session.Event{login, early, death}, want: ShorterLife, says: []string{"after about 2m"},
			life: 2 * time.Minute},
		{name: "clock", events: []session.Event{login, {At: at(100), Kind: session.EventClock, Took: -time.Hour, Owner: ana}, early, death},
			want: ClockJumped, says: []string{"alpha jumped by -1h 00m"}},
		{name: "rollback", events: []session.Event{login, {At: at(100), Kind: session.EventRollback, Gen: 1, Fence: 4}}, want: StoreWentBack,
			says: []string{"fence 4"}},
		{name: "the pair came later", events: []session.Event{{At: at(200), Kind: session.EventLogin, Outcome: session.OK, Gen: 1}, early, death},
			want: OneRefusal, says: []string{"does not know what ended them", "they came later"}},
		{name: "the clock was set back", events: []session.Event{login, {At: at(4000), Kind: session.EventPremature, Gen: 1}},
			want: OneRefusal, says: []string{"the store's clock was set back"}},
		{name: "password", events: []session.Event{{At: at(0), Kind: session.EventLogin, Outcome: session.Refused, Status: 401},
			{At: at(0), Kind: session.EventBlocked, Reason: session.BlockRefused, Status: 401, Owner: ana}},
			want: RotationFails, says: []string{"a login failed: HTTP status 401"}},
		{name: "two-factor", events: []session.Event{{At: at(0), Kind: session.EventBlocked, Reason: session.BlockTwoFactor, Status: 403,
			Fault: reach.Fault{Class: reach.TwoFactor}}}, want: RotationFails, says: []string{"two-factor"}},
		{name: "refresh refused", events: []session.Event{login, {At: at(270), Kind: session.EventRefresh, Outcome: session.Refused, Status: 401,
			Fault: reach.Fault{Class: reach.Refused, Said: "Token revoked"}}}, want: RotationFails,
			says: []string{"Token revoked", "another client logged in or refreshed before, or the service ended"}},
		{name: "no refresh route", events: []session.Event{login, {At: at(270), Kind: session.EventRefresh, Outcome: session.Refused, Status: 404,
			Fault: reach.Fault{Class: reach.NoRoute, Status: 404}}}, want: RotationFails,
			says: []string{"a refresh failed: no such address, HTTP status 404"}, silent: "another client"},
		{name: "lost answer", events: []session.Event{login, {At: at(270), Kind: session.EventRefresh, Outcome: session.Unknown,
			Detail: "no answer in time"}}, want: RotationFails, says: []string{"no answer in time"}},
		{name: "throttled", events: []session.Event{login, {At: at(270), Kind: session.EventRefresh, Outcome: session.Throttled, Status: 429}},
			want: RotationFails, says: []string{"429"}},
		{name: "no budget", events: []session.Event{login, {At: at(270), Kind: session.EventRefresh, Outcome: session.NoSlot}}, want: TooMany},
		{name: "no budget after a failure", events: []session.Event{login, {At: at(270), Kind: session.EventRefresh, Outcome: session.NotSent,
			Fault: reach.Fault{Class: reach.NoName}}, {At: at(271), Kind: session.EventLogin, Outcome: session.NoSlot}},
			want: RotationFails, says: []string{"the host name cannot be looked up"}},
		{name: "stood still", events: []session.Event{login, {At: at(270), Kind: session.EventRefresh, Outcome: session.Fenced, Owner: ana}},
			want: OurRotation, says: []string{"alpha, process 11 stopped during"}},
	} {
		v := Explain(session.Status{History: c.events, EndsAfter: c.life, AsOf: at(3600)})
		all := v.Sentence + "\n" + strings.Join(v.Evidence, "\n")
		if v.Cause != c.want || v.Over.IsZero() == c.healed {
			t.Errorf("%s: %q, over %s: %s", c.name, v.Cause, v.Over, all)
		}
		if c.want != NoPast && (v.At.IsZero() || v.Sentence == "" || len(v.Evidence) == 0) {
			t.Errorf("%s: the verdict has gaps: %+v", c.name, v)
		}
		if c.silent != "" && strings.Contains(all, c.silent) {
			t.Errorf("%s: says %q: %s", c.name, c.silent, all)
		}
		for _, s := range c.says {
			if !strings.Contains(all, s) {
				t.Errorf("%s: %q is missing in\n%s", c.name, s, all)
			}
		}
	}
}
