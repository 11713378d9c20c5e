package index

import (
	"context"
	"slices"
	"time"

	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/internal/format"
)

// Unreported is how many rows of the list do not have the field that a filter asks for.
type Unreported struct {
	Field string
	Rows  int64
}

// String says so to people.
func (u Unreported) String() string {
	return format.Plural(int(u.Rows), "operation", "operations") + " in the index have no " + u.Field +
		", so it is not known whether they match. They are not listed."
}

// Judges lists the fields that rows need so that the filter can judge them: those with a numeric bound, and the
// documents where it asks for their flags.
func Judges(f filter.OperationExpr) (names []string) {
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	f.Leaves(func(l *filter.Leaf) {
		switch {
		case l.Kind == filter.Count || l.Kind == filter.Money:
			add(l.Field)
		case l.Field == filter.FieldHas && slices.ContainsFunc(l.Values, func(v filter.Value) bool {
			return v.Text == "doc" || v.Text == "locked"
		}):
			add(field.OpDocuments)
		}
	})
	return names
}

// Unreported counts, for each of the filter's fields (Judges), the rows without it: they are in no answer. It lists the
// fields with such rows.
func (x *Index) Unreported(ctx context.Context, f filter.OperationExpr, now time.Time) (out []Unreported, err error) {
	names := Judges(f)
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
