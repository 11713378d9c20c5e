package index

import (
	"context"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/format"
)

// Unreported is how many rows a filter cannot judge because they do not have a field.
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
	has, match := "have", "they match."
	if u.Rows == 1 {
		has, match = "has", "it matches."
	}
	return format.Plural(int(u.Rows), "operation", "operations") + " " + in + " " + has + " no value for " + u.Field +
		", so it is not known whether " + match
}

// Unreported counts the rows that the filter cannot judge because they lack a field: they match neither the filter nor
// its negation. It lists the fields with such rows; a row that lacks several is counted for each.
func (x *Index) Unreported(ctx context.Context, f filter.OperationExpr, now time.Time) (out []Unreported, err error) {
	for _, name := range f.Needs() {
		n, err := x.Count(ctx, f.Unknown(name), now)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			out = append(out, Unreported{Field: name, Rows: n})
		}
	}
	return out, nil
}

// UnreportedOn is Unreported for a page of the service.
func UnreportedOn(page []api.Operation, f filter.OperationExpr, now time.Time) (out []Unreported) {
	for _, name := range f.Needs() {
		u, unknown := Unreported{Field: name, Page: true}, f.Unknown(name)
		for _, o := range page {
			if unknown.Match(o, now) {
				u.Rows++
			}
		}
		if u.Rows > 0 {
			out = append(out, u)
		}
	}
	return out
}
