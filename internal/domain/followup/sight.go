package followup

import (
	"context"
	"slices"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/evidence"
	"opdeck/internal/domain/audit"
)

// Saw takes operations that were read for any reason, one by one; ago is the time since the request. It records at
// once what they show. A read that was requested before a write was sent shows nothing about it.
func (t *Tracker) Saw(ctx context.Context, ops []api.Operation, ago time.Duration) {
	t.shown(ctx, ago, func(r Row, at evidence.Moment) (s api.Observation) {
		for _, op := range ops {
			if e, made, shown := endpoint.SeenIn(r.Probe, op, at); shown {
				return api.Observation{Shown: true, File: made, Evidence: e}
			}
		}
		return s
	})
}

// Listed takes operations of a page. A list proves no outcome; if it shows the wanted state of a write, the write is
// looked at now.
func (t *Tracker) Listed(ctx context.Context, ops []api.Operation) {
	rows, _, _ := t.rows(ctx)
	for _, r := range rows {
		if slices.ContainsFunc(ops, func(op api.Operation) bool {
			_, _, shown := endpoint.SeenIn(r.Probe, op, evidence.Moment{})
			return shown
		}) {
			t.ObjectChanged(ctx, r.ID)
		}
	}
}

// Shown takes a read by another part of the program that showed the state wanted by a write.
func (t *Tracker) Shown(ctx context.Context, p api.Probe, s api.Observation) {
	t.shown(ctx, 0, func(r Row, at evidence.Moment) api.Observation {
		if p.Ref != r.Ref {
			return api.Observation{}
		}
		s.Evidence.Seen = at
		return s
	})
}

// shown records the wanted state of the rows for which is returns Shown. at is when the data that is judges was
// requested, by the store's clock.
func (t *Tracker) shown(ctx context.Context, ago time.Duration, is func(r Row, at evidence.Moment) api.Observation) {
	rows, now, err := t.rows(ctx)
	if err != nil {
		return // callers that need the store report the error
	}
	for _, r := range rows {
		s := is(r, evidence.Moment{At: now.Add(-ago), By: evidence.Store})
		if !s.Shown || r.State == Seen || s.Evidence.Flaw(r.need(now)) != evidence.Sound ||
			r.State == Sending && !t.dead(ctx, r.Ref) || !t.hold(r.Ref) {
			continue
		}
		r.Looked = now
		if err := t.settle(ctx, r, r.seen(s, r.State == NotSeen)); err != nil {
			t.opt.Log.Error("what a read shows of a write could not be recorded", "ref", r.Ref, "err", err)
		}
		t.release(r.Ref)
	}
}

// need is what evidence must fulfil to prove the write; now is the store's time.
func (r Row) need(now time.Time) evidence.Need {
	return evidence.Need{After: []evidence.Moment{{At: r.Sent, By: evidence.Store}},
		Now: evidence.Moment{At: now, By: evidence.Store}}
}

// seen is the outcome of a write whose wanted state an observation shows. over: the request is not expected to arrive
// any more.
func (r Row) seen(s api.Observation, over bool) api.Outcome {
	out := api.Outcome{Verdict: api.Seen, Found: s.File, Why: evidence.Conclusion{Kind: evidence.Act, Read: true,
		Says: endpoint.Rule(r.Kind).Past, Object: r.ID, Rests: []evidence.Evidence{s.Evidence}}}
	if over {
		out.Detail = "the request had no answer and is no longer expected; a read shows the wanted state"
		return out
	}
	out.Why.Open = api.MayArrive(r.Until)
	out.Detail = "a later read shows the wanted state; " + out.Why.Open
	return out
}

// dead reports whether the process of a write has ended without an outcome.
func (t *Tracker) dead(ctx context.Context, ref string) bool {
	gone, underWay, err := t.opt.Trail.OpenIntents(ctx)
	return err == nil && underWay[ref] == 0 && slices.ContainsFunc(gone, func(e audit.Entry) bool { return e.UID == ref })
}

// ObjectChanged makes the writes on an object due now, in any process.
func (t *Tracker) ObjectChanged(ctx context.Context, id string) {
	rows, err := t.opt.Store.Rows(ctx)
	if err != nil || len(rows) == 0 {
		return
	}
	now, err := t.opt.Store.Now(ctx)
	for _, r := range rows {
		if err != nil || r.ID != id || r.State != Unknown || !endpoint.Readable(r.Probe) {
			continue
		}
		next := r
		next.Next = now
		_, _ = t.opt.Store.Move(ctx, r, next) // else another process handles it
		t.notify()
	}
}
