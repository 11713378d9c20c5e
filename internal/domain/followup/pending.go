package followup

import (
	"context"
	"slices"

	"opdeck/api"
	"opdeck/internal/domain/audit"
)

// Pending lists the writes whose outcome is not known, oldest first, and those
// that were not seen in time. What is under way in living processes is left out;
// what died with its process is taken in.
func (t *Tracker) Pending(ctx context.Context) ([]Row, error) {
	gone, flying, err := t.opt.Trail.OpenIntents(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := t.opt.Store.Rows(ctx)
	if err != nil {
		return nil, err
	}
	have, dead := map[string]bool{}, map[string]bool{}
	gone = slices.DeleteFunc(gone, func(e audit.Entry) bool { return flying[e.UID] })
	for _, e := range gone {
		dead[e.UID] = true
	}
	var out []Row
	for _, r := range rows {
		have[r.Ref] = true
		open := r.State != Sending || dead[r.Ref]
		if !open && !flying[r.Ref] {
			if open, err = t.closed(ctx, &r); err != nil {
				return nil, err
			}
		}
		if open {
			out = append(out, r)
		}
	}
	for _, e := range gone {
		if have[e.UID] || e.Damaged || e.Context.BaseURL != t.opt.Context.BaseURL ||
			e.Context.Account != t.opt.Context.Account {
			continue
		}
		r, err := t.adopt(ctx, e)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// Of lists those of one object, without looking whether processes died.
func (t *Tracker) Of(ctx context.Context, id string) ([]Row, error) {
	rows, err := t.opt.Store.Rows(ctx)
	return slices.DeleteFunc(rows, func(r Row) bool { return r.ID != id || r.State == Sending }), err
}

// closed looks at a row whose intent has an outcome although the row does not
// say so: its process ended in between. ok: that outcome is an open one.
func (t *Tracker) closed(ctx context.Context, r *Row) (ok bool, err error) {
	e, err := t.opt.Trail.Entry(ctx, r.Ref)
	if err != nil {
		return false, err
	}
	last, some, err := t.opt.Trail.LastOutcome(ctx, e)
	if err != nil || !some {
		return false, err // it came between two reads: the next look sees it
	}
	if last.Outcome != audit.ResultUnknown {
		return false, t.opt.Store.Forget(ctx, r.Ref)
	}
	next := *r
	next.State = Unknown
	moved, err := t.opt.Store.Move(ctx, *r, next)
	*r = next
	return moved, err
}

// adopt takes in an intent that has no row.
func (t *Tracker) adopt(ctx context.Context, e audit.Entry) (Row, error) {
	kind := api.ActKind(e.Event)
	p := api.Probe{Kind: kind}
	switch e.Object {
	case "operation":
		p.OPID, p.GUID = e.ID, e.Item
	case "customer":
		p.CUID, p.GUID = e.ID, e.Item
	}
	if p.Kind == api.ActUploadDocument || p.Kind == api.ActSetHooks || p.Kind == api.ActSetApplication {
		p.Kind = "" // the trail does not hold what would prove them
	}
	now, err := t.opt.Store.Now(ctx)
	if err != nil {
		return Row{}, err
	}
	r := Row{Ref: e.UID, State: Sending, Sent: e.At, Next: now,
		Write: Write{Kind: kind, Object: e.Object, ID: e.ID, Item: e.Item,
			Name: audit.Unquote(e.Name).Line(80), Summary: audit.Unquote(e.Summary).Line(300),
			Who: audit.Unquote(e.Actor.Name).Line(80), Probe: p}}
	return r, t.opt.Store.Add(ctx, r)
}
