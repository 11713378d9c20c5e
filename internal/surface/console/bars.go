package console

import (
	"context"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/act"
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
			return err.Public + " " + err.Hint
		}
		if !a.Offered(role) {
			return fmt.Sprintf("Your role (%s) is not offered this; %s are.", role, act.RoleNames(a.Roles))
		}
		return ""
	}
}

// denied records that a person pressed a key that the role bars: an attempt, like
// one that the gate refused.
func denied(ctx context.Context, trail api.Auditor, who api.Actor) func(name string, at ui.Place) tea.Cmd {
	return func(name string, at ui.Place) tea.Cmd {
		a, ok := act.Find(name)
		if !ok || a.Refusal(who.Role, false) == nil { // the context is read-only: nobody was denied
			return nil
		}
		e := api.Event{Name: "denied", Object: "key", ID: name, Detail: string(a.Need) + ": " + string(api.RuleRole)}
		return func() tea.Msg {
			_ = trail.Note(context.WithoutCancel(ctx), who, e) // the refusal stands without a record
			return nil
		}
	}
}
