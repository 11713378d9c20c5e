package app

import (
	"context"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/present"
)

// maxOfOne bounds the deliveries or records that are read about one operation.
const maxOfOne = 1000

// Of lists the deliveries about an operation, newest first.
func (h Hooks) Of(ctx context.Context, opid string) ([]present.Webhook, error) {
	list, err := h.Inbox().List(ctx, receiver.Filter{Object: hook.ObjectOperation, ObjectID: opid, Limit: maxOfOne})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	meanings, err := h.Meanings(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]present.Webhook, len(list))
	for i, s := range list {
		out[i] = present.WebhookOf(s, meanings)
	}
	return out, nil
}

// DocumentWrites lists the completed writes to an operation's documents; none for a person who may not read the audit
// trail. The read is recorded.
func (t Trail) DocumentWrites(ctx context.Context, opid string) ([]present.Write, error) {
	if !api.ActorOf(ctx).Role.May(api.MayAudit) {
		return nil, nil
	}
	page, err := t.Find(ctx, audit.Query{Object: "operation", ID: opid, Event: "document.*", Limit: maxOfOne})
	done := map[string]bool{} // by the intent's id
	for _, e := range page.Entries {
		if e.Phase == audit.PhaseOutcome && e.Outcome == audit.ResultOK && !e.Damaged {
			done[e.Ref] = true
		}
	}
	var out []present.Write
	for _, e := range page.Entries {
		if done[e.UID] && !e.Damaged {
			out = append(out, present.Write{Who: e.Actor.Name, Act: api.ActKind(e.Event), Item: e.Item, At: e.At})
		}
	}
	return out, err
}
