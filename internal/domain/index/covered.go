package index

import (
	"context"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/mask"
)

// What people ask goes through here. Somebody whose role may not reveal account
// numbers, or nobody, finds nothing by what the mask hides; such a role also gets
// rows masked, the program itself (nobody) as they came. Get, Put and Owed are
// for the program, which merges states.

func covers(ctx context.Context) bool { return !api.ActorOf(ctx).Role.May(api.MayReveal) }

func masks(ctx context.Context) bool { return api.ActorOf(ctx).Role != "" && covers(ctx) }

func cover(ctx context.Context, f filter.OperationExpr) filter.OperationExpr {
	if covers(ctx) {
		return f.Covered()
	}
	return f
}

// shown is a record as the person may see it, in this host's time.
func (x *Index) shown(ctx context.Context, r Record, by time.Duration) Record {
	if masks(ctx) {
		r.Op = mask.Operation(r.Op)
	}
	r.Seen, r.Changed, r.Gone = x.here(r.Seen, by), x.here(r.Changed, by), x.here(r.Gone, by)
	return r
}

// Get returns one operation, as it came; also one that is gone.
func (x *Index) Get(ctx context.Context, opid string) (Record, error) {
	r, err := x.Store.Get(ctx, opid)
	if err != nil {
		return r, err
	}
	by, err := x.shift(ctx)
	r.Seen, r.Changed, r.Gone = x.here(r.Seen, by), x.here(r.Changed, by), x.here(r.Gone, by)
	return r, err
}

// Window reads the rows around a place in the list.
func (x *Index) Window(ctx context.Context, q Query, now time.Time) (Window, error) {
	q.Filter = cover(ctx, q.Filter)
	by, err := x.shift(ctx)
	if err != nil {
		return Window{AnchorAt: -1}, err
	}
	w, err := x.Store.Window(ctx, q, now)
	for i, r := range w.Rows {
		w.Rows[i] = x.shown(ctx, r, by)
	}
	return w, err
}

// Each calls fn for every row in order, from a list that is frozen before the
// first call.
func (x *Index) Each(ctx context.Context, f filter.OperationExpr, s Sort, now time.Time, fn func(total int, r Record) error) error {
	by, err := x.shift(ctx)
	if err != nil {
		return err
	}
	return x.Store.Each(ctx, cover(ctx, f), s, now, func(total int, r Record) error { return fn(total, x.shown(ctx, r, by)) })
}

// Targets is such a list's identifiers, at most limit.
func (x *Index) Targets(ctx context.Context, f filter.OperationExpr, s Sort, limit int, now time.Time) ([]string, error) {
	return x.Store.Targets(ctx, cover(ctx, f), s, limit, now)
}

// Count counts the rows that the filter lets through.
func (x *Index) Count(ctx context.Context, f filter.OperationExpr, now time.Time) (int64, error) {
	return x.Store.Count(ctx, cover(ctx, f), now)
}

// Place tells where an operation stands in a list.
func (x *Index) Place(ctx context.Context, f filter.OperationExpr, s Sort, opid string, now time.Time) (Place, error) {
	return x.Store.Place(ctx, cover(ctx, f), s, opid, now)
}

// Totals sums the amounts that the filter lets through, by currency.
func (x *Index) Totals(ctx context.Context, f filter.OperationExpr, now time.Time) ([]Sum, error) {
	return x.Store.Totals(ctx, cover(ctx, f), now)
}

// Groups returns the largest groups first, days the newest first.
func (x *Index) Groups(ctx context.Context, f filter.OperationExpr, by By, limit int, now time.Time) ([]Group, error) {
	groups, err := x.Store.Groups(ctx, cover(ctx, f), by, limit, now)
	if masks(ctx) {
		for i, g := range groups {
			groups[i].Name = untrusted.Text(mask.Text(string(g.Name)))
		}
	}
	return groups, err
}

// Days counts by day of creation, oldest first, ending with today.
func (x *Index) Days(ctx context.Context, f filter.OperationExpr, n int, now time.Time) ([]Day, error) {
	return x.Store.Days(ctx, cover(ctx, f), n, now)
}

// ChangedSince counts operations whose state changed here after t.
func (x *Index) ChangedSince(ctx context.Context, f filter.OperationExpr, t time.Time, now time.Time) (int64, error) {
	by, err := x.shift(ctx)
	if err != nil {
		return 0, err
	}
	return x.Store.ChangedSince(ctx, cover(ctx, f), t.Add(-by), now)
}

// History returns the states of an operation, oldest first, the present last.
func (x *Index) History(ctx context.Context, opid string) ([]State, error) {
	by, err := x.shift(ctx)
	if err != nil {
		return nil, err
	}
	states, err := x.Store.History(ctx, opid)
	for i := range states {
		states[i].At = x.here(states[i].At, by)
		if masks(ctx) {
			states[i].Op = mask.Operation(states[i].Op)
		}
	}
	return states, err
}

// Values lists values of a field that hold what was typed, without those that
// the mask would change.
func (x *Index) Values(ctx context.Context, field, typed string, limit int) ([]string, error) {
	if !covers(ctx) {
		return x.Store.Values(ctx, field, typed, limit)
	}
	all, err := x.Store.Values(ctx, field, typed, 8*limit) // those that are left out must not be told by a short list
	var out []string
	for _, v := range all {
		if len(out) < limit && !mask.Hides(v) && !strings.Contains(v, mask.Dot) {
			out = append(out, v)
		}
	}
	return out, err
}

// Look notes that a person has seen the operation ("" for the list).
func (x *Index) Look(ctx context.Context, person, opid string, at time.Time) error {
	by, err := x.shift(ctx)
	if err != nil {
		return err
	}
	return x.Store.Look(ctx, person, opid, at.Add(-by))
}

// LastLook is when that was; the zero time for never.
func (x *Index) LastLook(ctx context.Context, person, opid string) (time.Time, error) {
	at, err := x.Store.LastLook(ctx, person, opid)
	if err != nil || at.IsZero() {
		return at, err
	}
	by, err := x.shift(ctx)
	return at.Add(by), err
}
