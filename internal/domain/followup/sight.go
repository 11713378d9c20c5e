package followup

import (
	"context"
	"slices"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/domain/audit"
)

// Saw takes operations that were read for whatever reason: what they prove is
// settled at once.
func (t *Tracker) Saw(ctx context.Context, ops []api.Operation) {
	t.proven(ctx, func(r Row) (string, bool) {
		return "", slices.ContainsFunc(ops, func(op api.Operation) bool { return endpoint.ProvenBy(r.Probe, op) })
	})
}

// Shown takes a read by another part of the program that showed what the write wanted.
func (t *Tracker) Shown(ctx context.Context, p api.Probe, s api.Observation) {
	t.proven(ctx, func(r Row) (string, bool) {
		q := r.Probe
		return s.File, q.Kind == p.Kind && q.OPID == p.OPID && q.CUID == p.CUID && q.GUID == p.GUID && q.Since.Equal(p.Since)
	})
}

// proven settles as done the rows that is says so about; file is the id of an
// uploaded file.
func (t *Tracker) proven(ctx context.Context, is func(Row) (file string, ok bool)) {
	rows, err := t.opt.Store.Rows(ctx)
	if err != nil || len(rows) == 0 {
		return // the callers that need the store report its trouble
	}
	for _, r := range rows {
		file, ok := is(r)
		if !ok || r.State == Sending && !t.dead(ctx, r.Ref) || !t.hold(r.Ref) {
			continue
		}
		if now, err := t.opt.Store.Now(ctx); err == nil {
			r.Looked = now
		}
		if err := t.settle(ctx, r,
			api.Outcome{Verdict: api.Done, Found: file, Detail: "a later read shows that it was done"}); err != nil {
			t.opt.Log.Error("a write that is proven done could not be settled", "ref", r.Ref, "err", err)
		}
		t.release(r.Ref)
	}
}

// dead reports that the process of a write has ended without an outcome.
func (t *Tracker) dead(ctx context.Context, ref string) bool {
	gone, underWay, err := t.opt.Trail.OpenIntents(ctx)
	return err == nil && underWay[ref] == 0 && slices.ContainsFunc(gone, func(e audit.Entry) bool { return e.UID == ref })
}

// ObjectChanged makes the writes on an object due now, for the first process that
// looks.
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
		_, _ = t.opt.Store.Move(ctx, r, next) // else another process is at it
		t.notify()
	}
}
