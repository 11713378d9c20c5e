package console

import (
	"context"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/act"
	"opdeck/internal/act/remedy"
	"opdeck/ui"
)

// mayPress says why a role may not press a key; the gate decides again. Keys that
// are no acts are everybody's.
func mayPress(role api.Role) func(string) string {
	return func(name string) string {
		a, ok := act.Find(name)
		if !ok {
			return ""
		}
		if err := a.Refusal(role, false); err != nil {
			return err.Public + " " + remedy.Screen(err)
		}
		if !a.Offered(role) {
			return fmt.Sprintf("Your role (%s) is not offered this; %s are.", role, act.RoleNames(a.Roles))
		}
		return ""
	}
}

// denied records that a person pressed a key that read-only mode or the role bars: an
// attempt, recorded as one by command is.
func denied(ctx context.Context, trail api.Auditor, who api.Actor, readOnly bool) func(name string, at ui.Place) tea.Cmd {
	return func(name string, at ui.Place) tea.Cmd {
		a, ok := act.Find(name)
		if !ok {
			return nil
		}
		rule, what := api.RuleRole, string(a.Need)
		if err := a.Refusal(who.Role, readOnly); err != nil {
			rule = err.Rule
		}
		if rule == api.RuleReadOnly {
			what = a.Name
		}
		e := api.Event{Name: "denied", Object: "key", ID: name, Detail: what + ": " + string(rule)}
		return func() tea.Msg {
			_ = trail.Note(context.WithoutCancel(ctx), who, e) // the refusal stands without a record
			return nil
		}
	}
}
