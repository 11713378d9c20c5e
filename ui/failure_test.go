package ui_test

import (
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/ui"
)

// TestFailureNamesTheBoundKeys: what a person presses next is named as it is bound, not as it was declared.
func TestFailureNamesTheBoundKeys(t *testing.T) {
	w := newWorld()
	o := w.options(ui.Test)
	o.Keys = map[string]string{"approval.list": "&"}
	r := w.start(t, o)
	f := w.top()
	f.extra = func(m tea.Msg) (ui.Action, tea.Cmd, bool) {
		p, ok := m.(actionMsg)
		return p.a, nil, ok
	}
	for rule, want := range map[api.Rule]string{api.RuleApproval: "with 8, then &.", "": "8 lists writes with an"} {
		e := &api.Error{Kind: api.Refused, Rule: rule, Public: "A sentence."}
		if rule == "" {
			e.Kind = api.UnknownOutcome
		}
		r.Send(actionMsg{f.env.Ticket(), ui.Failure("Removing", e)})
		r.Has(want)
	}
}

func TestFailureSaysWhatIsKnown(t *testing.T) {
	for kind, title := range map[api.Kind]string{api.UnknownOutcome: "Removing: unknown outcome", api.Refused: "Removing refused", api.Internal: "Removing failed"} {
		e := ui.Failure("Removing", &api.Error{Kind: kind, Public: "A sentence.", Hint: "A hint.", RequestID: "r-1\x1b[2J"})
		lines := strings.Join(e.Lines, " ")
		if e.Title != title || lines != "A sentence. A hint." || len(e.Facts) != 1 || strings.Contains(e.Facts[0].Value, "\x1b") {
			t.Errorf("%v: %+v", kind, e)
		}
	}
}

func TestWhatWaitsForASecondPersonDidNotFail(t *testing.T) {
	e := ui.Failure("Removing", &api.Error{Kind: api.Refused, Rule: api.RuleApproval, Public: "A second person must approve this.", Hint: "Ask a colleague."})
	if e.Title != "Removing needs a second person" || !strings.HasSuffix(strings.Join(e.Lines, " "), "Ask a colleague.") {
		t.Errorf("%+v", e)
	}
}
