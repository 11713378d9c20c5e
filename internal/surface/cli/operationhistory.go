package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"opdeck/api"
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

func (r *root) operationHistory() *cobra.Command {
	return lists(&cobra.Command{Use: "history OPID", Short: "Its timeline: what was read and which events came, with what changed", Args: cobra.ExactArgs(1),
		Long: "Merges the states that were read and the webhooks that came, oldest first; \"gone\" is when the\n" +
			"service was first known not to have it any more. An operation that the index does not hold yet\n" +
			"is read once.",
		RunE: r.do(func(ctx context.Context, a *app.App, args []string) error {
			if err := api.Need(ctx, "operation history", api.MayRead); err != nil {
				return err
			}
			states, err := a.Index.History(ctx, args[0])
			var unread error
			if errors.Is(err, index.ErrNone) || err == nil && len(states) == 0 {
				if _, unread = a.Client.Operation(ctx, args[0]); unread == nil {
					states, err = a.Index.History(ctx, args[0])
				} else {
					states, err = nil, nil
				}
			}
			if err != nil {
				return err
			}
			line, err := r.timeline(ctx, a, args[0], states)
			switch {
			case err != nil:
				return err
			case unread != nil && len(line) == 0:
				return unread
			case unread != nil:
				r.say("It could not be read: %s What follows is what webhooks told.", asError(unread).Public)
			}
			return r.printTimeline(line)
		})})
}

func (r *root) timeline(ctx context.Context, a *app.App, opid string, states []index.State) ([]happened, error) {
	line := []happened{}
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
	events, err := r.eventsOf(ctx, a, opid)
	if err != nil {
		return nil, err
	}
	line = append(line, events...)
	slices.SortStableFunc(line, func(a, b happened) int { return a.At.Compare(b.At) })
	return line, nil
}

func (r *root) printTimeline(line []happened) error {
	t := &table{head: []string{"AT", "WHAT", "FROM", "STATUS", "CHANGES"}}
	for _, h := range line {
		text := h.HookID + " " + h.Trust
		if h.Kind != "event" {
			text = ""
		}
		for i := range h.Changes {
			c := &h.Changes[i]
			if r.masked && field.Operations.MayHide(c.Path) {
				c.Before, c.After = "••••", "••••"
			}
			if text != "" {
				text += "; "
			}
			text += fmt.Sprintf("%s: %s → %s", field.PathLabel(c.Path), cmp.Or(c.Before, "nothing"), cmp.Or(c.After, "nothing"))
		}
		t.add(h.At.Format("2006-01-02 15:04:05.000"), h.Kind, h.Source, oneLine(h.Status), oneLine(text))
	}
	return r.list(t, line, toAny(line))
}

// eventsOf are the webhooks about one operation, as lines of its timeline.
func (r *root) eventsOf(ctx context.Context, a *app.App, opid string) ([]happened, error) {
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
