package console

import (
	"context"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/act"
	"opdeck/internal/act/remedy"
	"opdeck/ui"
	"opdeck/ui/keymap"
)

// mayPress returns why a role may not press the key of an act; the gate checks again.
func mayPress(role api.Role) func(keymap.Key) string {
	return func(k keymap.Key) string {
		a := k.Act
		if a == nil {
			return ""
		}
		if err := a.Refusal(role, false); err != nil {
			return err.Public + " " + remedy.Screen(err)
		}
		if !a.Offered(role) {
			return fmt.Sprintf("Your role (%s) cannot do this; %s can.", role, act.RoleNames(a.Roles))
		}
		return ""
	}
}

// denied records that a person pressed a key that read-only mode or the role disables, like an attempt by command.
func denied(ctx context.Context, trail api.Auditor, who api.Actor,
	readOnly bool) func(a *act.Act, at ui.Place) tea.Cmd {
	return func(a *act.Act, at ui.Place) tea.Cmd {
		rule, what := api.RuleRole, string(a.Need)
		if err := a.Refusal(who.Role, readOnly); err != nil {
			rule = err.Rule
		}
		if rule == api.RuleReadOnly {
			what = a.Name
		}
		e := api.Event{Name: "denied", Object: "key", ID: a.Name, Detail: what + ": " + string(rule)}
		return func() tea.Msg {
			_ = trail.Note(context.WithoutCancel(ctx), who, e) // the refusal holds without a record
			return nil
		}
	}
}
