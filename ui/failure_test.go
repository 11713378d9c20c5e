package ui_test

import (
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/ui"
)

func TestFailureSaysWhatIsKnown(t *testing.T) {
	for kind, title := range map[api.Kind]string{api.UnknownOutcome: "Removing: unknown outcome", api.Refused: "Removing refused", api.Internal: "Removing failed"} {
		e := ui.Failure("Removing", &api.Error{Kind: kind, Public: "A sentence.", Hint: "A hint.", RequestID: "r-1\x1b[2J"})
		lines := strings.TrimSuffix(strings.Join(e.Lines, " "), " A notice appears when the outcome is known; 8 lists writes with an unknown outcome.")
		if e.Title != title || lines != "A sentence. A hint." || len(e.Facts) != 1 || strings.Contains(e.Facts[0].Value, "\x1b") {
			t.Errorf("%v: %+v", kind, e)
		}
	}
}

func TestWhatWaitsForASecondPersonDidNotFail(t *testing.T) {
	e := ui.Failure("Removing", &api.Error{Kind: api.Refused, Rule: api.RuleApproval, Public: "A second person must approve this.", Hint: "Ask a colleague."})
	if e.Title != "Removing needs a second person" || !strings.HasSuffix(strings.Join(e.Lines, " "), "Ask a colleague. They find it in the console with 8, then Q.") {
		t.Errorf("%+v", e)
	}
}
