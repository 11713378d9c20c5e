package followup

import (
	"context"
	"slices"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/domain/audit"
)

// Pending lists the writes that may still arrive, oldest first, and those that were not seen in time. It omits
// writes of processes that are known to run; it includes those of dead processes and, as Unsure, those of processes
// that may still run.
func (t *Tracker) Pending(ctx context.Context) ([]Row, error) {
	gone, underWay, err := t.opt.Trail.OpenIntents(ctx)
	if err != nil {
		return nil, err
	}
	rows, _, err := t.rows(ctx)
	if err != nil {
		return nil, err
	}
	have, dead := map[string]bool{}, map[string]bool{}
	gone = slices.DeleteFunc(gone, func(e audit.Entry) bool { return underWay[e.UID] != 0 })
	for _, e := range gone {
		dead[e.UID] = true
	}
	var out []Row
	for _, r := range rows {
		have[r.Ref] = true
		open := r.State != Sending || dead[r.Ref]
		switch {
		case open:
		case underWay[r.Ref] == audit.Unmarked:
			r.Unsure, open = true, true
		case underWay[r.Ref] == 0:
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
		if is := endpoint.Of(api.ActKind(e.Event)); is != nil && is.Writes() {
			if err := t.neverSent(ctx, e); err != nil && t.opt.Trail.Unrecorded() == nil {
				return nil, err
			}
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

// neverSent closes an intent whose process ended before it stored the write, and so before it sent anything.
func (t *Tracker) neverSent(ctx context.Context, e audit.Entry) error {
	return t.opt.Trail.Outcome(ctx, e.UID, api.Outcome{Verdict: api.Failed,
		Detail: "its process ended before anything was sent"})
}

// Of lists the writes on one object, without checking for dead processes.
func (t *Tracker) Of(ctx context.Context, id string) ([]Row, error) {
	rows, err := t.opt.Store.Rows(ctx)
	return slices.DeleteFunc(rows, func(r Row) bool { return r.ID != id || r.State == Sending }), err
}

// InDoubt lists the objects of a kind with a write whose outcome is unknown, without checking for dead processes.
func (t *Tracker) InDoubt(ctx context.Context, object string) (ids []string, err error) {
	rows, err := t.opt.Store.Rows(ctx)
	for _, r := range rows {
		if r.State != Sending && r.Object == object {
			ids = append(ids, r.ID)
		}
	}
	return ids, err
}

// closed updates a row whose intent has an outcome that the row lacks, because its process ended in between. ok: that
// outcome is an unknown one.
func (t *Tracker) closed(ctx context.Context, r *Row) (ok bool, err error) {
	e, err := t.opt.Trail.Entry(ctx, r.Ref)
	if err != nil {
		return false, err
	}
	last, some, err := t.opt.Trail.LastOutcome(ctx, e)
	if err != nil || !some {
		return false, err // it was added between two reads: the next look sees it
	}
	next := *r
	switch last.Outcome {
	case audit.ResultUnknown:
		next.State = Unknown
	case audit.ResultSeen:
		next.State = Seen
	default:
		return false, t.opt.Store.Forget(ctx, r.Ref)
	}
	moved, err := t.opt.Store.Move(ctx, *r, next)
	*r = next
	return moved, err
}

// adopt adds the intent of an act on the session, which has no row: no read can show its outcome.
func (t *Tracker) adopt(ctx context.Context, e audit.Entry) (Row, error) {
	now, err := t.opt.Store.Now(ctx)
	if err != nil {
		return Row{}, err
	}
	r := ofIntent(e)
	r.Until, r.Next = e.At.Add(t.opt.LateAfter), now
	_, err = t.opt.Store.Add(ctx, r, nil)
	return r, err
}

// ofIntent is the row of an intent that has none. Nothing can be read about it.
func ofIntent(e audit.Entry) Row {
	return Row{Ref: e.UID, State: Sending, Sent: e.At,
		Write: Write{Kind: api.ActKind(e.Event), Object: e.Object, ID: e.ID, Item: e.Item,
			Name: audit.Unquote(e.Name).Line(80), Summary: audit.Unquote(e.Summary).Line(300),
			Who: audit.Unquote(e.Actor.Name).Line(80)}}
}

// Restored stores the row of an intent in a restored store that has none, and reports whether the intent is a write. It
// may have been sent after the backup was taken, so it is in doubt and holds its claim.
func Restored(ctx context.Context, st Store, e audit.Entry, taken time.Time, lateAfter time.Duration) (bool, error) {
	is := endpoint.Of(api.ActKind(e.Event))
	if e.Damaged || is == nil || !is.Writes() {
		return false, nil
	}
	now, err := st.Now(ctx)
	if err != nil {
		return false, err
	}
	r := ofIntent(e)
	r.State, r.Until, r.Next, r.Restored = Unknown, now.Add(lateAfter), now, taken
	r.Claim = endpoint.Rule(r.Kind).Claim(api.Act{Kind: r.Kind, Object: r.Object, ID: r.ID, Item: r.Item})
	holder, err := st.Add(ctx, r, nil)
	if err == nil && holder != nil { // another write in doubt holds the claim
		r.Claim = ""
		_, err = st.Add(ctx, r, nil)
	}
	return true, err
}

// claim is the claim of r among rows. A write of an opdeck without claims gets that of its request, as far as its
// intent shows the request, unless another write holds it.
func (t *Tracker) claim(ctx context.Context, r Row, rows []Row) string {
	is := endpoint.Of(r.Kind)
	if r.Claim != "" || r.State == NotSeen || is == nil || !is.Writes() {
		return r.Claim
	}
	rule, act := endpoint.Rule(r.Kind), api.Act{Kind: r.Kind, Object: r.Object, ID: r.ID, Item: r.Item}
	if rule.Opposite == "" {
		e, err := t.opt.Trail.Entry(ctx, r.Ref)
		if err != nil || e.Body != "" || e.Secret != "" { // the whole request is not known
			return ""
		}
		act.Method, act.Path = e.Method, e.Path
	}
	claim := rule.Claim(act)
	if slices.ContainsFunc(rows, func(other Row) bool { return other.Claim == claim }) {
		return ""
	}
	return claim
}
