package index

import (
	"context"
	"slices"
	"time"

	"opdeck/internal/domain/index/filter"
)

// Unreported is the number of rows without a value for a field that a filter bounds.
type Unreported struct {
	Field string
	Rows  int64
}

// Unreported counts, for each field that the filter bounds by a number, the rows that do not report it: they may or
// may not match, and no answer includes them. It lists only fields with such rows.
func (x *Index) Unreported(ctx context.Context, f filter.OperationExpr, now time.Time) (out []Unreported, err error) {
	var names []string
	f.Leaves(func(l *filter.Leaf) {
		if (l.Kind == filter.Count || l.Kind == filter.Money) && !slices.Contains(names, l.Field) {
			names = append(names, l.Field)
		}
	})
	if len(names) == 0 {
		return nil, nil
	}
	all, err := x.Count(ctx, filter.OperationExpr{}, now)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		known, err := filter.Parse(name + ">=0 OR " + name + "<0")
		if err != nil {
			continue
		}
		n, err := x.Count(ctx, known, now)
		if err != nil {
			return nil, err
		}
		if n < all {
			out = append(out, Unreported{Field: name, Rows: all - n})
		}
	}
	return out, nil
}
