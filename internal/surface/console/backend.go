package console

import (
	"opdeck/internal/app"
	"opdeck/ui"
	"opdeck/views/approvals"
	"opdeck/views/audittrail"
	"opdeck/views/balances"
	"opdeck/views/compliance"
	"opdeck/views/counterparties"
	"opdeck/views/customerfiles"
	"opdeck/views/documents"
	"opdeck/views/events"
	"opdeck/views/history"
	"opdeck/views/limits"
	"opdeck/views/oncall"
	"opdeck/views/operation"
	"opdeck/views/operations"
	"opdeck/views/sessions"
	"opdeck/views/tariffs"
)

// backend is the data source of the screens: the parts of the App under the names that the screens declare.
type backend struct {
	*app.App
	feed    *feed
	shared  *Shared // nil: the only console of its process
	files   hostFiles
	choices choices
}

// screen returns the screen of a place.
func (d *backend) screen(env *ui.Env, p ui.Place) ui.Screen {
	switch p.Kind {
	case ui.KindOperations:
		return operations.New(env, d.shared.rowsFor(listing{d.Index, d.Now}), d.Client, d.listConfig(env), p.Arg)
	case ui.KindOperation:
		return operation.NewScreen(env, d.Client, d.known(), d.Index.History, d.Notes, p.ID)
	case ui.KindDocuments:
		return documents.NewScreen(env, d.Client, documents.Parts{Known: d.known(), Host: d.files, Jobs: d.Jobs,
			Unfinished: d.UnfinishedJobs, Types: d.Index.DocumentTypes, Open: d.Follow.Of}, p.ID)
	case ui.KindCompliance:
		if p.ID == "" {
			return compliance.NewCustomers(env, d.Client, d.Journeys.Store.UnfinishedJourneys, p.Arg)
		}
		return compliance.New(env, compliance.Parts{Journeys: d.Journeys, Notes: d.Notes,
			Names: (&finder{backend: d}).otherNames}, p.ID)
	case ui.KindLimits:
		return limits.NewScreen(env, d.Limits.Usage, d.Config.Limits.Policy)
	case ui.KindSession:
		return sessions.New(env, d.session())
	case ui.KindEvents:
		return events.New(env, d.Hooks().Inbox(), deliveries{d.App}, d.Client,
			events.Config{Listen: d.Hooks().At(), Verify: d.Config.Webhooks.Verify}, p.Arg)
	case ui.KindOnCall:
		return oncall.New(env, d.Follow.Pending, sessions.New(env, d.session()),
			limits.NewScreen(env, d.Limits.Usage, d.Config.Limits.Policy))
	case ui.KindAudit:
		return audittrail.New(env, d.Trail(), p.Arg)
	case balances.Kind:
		return balances.New(env, d.Client, p.ID, p.Arg)
	case counterparties.Kind:
		return counterparties.New(env, d.Client, p.ID, p.Arg)
	case tariffs.KindLimits:
		return tariffs.NewLimits(env, d.Client, p.Arg)
	case tariffs.KindCommissions:
		return tariffs.NewCommissions(env, d.Client, p.Arg)
	case customerfiles.Kind:
		return customerfiles.New(env, d.Client, d.files, (&finder{backend: d}).owner, p.ID, p.Arg)
	case approvals.Kind:
		return approvals.New(env, d.Approvals, p.ID)
	case history.Kind:
		return history.New(env, d.Index, history.Past{Webhooks: d.Hooks().Of, Writes: d.Trail().DocumentWrites,
			Notes: d.Notes.OnOperation}, p.ID)
	}
	return nil
}

// commands are palette entries that no screen has.
func (d *backend) commands() []ui.Command {
	out := []ui.Command{{Title: "approvals", About: "writes waiting for a second person",
		Words: []string{"approval list", "approval show"}, Do: ui.Open{Place: ui.Place{Kind: approvals.Kind}}}}
	if begun := d.feed.people.begun.Load(); begun != nil {
		out = append(out, *begun...)
	}
	return out
}

// known is the index's knowledge of operations.
func (d *backend) known() ui.Known {
	return ui.Known{Get: d.Known, MaxAge: d.Config.Index.MaxAge.D(), Phase: d.Client.Phase}
}
