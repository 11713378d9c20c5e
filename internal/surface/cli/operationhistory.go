package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opdeck/api/hook"
	"opdeck/api/untrusted"
	"opdeck/internal/app"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/field"
)

// happened is one line of an operation's timeline.
type happened struct {
	At      time.Time    `json:"at"`
	Kind    string       `json:"kind"`   // "state", "event", or "gone": from here on the service did not have it
	Source  string       `json:"source"` // list, read, webhook
	Status  string       `json:"status"`
	HookID  string       `json:"hook_id,omitempty"`
	Trust   string       `json:"trust,omitempty"` // of an event: verified, unverified, …
	Changes []changeJSON `json:"changes,omitempty"`
}

type changeJSON struct {
	Path   string `json:"path"`
	Before string `json:"before"`
	After  string `json:"after"`
}

func operationHistoryCommand(r *root) *cobra.Command {
	return printsList(r, &cobra.Command{Long: "Merges the states that were read and the webhooks that came, oldest first; \"gone\" is when the\n" +
		"service was first known not to have it any more. An operation that the index does not hold yet\n" +
		"is read once."},
		func(ctx context.Context, a *app.App, args []string, out listOf[happened]) error {
			states, err := a.Index.History(ctx, args[0])
			var unread error
			if errors.Is(err, index.ErrNone) || err == nil && len(states) == 0 {
				states, err = nil, nil
				if _, unread = a.Client.Operation(ctx, args[0]); unread == nil {
					states, err = a.Index.History(ctx, args[0])
				}
			}
			if err != nil {
				return err
			}
			line, err := timelineOf(r, ctx, a, args[0], states)
			switch {
			case err != nil:
				return err
			case unread != nil && len(line) == 0:
				return unread
			case unread != nil:
				r.say("It could not be read: %s What follows is what webhooks told.", asError(unread).Public)
			}
			return out.print(line, line, rows("AT|WHAT|FROM|STATUS|CHANGES", line, func(h happened) []any {
				return []any{h.At.Format("2006-01-02 15:04:05.000"), h.Kind, h.Source, h.Status, h.changes()}
			}))
		})
}

// changes is what became known then, in one line.
func (h happened) changes() string {
	var out []string
	if h.Kind == "event" {
		out = append(out, h.HookID+" "+h.Trust)
	}
	for _, c := range h.Changes {
		out = append(out, fmt.Sprintf("%s: %s → %s", field.PathLabel(c.Path), cmp.Or(c.Before, "nothing"), cmp.Or(c.After, "nothing")))
	}
	return strings.Join(out, "; ")
}

func timelineOf(r *root, ctx context.Context, a *app.App, opid string, states []index.State) ([]happened, error) {
	var line []happened
	for i, s := range states {
		h := happened{At: s.At.UTC(), Kind: "state", Source: s.Origin.String(), Status: string(s.Op.Status)}
		if s.Gone {
			h.Kind, h.Status = "gone", ""
		} else if i > 0 {
			for _, c := range index.Diff(states[i-1].Op, s.Op) {
				h.Changes = append(h.Changes, changeJSON{c.Path, string(c.Before), string(c.After)})
			}
		}
		line = append(line, h)
	}
	events, err := eventsOf(r, ctx, a, opid)
	if err != nil {
		return nil, err
	}
	line = append(line, events...)
	slices.SortStableFunc(line, func(a, b happened) int { return a.At.Compare(b.At) })
	return line, nil
}

// eventsOf are the webhooks about one operation, as lines of its timeline.
func eventsOf(r *root, ctx context.Context, a *app.App, opid string) ([]happened, error) {
	events, err := a.Inbox().List(ctx, receiver.Filter{Object: hook.ObjectOperation, ObjectID: opid, Limit: 1000})
	if err != nil || len(events) == 0 {
		return nil, err
	}
	learner, err := a.Learner(ctx)
	if err != nil {
		return nil, err
	}
	var out []happened
	for _, s := range events {
		h := happened{At: s.ReceivedAt.UTC(), Kind: "event", Source: "webhook", HookID: s.Key, Trust: string(s.Status)}
		if e, err := s.Event(); err == nil && e.Status.Given {
			h.Status = codeText(e.Status, learner)
		}
		out = append(out, h)
	}
	return out, nil
}

// codeText is a status code with the word that was learnt for it, or said to be
// unlisted where nothing is known or something speaks against it.
func codeText(c hook.Code, learner interface {
	Meaning(f hook.Field, code int64) (word untrusted.Text, evidence, against int)
}) string {
	if word, _, against := learner.Meaning(hook.FieldStatus, c.Value); word != "" && against == 0 {
		return strconv.FormatInt(c.Value, 10) + " " + string(word)
	}
	return c.String()
}
