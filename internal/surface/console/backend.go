package console

import (
	"context"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
	"opdeck/internal/act/remedy"
	"opdeck/internal/app"
	"opdeck/internal/domain/followup"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/journey"
	"opdeck/internal/domain/replace"
	"opdeck/ui"
	"opdeck/ui/theme"
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

// backend is what the screens ask: the parts of the App under the names that each
// screen declares.
type backend struct {
	*app.App
	*app.Client
	feed   *feed
	shared *Shared // nil: this console is alone

	opener   *opener // nil: noOpener says why
	noOpener string

	choices choices
}

// screen makes the screen of a place.
func (d *backend) screen(env *ui.Env, p ui.Place) ui.Screen {
	switch p.Kind {
	case ui.KindOperations:
		return operations.New(env, d.shared.rowsFor(listing{d.Index, d.Now}), d, d.listConfig(env), p.Arg)
	case ui.KindOperation:
		return operation.NewScreen(env, d, p.ID)
	case ui.KindDocuments:
		return documents.NewScreen(env, d, p.ID)
	case ui.KindCompliance:
		if p.ID == "" {
			return compliance.NewCustomers(env, d, p.Arg)
		}
		return compliance.New(env, d, p.ID)
	case ui.KindLimits:
		return limits.NewScreen(env, d, d.Config.Limits.Policy)
	case ui.KindSession:
		return sessions.New(env, d)
	case ui.KindEvents:
		return d.events(env, p.Arg, false)
	case ui.KindOnCall:
		return oncall.New(env, d, sessions.New(env, d), limits.NewScreen(env, d, d.Config.Limits.Policy), d.events(env, "", true))
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
		return customerfiles.New(env, d, p.ID, p.Arg)
	case approvals.Kind:
		return approvals.New(env, d.Approvals, p.ID)
	case history.Kind:
		return history.New(env, d.Index, d, p.ID)
	}
	return nil
}

// events are the webhooks; part: on the page of who is on call.
func (d *backend) events(env *ui.Env, start string, part bool) *events.Screen {
	return events.New(env, d.Inbox(), d, events.Config{Listen: d.HooksAt(), Verify: d.Config.Webhooks.Verify, Part: part}, start)
}

// commands are those of the palette that no screen offers.
func (d *backend) commands() []ui.Command {
	out := []ui.Command{{Title: "approvals", About: "writes that wait for a second person", Words: []string{"approval list"}, Do: ui.Open{Place: ui.Place{Kind: approvals.Kind}}}}
	if begun := d.feed.people.begun.Load(); begun != nil {
		out = append(out, *begun...)
	}
	return out
}

// noFiles says why files of this host are out of reach, "" when they are not:
// over SSH they are the server's, not the person's.
func noFiles(ctx context.Context) string {
	if api.ActorOf(ctx).Via == "ssh" {
		return "Files would be the server's, not yours; use the command over SSH, with - for the file."
	}
	return ""
}

func refuseFiles(ctx context.Context, op string) error {
	if why := noFiles(ctx); why != "" {
		return api.Refusal(op, api.RuleFile, "%s", why)
	}
	return nil
}

// MaxAge is how old what is known locally may be before it is read again.
func (d *backend) MaxAge() time.Duration { return d.Config.Index.MaxAge.D() }

// History returns the states of an operation that are known here.
func (d *backend) History(ctx context.Context, opid string) ([]index.State, error) {
	return d.Index.History(ctx, opid)
}

// DocumentTypes lists the types of documents that the index has seen.
func (d *backend) DocumentTypes(ctx context.Context) ([]untrusted.Text, error) {
	return d.Index.DocumentTypes(ctx)
}

// Freshness is how complete and how old the index is.
func (d *backend) Freshness(ctx context.Context) (index.Freshness, error) {
	return d.Index.Freshness(ctx)
}

// PendingWrites lists the writes whose outcome is not known.
func (d *backend) PendingWrites(ctx context.Context) ([]followup.Row, error) {
	return d.Follow.Pending(ctx)
}

// Upload reads a file of this host and puts it into the customer's store.
func (d *backend) Upload(ctx context.Context, cuid, path, kind, info string) (api.CustomerFile, error) {
	if err := refuseFiles(ctx, "upload document"); err != nil {
		return api.CustomerFile{}, err
	}
	u, err := app.ReadUpload(path)
	if err != nil {
		return api.CustomerFile{}, err
	}
	u.CUID, u.Type, u.Info = cuid, kind, info
	return d.Client.UploadDocument(ctx, u)
}

// NoFiles says why files of this host are out of reach, "" when they are not.
func (d *backend) NoFiles(ctx context.Context) string { return noFiles(ctx) }

// SaveDocument writes a customer's document to a file of this host.
func (d *backend) SaveDocument(ctx context.Context, cuid, id, path string, over bool) (string, error) {
	if err := refuseFiles(ctx, "save document"); err != nil {
		return "", err
	}
	return d.App.SaveDocument(ctx, cuid, id, path, over)
}

// Replace plans a replacement and runs it.
func (d *backend) Replace(ctx context.Context, op api.Operation, guid, path, kind, info string, force bool) (replace.Job, error) {
	if err := refuseFiles(ctx, "replace document"); err != nil {
		return replace.Job{}, err
	}
	u, err := app.ReadUpload(path)
	if err != nil {
		return replace.Job{}, err
	}
	u.CUID, u.Type, u.Info = string(op.Customer.CUID), kind, info
	j, err := d.Jobs.Plan(ctx, op, guid, u, force)
	if err != nil {
		return j, err
	}
	return d.Jobs.Run(ctx, j)
}

// Resume goes on with a job.
func (d *backend) Resume(ctx context.Context, id string) (replace.Job, error) {
	return d.withJob(ctx, id, d.Jobs.Run)
}

// Abandon gives a job up.
func (d *backend) Abandon(ctx context.Context, id string) (replace.Job, error) {
	return d.withJob(ctx, id, d.Jobs.Abandon)
}

// Again sends once more what a job sent and was not seen in time.
func (d *backend) Again(ctx context.Context, id string) (replace.Job, error) {
	return d.withJob(ctx, id, d.Jobs.Again)
}

// Use takes a file of the customer as the one that a job uploaded.
func (d *backend) Use(ctx context.Context, id, file string) (replace.Job, error) {
	return d.withJob(ctx, id, func(ctx context.Context, j replace.Job) (replace.Job, error) { return d.Jobs.Use(ctx, j, file) })
}

// withJob does something with a job as it stands in the store.
func (d *backend) withJob(ctx context.Context, id string, do func(context.Context, replace.Job) (replace.Job, error)) (replace.Job, error) {
	j, err := d.Jobs.Store.Job(ctx, id)
	if err != nil {
		return j, err
	}
	return do(ctx, j)
}

// OpenWrites lists the writes to an operation whose outcome is not known.
func (d *backend) OpenWrites(ctx context.Context, opid string) ([]followup.Row, error) {
	return d.Follow.Of(ctx, opid)
}

// Unfinished lists the jobs of an operation that stand still.
func (d *backend) Unfinished(ctx context.Context, opid string) ([]replace.Job, error) {
	return d.UnfinishedJobs(ctx, opid)
}

// Journey reads a customer's way through verification.
func (d *backend) Journey(ctx context.Context, cuid string) (journey.Journey, error) {
	j, err := d.Journeys.Read(ctx, cuid)
	if err == nil {
		j.Named = (&finder{backend: d}).otherNames(ctx, j.Customer, cuid)
	}
	return j, err
}

// UnfinishedJourneys lists what was begun and not finalised.
func (d *backend) UnfinishedJourneys(ctx context.Context) ([]journey.Record, error) {
	return d.Journeys.Store.UnfinishedJourneys(ctx)
}

// Share presents a token and keeps what came of it.
func (d *backend) Share(ctx context.Context, cuid string, token secret.Value) (api.ShareResult, error) {
	return d.Journeys.Share(ctx, cuid, token)
}

// Link makes a link and keeps when it ends.
func (d *backend) Link(ctx context.Context, cuid string) (api.Link, error) {
	return d.Journeys.Link(ctx, cuid)
}

// Finalize submits the application and keeps that it was done.
func (d *backend) Finalize(ctx context.Context, cuid string) (api.Result, error) {
	return d.Journeys.Finalize(ctx, cuid)
}

// Doctor looks at every step between this program and its service.
func (d *backend) Doctor(ctx context.Context) []sessions.Finding {
	if err := api.Need(ctx, "doctor", api.MaySession); err != nil {
		e := api.AsError(err)
		return []sessions.Finding{{Tone: theme.Bad, Name: "doctor", Text: e.Public + " " + remedy.Screen(e)}}
	}
	tones := map[app.Health]theme.Tone{app.Healthy: theme.Good, app.Warned: theme.Warn, app.Failed: theme.Bad, app.Skipped: theme.Dim}
	words := map[app.Health]string{app.Healthy: "ok", app.Warned: "look", app.Failed: "failed", app.Skipped: "skipped"}
	var out []sessions.Finding
	app.Doctor(ctx, app.Options{Version: d.Version, Now: d.Now}, d.App, app.Shallow, func(f app.Finding) {
		text := words[f.Health] + ": " + f.Text
		if f.Hint != "" {
			text = strings.TrimRight(text, ".") + ". " + f.Hint
		}
		out = append(out, sessions.Finding{Tone: tones[f.Health], Name: f.Name, Text: untrusted.Text(text).Line(400)})
	})
	return out
}
