package cli

import (
	"strings"
	"testing"
	"time"

	"opdeck/api/reach"
	"opdeck/api/session"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/domain/verdict/verdicttest"
)

// TestCheckResult: the verdict decides; the time left counts only if it was asked for.
func TestCheckResult(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	life := func(left time.Duration) session.Lifetime {
		return session.Lifetime{TTL: 5 * time.Minute, Remaining: left}
	}
	good := verdicttest.Live()
	renewed := verdicttest.Live() // the tokens ran out unused, and the last login worked
	renewed.Session = verdicttest.Now(verdict.Session{State: "live"})
	renewed.Attempts = []verdict.Fact[verdict.Attempt]{verdicttest.Now(verdict.Attempt{Kind: "login", OK: true,
		At: verdicttest.Noon.Add(-time.Hour)})}
	down := verdicttest.Call(reach.Fault{Class: reach.NoPort})
	locked := verdicttest.Login(reach.Fault{Class: reach.Locked, Said: "locked | ask"})
	nothing := verdicttest.Base()
	for _, c := range []struct {
		s     session.Status
		facts verdict.Facts
		timed bool
		code  int
		say   string
	}{
		{session.Status{State: "live", Access: life(4 * time.Minute)}, good, true, nagiosOK,
			"live, access token has 240s of 300s left | access=240s;60:;15:;0;300"},
		{session.Status{State: "live", Access: life(20 * time.Second)}, good, false, nagiosOK, ""},
		{session.Status{State: "live", Access: life(-time.Second)}, renewed, false, nagiosOK, "access token has 0s"},
		{session.Status{State: "live", Access: life(time.Minute)}, good, true, nagiosOK, ""},
		{session.Status{State: "live", Access: life(59 * time.Second)}, good, true, nagiosWarning, ""},
		{session.Status{State: "live", Access: life(14 * time.Second)}, good, true, nagiosCritical, ""},
		{session.Status{State: "rotating", Access: life(0)}, good, true, nagiosWarning, "rotating"},
		{session.Status{State: "none"}, nothing, false, nagiosCritical, "no session"},
		{session.Status{State: "doubtful", Access: session.Lifetime{TTL: 5 * time.Minute, ExpiresAt: noon, Dead: true}}, nothing,
			false, nagiosWarning,
			"the tokens were revoked at 2026-03-01 12:00:00 UTC; the next call logs in | access=0s;"},
		{session.Status{State: "live", Access: life(4 * time.Minute)}, down, false, nagiosCritical,
			"stage.example.com refuses connections. Since 11:59:40 UTC."},
		{session.Status{State: "blocked"}, locked, false, nagiosCritical, `It says: "locked / ask". Since 11:59:20 UTC.`},
	} {
		code, what := checkResult(c.s, verdict.Conclude(c.facts), c.timed, time.Minute, 15*time.Second)
		if code != c.code || !strings.Contains(what, c.say) {
			t.Errorf("%+v: %d %q, want %d %q", c.s, code, what, c.code, c.say)
		}
	}
}
