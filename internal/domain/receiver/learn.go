package receiver

import (
	"context"
	"time"

	"opdeck/api"
	"opdeck/api/hook"
)

// learnFrom bounds the events of one operation that are compared with a read.
const learnFrom = 200

// Learn compares one read of an operation, sent at that time, with the authenticated events of the same operation and
// stores what they show about the codes. It returns the number of observations.
func Learn(ctx context.Context, inbox Inbox, op api.Operation, sent time.Time) (int, error) {
	rows, err := inbox.List(ctx, Filter{Object: hook.ObjectOperation, ObjectID: string(op.OPID),
		Statuses: []Status{Verified}, Limit: learnFrom})
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	var events []hook.ReceivedEvent
	for _, s := range rows {
		if e, err := s.Event(); err == nil {
			events = append(events, hook.ReceivedEvent{Event: e, ReceivedAt: s.ReceivedAt, Bound: s.Verdict.Bound})
		}
	}
	pairs := hook.Pairs(events, hook.Read{Operation: op, At: sent})
	if len(pairs) == 0 {
		return 0, nil
	}
	return len(pairs), inbox.AddPairs(ctx, pairs)
}
