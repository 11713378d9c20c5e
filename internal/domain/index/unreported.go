package index

import (
	"context"
	"slices"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/internal/format"
)

// Unreported is how many rows do not have the field that a filter asks for.
type Unreported struct {
	Field string
	Rows  int64
	Page  bool // of one page of the service; else of the index
}

// String says so to people.
func (u Unreported) String() string {
	in := "in the index"
	if u.Page {
		in = "on this page"
	}
	return format.Plural(int(u.Rows), "operation", "operations") + " " + in + " have no value for " + u.Field +
		", so it is not known whether they match."
}

// judged are the fields that decide the values of has that a row may not report.
var judged = map[string]string{"doc": field.OpDocuments, "locked": field.OpDocuments, "visible": field.OpVisible,
	"hidden": field.OpVisible, "parent": field.OpParent}

// Judges lists the fields that rows need so that the filter can judge them: those with a numeric bound, and those whose
// yes or no it asks for.
func Judges(f filter.OperationExpr) (names []string) {
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	f.Leaves(func(l *filter.Leaf) {
		switch {
		case l.Kind == filter.Count || l.Kind == filter.Money:
			add(l.Field)
		case l.Field == filter.FieldHas:
			for _, v := range l.Values {
				add(judged[v.Text])
			}
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
		n, err := x.Count(ctx, filter.Known(name), now)
		if err != nil {
			return nil, err
		}
		if n < all {
			out = append(out, Unreported{Field: name, Rows: all - n})
		}
	}
	return out, nil
}

// UnreportedOn is Unreported for a page of the service.
func UnreportedOn(page []api.Operation, f filter.OperationExpr, now time.Time) (out []Unreported) {
	for _, name := range Judges(f) {
		u, known := Unreported{Field: name, Page: true}, filter.Known(name)
		for _, o := range page {
			if !known.Match(o, now) {
				u.Rows++
			}
		}
		if u.Rows > 0 {
			out = append(out, u)
		}
	}
	return out
}
