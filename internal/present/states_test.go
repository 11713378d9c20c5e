package present

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

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
	for _, words := range StatusWords() {
		for _, w := range words {
			show(&b, as.status(untrusted.Text(w)))
		}
	}
	golden.RequireEqual(t, b.String())
}

// TestOneStepIsNext: the first open step is next, and none where an answer was lost or the customer has the link.
func TestOneStepIsNext(t *testing.T) {
	steps := []journey.Step{{Key: "share", State: journey.Done}, {Key: "outstanding", State: journey.Todo},
		{Key: "link", State: journey.Todo}, {Key: "finalize", State: journey.Todo}}
	next := func(r journey.Record) (out []int) {
		for _, s := range JourneySteps(journey.Journey{Steps: steps, Record: r}) {
			if s.Word == "next" {
				out = append(out, s.Number)
			}
		}
		return out
	}
	if got := next(journey.Record{}); len(got) != 1 || got[0] != 3 {
		t.Errorf("next are %v", got)
	}
	for _, r := range []journey.Record{{Unclear: true}, {FinalizeUnclear: true}, {LinkAt: noon}} {
		if got := next(r); got != nil {
			t.Errorf("%+v: next are %v", r, got)
		}
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
