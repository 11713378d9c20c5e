package cli

import (
	"strings"
	"testing"
	"time"

	"opdeck/api/session"
)

func TestCheckResult(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	life := func(left time.Duration) session.Lifetime {
		return session.Lifetime{TTL: 5 * time.Minute, Remaining: left}
	}
	for _, c := range []struct {
		s    session.Status
		code int
		say  string
	}{
		{session.Status{State: "live", Access: life(4 * time.Minute)}, nagiosOK,
			"live, access token has 240s of 300s left | access=240s;60:;15:;0;300"},
		{session.Status{State: "live", Access: life(time.Minute)}, nagiosOK, ""},
		{session.Status{State: "live", Access: life(59 * time.Second)}, nagiosWarning, ""},
		{session.Status{State: "live", Access: life(15 * time.Second)}, nagiosWarning, ""},
		{session.Status{State: "live", Access: life(14 * time.Second)}, nagiosCritical, ""},
		{session.Status{State: "live", Access: life(-time.Second)}, nagiosCritical, "access token has 0s"},
		{session.Status{State: "live", Access: life(4 * time.Minute), Warning: "another client"}, nagiosWarning,
			"; another client"},
		{session.Status{State: "rotating", Access: life(0)}, nagiosWarning, "rotating"},
		{session.Status{State: "none"}, nagiosCritical, "no session"},
		{session.Status{State: "doubtful", Access: life(4 * time.Minute)}, nagiosCritical, "not known"},
		{session.Status{State: "doubtful", Access: session.Lifetime{TTL: 5 * time.Minute, ExpiresAt: noon, Dead: true},
			Verdict: session.Verdict{Sentence: "another client | logged in"}}, nagiosCritical,
			"the tokens are revoked; the next call logs in; access token revoked at 2026-03-01 12:00:00 UTC; cause: another " +
				"client / logged in | access=0s;"},
		{session.Status{State: "live", Access: life(4 * time.Minute),
			Verdict: session.Verdict{Sentence: "another client logged in", Healed: true}}, nagiosOK,
			"240s of 300s left | access"},
		{session.Status{State: "blocked", Warning: "two-factor"}, nagiosCritical, "logins are blocked; two-factor"},
	} {
		code, what := checkResult(c.s, time.Minute, 15*time.Second)
		if code != c.code || !strings.Contains(what, c.say) {
			t.Errorf("%+v: %d %q, want %d %q", c.s, code, what, c.code, c.say)
		}
	}
}
