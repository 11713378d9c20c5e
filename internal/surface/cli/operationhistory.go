package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"opdeck/api/endpoint"
	"opdeck/internal/app"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/note"
	"opdeck/internal/present"
)

// allValues bounds the changes that a command prints with values.
const allValues = 1000

// happened is one entry of an operation's timeline.
type happened struct {
	At      time.Time    `json:"at"`
	Kind    string       `json:"kind"`   // "state", "event", "note", or "gone": the service no longer had it
	Source  string       `json:"source"` // list, read, webhook, note
	Status  string       `json:"status"`
	HookID  string       `json:"hook_id,omitempty"`
	Trust   string       `json:"trust,omitempty"` // of an event: verified, unverified, …
	Changes []changeJSON `json:"changes,omitempty"`
	Note    *note.Note   `json:"note,omitempty"`
}

type changeJSON struct {
	Path   string `json:"path"`
	Before string `json:"before"`
	After  string `json:"after"`
	By     string `json:"by,omitempty"` // who changed this document through opdeck
}

func operationHistoryCommand(r *root) *cobra.Command {
	return printsList(r, &cobra.Command{Long: "Merges the states that were read, who changed documents, the " +
		"webhooks that came, and colleagues' notes, oldest first;\n" +
		"\"gone\" marks when the service no longer had it. opdeck reads an operation once if the\n" +
		"index does not hold it yet. Names come from the audit trail if your role may read it."},
		func(ctx context.Context, a *app.App, args []string, out listOf[happened]) error {
			states, err := a.Index.History(ctx, args[0])
			var unread error
			if errors.Is(err, index.ErrNone) || err == nil && len(states) == 0 {
				states, err = nil, nil
				if _, unread = endpoint.Do(ctx, a.Client, endpoint.GetOperation, args[0]); unread == nil {
					states, err = a.Index.History(ctx, args[0])
				}
			}
			if err != nil {
				return err
			}
			all, err := timelineOf(ctx, a, args[0], states)
			line := make([]happened, len(all))
			for i, m := range all {
				line[i] = happenedAt(m)
			}
			switch {
			case err != nil:
				return err
			case unread != nil && len(line) == 0:
				return unread
			case unread != nil:
				r.say("It could not be read: %s The rest comes from webhooks.", asError(unread).Public)
			}
			columns := present.Named(present.MomentColumns(allValues), "at", "what", "from", "status", "changes")
			return out.print(line, line, listed(r.options(ctx, a), columns, all))
		})
}

// timelineOf is the timeline of an operation, as on its history screen.
func timelineOf(ctx context.Context, a *app.App, opid string, states []index.State) ([]present.Moment, error) {
	hooks, err := a.Hooks().Of(ctx, opid)
	if err != nil {
		return nil, err
	}
	var cuid string
	if len(states) > 0 {
		cuid = string(states[len(states)-1].Op.Customer.CUID)
	}
	notes, err := a.Notes.OnOperation(ctx, opid, cuid)
	if err != nil {
		return nil, err
	}
	line := present.Timeline(states, hooks, nil, notes)
	if !present.DocumentsChanged(line) {
		return line, nil
	}
	writes, _ := a.Trail().DocumentWrites(ctx, opid) // no names if the trail cannot be read: opdeck audit list says why
	return present.Timeline(states, hooks, writes, notes), nil
}

// happenedAt converts an entry to JSON.
func happenedAt(m present.Moment) happened {
	out := happened{At: m.At.UTC(), Kind: string(m.Kind), Source: m.From, Status: string(m.Status),
		HookID: m.Webhook.Key, Trust: m.Webhook.Trust}
	if m.Kind == present.NoteMoment {
		out.Note = &m.Note
	}
	for _, c := range m.Changes {
		out.Changes = append(out.Changes, changeJSON{c.Path, string(c.Before), string(c.After), m.By(c)})
	}
	return out
}
