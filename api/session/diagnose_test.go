package session

import (
	"strings"
	"testing"
	"time"
)

func TestDiagnose(t *testing.T) {
	noon := time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }
	ana, bob := Owner{Host: "alpha", PID: 11}, Owner{Host: "beta", PID: 22}
	login := Event{At: at(0), Kind: EventLogin, Outcome: OK, Gen: 1, Fence: 1, Owner: ana}
	refused := func(s int, reason string) Event {
		return Event{At: at(s), Kind: EventUnauthorized, Reason: reason, Gen: 1, Age: time.Duration(s) * time.Second,
			Left: 5*time.Minute - time.Duration(s)*time.Second, Status: 401, Owner: bob}
	}
	early := refused(127, Early)
	early.Served = at(125)
	death := Event{At: at(128), Kind: EventPremature, Gen: 1, Age: 127 * time.Second, Left: 173 * time.Second, Owner: bob}
	for _, c := range []struct {
		name   string
		events []Event
		row    Row
		want   Cause
		says   []string // in sentence or evidence
		healed bool
	}{
		{name: "nothing", events: []Event{login}, want: NoCause},
		{name: "expired", events: []Event{login, refused(290, Expired)}, want: ItExpired,
			says: []string{"had expired", "4m 50s old"}},
		{name: "our own refresh", events: []Event{login, {At: at(270), Kind: EventRefresh, Outcome: OK, Gen: 2, Fence: 2,
			Owner: bob}, refused(271, OtherPair)},
			want: OurRotation, says: []string{"our own refresh at 14:04:30 UTC (beta, process 22)", "generation 2"}},
		{name: "our rotation on its way", events: []Event{login, refused(271, OnItsWay)}, want: OurRotation,
			says: []string{"during a call"}},
		{name: "young pair", events: []Event{login, refused(1, YoungPair)}, want: NotYetKnown, says: []string{"only 1s old"}},
		{name: "foreign login", events: []Event{login, early, death}, want: ForeignClient,
			says: []string{"another client logged in or refreshed at about 14:02:07", "2m 07s old", "with 2m 53s left",
				"by the service's clock that was at 14:02:05", "none of our processes"}},
		{name: "foreign login, healed", events: []Event{login, early, death,
			{At: at(129), Kind: EventLogin, Outcome: OK, Gen: 2}}, want: ForeignClient, healed: true},
		{name: "revoked, reset since", events: []Event{login, early, death,
			{At: at(130), Kind: EventBlocked, Reason: BlockRefused, Status: 401}, {At: at(140), Kind: EventReset}},
			want: RevokedPair, healed: true},
		{name: "one refused call", events: []Event{login, early}, want: OneRefusal, says: []string{"14:02:07"}},
		{name: "one route", events: []Event{login, early, {At: at(128), Kind: EventRoute, Route: "GET /x", By: "GET /y", Gen: 1}},
			want: RouteRefuses, says: []string{"GET /x", "GET /y accepted generation 1 afterwards, at 14:02:08"}},
		{name: "accepted nowhere", events: []Event{login, early, {At: at(128), Kind: EventPremature, Route: "GET /x",
			By: "GET /y", Gen: 1}}, want: NeverAccepted, says: []string{"GET /y refused it as well"}},
		{name: "shorter life", events: []Event{login, early, death}, want: ShorterLife, says: []string{"after about 2m"},
			row: Row{Premature: []Premature{{Gen: 1, Lived: 2 * time.Minute, Used: true},
				{Gen: 2, Lived: 121 * time.Second, Used: true}}}},
		{name: "clock", events: []Event{login, {At: at(100), Kind: EventClock, Took: -time.Hour, Owner: ana}, early, death},
			want: ClockJumped, says: []string{"alpha jumped by -1h 00m"}},
		{name: "rollback", events: []Event{login, {At: at(100), Kind: EventRollback, Gen: 1, Fence: 4}}, want: StoreWentBack,
			says: []string{"fence 4"}},
		{name: "password", events: []Event{{At: at(0), Kind: EventLogin, Outcome: Refused, Status: 401},
			{At: at(0), Kind: EventBlocked, Reason: BlockRefused, Status: 401, Owner: ana}},
			want: BadPassword, says: []string{"refuses the login", "401"}},
		{name: "two-factor", events: []Event{{At: at(0), Kind: EventBlocked, Reason: BlockTwoFactor, Status: 403}},
			want: TwoFactorOn, says: []string{"two-factor"}},
		{name: "revoked", events: []Event{login, early, death,
			{At: at(130), Kind: EventBlocked, Reason: BlockRefused, Status: 401}}, want: RevokedPair,
			says: []string{"revoked at about 14:02:08", "locked"}},
		{name: "refresh refused", events: []Event{login, {At: at(270), Kind: EventRefresh, Outcome: Refused, Status: 401}},
			want: ForeignClient, says: []string{"refresh token was refused at 14:04:30"}},
		{name: "lost answer", events: []Event{login, {At: at(270), Kind: EventRefresh, Outcome: Unknown,
			Detail: "no answer in time"}}, want: LostAnswer, says: []string{"no answer in time"}},
		{name: "unreachable", events: []Event{login, {At: at(270), Kind: EventRefresh, Outcome: NotSent}}, want: Unreachable},
		{name: "throttled", events: []Event{login, {At: at(270), Kind: EventRefresh, Outcome: Throttled, Status: 429}},
			want: TooMany, says: []string{"429"}},
		{name: "stood still", events: []Event{login, {At: at(270), Kind: EventRefresh, Outcome: Fenced, Owner: ana}},
			want: OurRotation, says: []string{"alpha, process 11 stopped during"}},
	} {
		v := Diagnose(c.events, c.row)
		all := v.Sentence + "\n" + strings.Join(v.Evidence, "\n")
		if v.Cause != c.want || v.Healed != c.healed || v.Over.IsZero() == c.healed {
			t.Errorf("%s: %q, healed %v: %s", c.name, v.Cause, v.Healed, all)
		}
		if c.want != NoCause && (v.At.IsZero() || v.Sentence == "" || len(v.Evidence) == 0) {
			t.Errorf("%s: the verdict has gaps: %+v", c.name, v)
		}
		for _, s := range c.says {
			if !strings.Contains(all, s) {
				t.Errorf("%s: %q is missing in\n%s", c.name, s, all)
			}
		}
	}
}
