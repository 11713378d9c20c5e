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

// Saw takes operations that were read for any reason, one by one; ago is the time since the request. It settles at
// once what they prove. A request before a write was sent proves nothing about it.
func (t *Tracker) Saw(ctx context.Context, ops []api.Operation, ago time.Duration) {
	t.proven(ctx, ago, func(r Row, at evidence.Moment) (s api.Observation) {
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
	t.proven(ctx, 0, func(r Row, at evidence.Moment) api.Observation {
		if p.Ref != r.Ref {
			return api.Observation{}
		}
		s.Evidence.Seen = at
		return s
	})
}

// proven settles as done the rows for which is returns Shown. at is when the data that is judges was requested, by
// the store's clock.
func (t *Tracker) proven(ctx context.Context, ago time.Duration, is func(r Row, at evidence.Moment) api.Observation) {
	rows, now, err := t.rows(ctx)
	if err != nil {
		return // callers that need the store report the error
	}
	for _, r := range rows {
		s := is(r, evidence.Moment{At: now.Add(-ago), By: evidence.Store})
		if !s.Shown || s.Evidence.Flaw(r.need(now)) != evidence.Sound ||
			r.State == Sending && !t.dead(ctx, r.Ref) || !t.hold(r.Ref) {
			continue
		}
		r.Looked = now
		if err := t.settle(ctx, r, r.done(s)); err != nil {
			t.opt.Log.Error("a write that is proven done could not be settled", "ref", r.Ref, "err", err)
		}
		t.release(r.Ref)
	}
}

// need is what evidence must fulfil to prove the write; now is the store's time.
func (r Row) need(now time.Time) evidence.Need {
	return evidence.Need{After: []evidence.Moment{{At: r.Sent, By: evidence.Store}},
		Now: evidence.Moment{At: now, By: evidence.Store}}
}

// done is the outcome of a write proven by an observation.
func (r Row) done(s api.Observation) api.Outcome {
	return api.Outcome{Verdict: api.Done, Found: s.File, Detail: "confirmed by a later read",
		Why: evidence.Conclusion{Kind: evidence.Act, Says: endpoint.Rule(r.Kind).Past, Object: r.ID,
			Rests: []evidence.Evidence{s.Evidence}}}
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
