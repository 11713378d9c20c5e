package present

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"opdeck/api"
	"opdeck/api/session"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/journey"
	"opdeck/internal/domain/replace"
)

// TestStates: each state that a record can have, its sign, its tone, and what it means.
func TestStates(t *testing.T) {
	var b strings.Builder
	line := func(of string, m Mark, means string) {
		fmt.Fprintf(&b, "%s: %s%s  %s\n", of, m.Cell(as).Text, toned(m.Tone), means)
	}
	for _, s := range []approval.State{approval.Open, approval.Approved, approval.Denied, approval.Lapsed, approval.Spent,
		approval.Void} {
		m, means := RequestState(Options{}, approval.Request{State: s, Expires: noon})
		line("request", m, means)
	}
	m, means := RequestState(as, approval.Request{State: approval.Open, Expires: noon})
	line("request, too late", m, means)
	for _, key := range []string{"share", "outstanding"} {
		for _, s := range []journey.State{journey.Done, journey.Todo, journey.Optional, journey.Blocked, journey.Unclear} {
			line(key+" "+string(s), stepMark(journey.Step{Key: key, State: s}), "")
		}
	}
	for _, r := range []audit.Result{audit.ResultOK, audit.ResultDenied, audit.ResultFailed, audit.ResultUnknown, audit.ResultNotSeen} {
		line("audit "+string(r), AuditOutcome(audit.Entry{Record: audit.Record{Outcome: r}}), "")
	}
	for _, s := range []replace.Step{replace.Planned, replace.Removing, replace.Removed, replace.Uploading, replace.Uploaded,
		replace.Attaching, replace.Abandoning, "later"} {
		fmt.Fprintf(&b, "job %s: %s\n", s, JobStep(replace.Job{Step: s}))
	}
	fmt.Fprintf(&b, "job refused: %s\n", JobStep(replace.Job{Step: replace.Planned, Refused: true}))
	for _, words := range StatusWords() {
		for _, w := range words {
			show(&b, as.status(untrusted.Text(w)))
		}
	}
	golden.RequireEqual(t, b.String())
}

// TestOneStepIsNext: the step that the next act does is next; none is where nobody here has to act.
func TestOneStepIsNext(t *testing.T) {
	moderated := api.Application{Status: "MODERATION"}
	for name, c := range map[string]struct {
		app  api.Application
		r    journey.Record
		want string
	}{
		"new":                {r: journey.Record{}, want: "Share"},
		"applied":            {r: journey.Record{Applied: true, Outstanding: []string{}}, want: "Finalize"},
		"open sets":          {r: journey.Record{Applied: true, Outstanding: []string{"A"}}, want: "Link"},
		"sets not known":     {r: journey.Record{Applied: true}, want: "Link"},
		"link":               {r: journey.Record{Applied: true, LinkAt: noon, LinkUntil: noon.Add(time.Hour)}},
		"link, not timed":    {r: journey.Record{Applied: true, LinkAt: noon.Add(-time.Hour)}, want: "Finalize"},
		"link expired":       {r: journey.Record{Applied: true, LinkAt: noon.Add(-time.Hour), LinkUntil: noon.Add(-time.Minute)}, want: "Finalize"},
		"share unclear":      {r: journey.Record{Unclear: true}},
		"finalize unclear":   {r: journey.Record{FinalizeUnclear: true}},
		"finalized":          {r: journey.Record{FinalizedAt: noon, Outstanding: []string{}}},
		"finalized, open":    {r: journey.Record{FinalizedAt: noon, Applied: true, Outstanding: []string{"A"}}, want: "Link"},
		"submitted, unasked": {app: moderated},
	} {
		t.Run(name, func(t *testing.T) {
			j := journey.Journey{Application: c.app, Record: c.r}
			j.Steps, j.Next = journey.Steps(j.Customer, j.Application, j.Record, noon)
			var next []string
			for _, s := range JourneySteps(j) {
				if s.Sign == SignNext {
					next = append(next, s.Name)
				}
			}
			if got := strings.Join(next, " "); got != c.want {
				t.Errorf("next is %q, want %q: %s", got, c.want, j.Next.Text)
			}
		})
	}
}

// TestALifeRunsDown: what is left of a token is said by the clock, and nothing is left of a dead one.
func TestALifeRunsDown(t *testing.T) {
	end := noon.Add(150e9)
	for want, l := range map[string]session.Lifetime{
		"2m 30s of 5m left, until 12:02:30 UTC": {TTL: 300e9, ExpiresAt: end}, "none": {},
		"expired at 11:59:00 UTC": {TTL: 300e9, ExpiresAt: noon.Add(-60e9)},
		"revoked at 11:59:00 UTC": {TTL: 300e9, ExpiresAt: noon.Add(-60e9), Dead: true},
	} {
		if got := SessionLives(as, session.Status{Access: l})[0].Line(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := SessionLives(Options{Now: noon}, session.Status{Access: session.Lifetime{TTL: 300e9, ExpiresAt: end}})[0].Line(); got !=
		"2m 30s of 5m left, until 2026-03-02 12:02:30 UTC" {
		t.Errorf("commands print %q", got)
	}
}
