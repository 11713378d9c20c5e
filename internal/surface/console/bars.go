package console

import (
	"context"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/ui"
)

// needs says which permission a key asks for: those that write, and those that
// take something away.
var needs = map[string]api.Permission{
	"documents.remove": api.MayDocuments, "documents.restore": api.MayDocuments, "documents.attach": api.MayDocuments,
	"documents.upload": api.MayDocuments, "documents.replace": api.MayDocuments,
	"compliance.share": api.MayCompliance, "compliance.link": api.MayCompliance, "compliance.finalize": api.MayCompliance,
	"session.refresh": api.MaySession, "session.login": api.MaySession, "session.reset": api.MaySession, "session.doctor": api.MaySession,
	"events.replay": api.MayHooks, "audit.approve": api.MayApprove, "audit.deny": api.MayApprove,
	"operations.export": api.MayExport, "audit.export": api.MayAuditOut, "events.sethooks": api.MayHooks,
}

// mayPress says why a role may not press a key; the gate decides again.
func mayPress(role api.Role) func(string) string {
	return func(name string) string {
		p, ok := needs[name]
		if !ok || role.May(p) {
			return ""
		}
		return fmt.Sprintf("Your role (%s) does not allow to %s; %s may.", role, p, api.WhoMay(p))
	}
}

// denied records that a person pressed a key that the role bars: an attempt, like
// one that the gate refused.
func denied(ctx context.Context, trail api.Auditor, who api.Actor) func(name string, at ui.Place) tea.Cmd {
	return func(name string, at ui.Place) tea.Cmd {
		p, ok := needs[name]
		if !ok || who.Role.May(p) { // the context is read-only: nobody was denied
			return nil
		}
		e := api.Event{Name: "denied", Object: "key", ID: name, Detail: string(p) + ": " + string(api.RuleRole)}
		return func() tea.Msg {
			_ = trail.Note(context.WithoutCancel(ctx), who, e) // the refusal stands without a record
			return nil
		}
	}
}
