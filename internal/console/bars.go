package console

import (
	"context"
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"opdeck/api"
	"opdeck/ui/keymap"
)

// needs says which permission a key asks for: those that write, and those that
// take something away.
var needs = map[string]api.Permission{
	"documents.remove": api.MayDocuments, "documents.restore": api.MayDocuments, "documents.attach": api.MayDocuments,
	"documents.upload": api.MayDocuments, "documents.replace": api.MayDocuments,
	"compliance.share": api.MayCompliance, "compliance.link": api.MayCompliance, "compliance.finalize": api.MayCompliance,
	"session.refresh": api.MaySession, "session.login": api.MaySession, "session.reset": api.MaySession,
	"events.replay": api.MayHooks, "audit.approve": api.MayApprove, "audit.deny": api.MayApprove,
	"operations.export": api.MayExport, "audit.export": api.MayAuditOut, setHooks: api.MayHooks,
}

// setHooks is what enter does on the page of the webhook settings.
const setHooks = "events.sethooks"

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

// bars are the keys that a person's role may not press. Pressing one is an
// attempt, and is recorded like one that the gate refused.
type bars struct {
	trail api.Auditor
	who   api.Actor
	keys  []keymap.Key
}

func barsOf(trail api.Auditor, who api.Actor) bars {
	b := bars{trail: trail, who: who}
	m := keymap.New()
	open := m.List.Open
	open.Name = setHooks
	for _, k := range append(keymap.Join(m.Operations, m.Documents, m.Compliance, m.Session, m.Events, m.Audit), open) {
		if p, ok := needs[k.Name]; ok && !who.Role.May(p) && k.Name != "compliance.link" { // that one gets as far as the gate
			b.keys = append(b.keys, k)
		}
	}
	return b
}

// pressed records the attempt when msg is a barred key and the console refused it
// for that: elsewhere the same key may be another one, or a letter.
func (b bars) pressed(ctx context.Context, msg tea.KeyMsg, view func() string) tea.Cmd {
	frame := ""
	for _, k := range b.keys {
		if !k.Pressed(msg) {
			continue
		}
		if frame == "" {
			frame = ansi.Strip(view())
		}
		if !b.says(frame, k.Name) {
			continue
		}
		e := api.Event{Name: "denied", Object: "key", ID: k.Name, Detail: string(needs[k.Name]) + ": " + string(api.RuleRole)}
		return func() tea.Msg {
			_ = b.trail.Note(context.WithoutCancel(ctx), b.who, e) // the refusal stands without a record
			return nil
		}
	}
	return nil
}

// says reports whether a frame tells that the role may not press a key. The page
// of the webhook settings tells it in words of its own.
func (b bars) says(frame, name string) bool {
	what := " does not allow to " + string(needs[name])
	return strings.Contains(frame, "Your role"+what) || name != setHooks && strings.Contains(frame, "Your role ("+string(b.who.Role)+")"+what)
}
