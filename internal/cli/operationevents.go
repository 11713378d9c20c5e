package cli

import (
	"context"
	"strings"

	"opdeck/api/hook"
	"opdeck/internal/app"
	"opdeck/internal/receiver"
)

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
			h.Status = e.Status.String()
			if word, _, against := learner.Meaning(hook.FieldStatus, e.Status.Value); word != "" && against == 0 {
				h.Status += " " + string(word)
			}
		}
		out = append(out, h)
	}
	return out, nil
}

// isNumberPath reports whether a path of a change leads to an account's number.
func isNumberPath(path string) bool {
	path = strings.ToLower(path)
	return strings.HasSuffix(path, "account.number")
}
