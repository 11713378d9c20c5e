package index

import (
	"context"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/evidence"
	"opdeck/api/redact"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/mask"
)

// The index's API for people: a person who may not reveal account numbers gets masked answers and finds nothing by
// masked values. The program itself uses the store.

// refused reads the documents that the service refused to remove.
func (x *Index) refused(ctx context.Context) api.RefusedLocks {
	if x.RefusedLocks == nil {
		return nil
	}
	return x.RefusedLocks(ctx)
}

// record is r for the person in ctx, in this host's time.
func (x *Index) record(ctx context.Context, r Record, by time.Duration, refused api.RefusedLocks) Record {
	r.Op.Documents = refused.In(r.Op)
	r.Seen, r.Changed, r.Gone = x.local(r.Seen, by), x.local(r.Changed, by), x.local(r.Gone, by)
	if r.Origin == Hook {
		r.Op = named(r.Op)
	}
	return mask.For(ctx, r)
}

// Get returns one operation, even if it is gone, and notes the evidence for that; ErrNone if it is not in the index.
func (x *Index) Get(ctx context.Context, opid string) (Record, error) {
	r, err := x.store.Get(ctx, opid)
	if err != nil {
		return Record{}, err
	}
	if !r.Gone.IsZero() {
		now, err := x.store.Now(ctx)
		if err != nil {
			return Record{}, err
		}
		why, need := r.gone(opid, now)
		why, holds := why.Held(need, "not known to be gone")
		if evidence.Note(ctx, why); !holds {
			r.Gone = time.Time{}
		}
	}
	by, err := x.shift(ctx)
	return x.record(ctx, r, by, x.refused(ctx)), err
}

// Window reads the rows around a position in the list.
func (x *Index) Window(ctx context.Context, q Query, now time.Time) (Window, error) {
	f, err := asked(ctx, x, q.Filter)
	if err != nil {
		return Window{AnchorAt: -1}, err
	}
	q.Filter = f
	by, err := x.shift(ctx)
	if err != nil {
		return Window{AnchorAt: -1}, err
	}
	w, err := x.store.Window(ctx, q, now)
	refused := x.refused(ctx)
	for i, r := range w.Rows {
		w.Rows[i] = x.record(ctx, r, by, refused)
	}
	return w, err
}

// Each calls fn for every row in order, from a list that is frozen before the first call.
func (x *Index) Each(ctx context.Context, f filter.OperationExpr, s Sort, now time.Time,
	fn func(total int, r Record) error) error {
	by, err := x.shift(ctx)
	if err != nil {
		return err
	}
	if f, err = asked(ctx, x, f); err != nil {
		return err
	}
	refused := x.refused(ctx)
	return x.store.Each(ctx, f, s, now, func(total int, r Record) error {
		return fn(total, x.record(ctx, r, by, refused))
	})
}

// Count counts the rows that match the filter.
func (x *Index) Count(ctx context.Context, f filter.OperationExpr, now time.Time) (int64, error) {
	f, err := asked(ctx, x, f)
	if err != nil {
		return 0, err
	}
	return x.store.Count(ctx, f, now)
}

// Place returns the position of an operation in a list.
func (x *Index) Place(ctx context.Context, f filter.OperationExpr, s Sort, opid string, now time.Time) (Place, error) {
	f, err := asked(ctx, x, f)
	if err != nil {
		return Place{}, err
	}
	return x.store.Place(ctx, f, s, opid, now)
}

// Totals sums and counts the matching rows, divided by the groupings.
func (x *Index) Totals(ctx context.Context, f filter.OperationExpr, by []By, limit int, now time.Time) (Group, error) {
	f, err := asked(ctx, x, f)
	if err != nil {
		return Group{}, err
	}
	all, err := x.store.Totals(ctx, f, by, limit, now)
	return mask.For(ctx, all), err
}

// Timeline counts the matching rows by time of creation.
func (x *Index) Timeline(ctx context.Context, f filter.OperationExpr, now time.Time) (Timeline, error) {
	f, err := asked(ctx, x, f)
	if err != nil {
		return Timeline{}, err
	}
	return x.store.Timeline(ctx, f, now)
}

// History returns the states of an operation, oldest first, ending with the current one.
func (x *Index) History(ctx context.Context, opid string) ([]State, error) {
	by, err := x.shift(ctx)
	if err != nil {
		return nil, err
	}
	states, err := x.store.History(ctx, opid)
	for i := range states {
		states[i].At = x.local(states[i].At, by)
		if states[i].Origin == Hook {
			states[i].Op = named(states[i].Op)
		}
		if states[i].Gone && states[i].Current { // the note of what shows it
			if _, err := x.Get(ctx, opid); err != nil {
				return nil, err
			}
		}
	}
	return mask.For(ctx, states), err
}

// Values lists values of a field that contain what was typed, without those that would be masked.
func (x *Index) Values(ctx context.Context, field, typed string, limit int) ([]string, error) {
	if !mask.Needed(ctx) {
		return x.store.Values(ctx, field, typed, limit)
	}
	all, err := x.store.Values(ctx, field, typed, 8*limit) // more, since omitted values must not show in a short list
	var out []string
	for _, v := range all {
		if len(out) < limit && !redact.Changes(v) && !strings.Contains(v, redact.Dot) {
			out = append(out, v)
		}
	}
	return out, err
}

// MarkSeen records that a person has seen the operation ("" for the list).
func (x *Index) MarkSeen(ctx context.Context, person, opid string, at time.Time) error {
	by, err := x.shift(ctx)
	if err != nil {
		return err
	}
	return x.store.MarkSeen(ctx, person, opid, at.Add(-by))
}

// LastSeen is the time of MarkSeen; zero for never.
func (x *Index) LastSeen(ctx context.Context, person, opid string) (time.Time, error) {
	at, err := x.store.LastSeen(ctx, person, opid)
	if err != nil || at.IsZero() {
		return at, err
	}
	by, err := x.shift(ctx)
	return at.Add(by), err
}
