package index

import (
	"context"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/format"
)

// Unreported is how many rows a filter cannot judge because they lack the value of a field: they match neither the
// filter nor its negation.
type Unreported struct {
	Fields []string // each is lacked by some of the rows
	Rows   int64    // 0: the filter judges all
	Page   bool     // of one page of the service; else of the index
}

// String says so to people, "" for no rows.
func (u Unreported) String() string {
	if u.Rows == 0 {
		return ""
	}
	in := "in the index"
	if u.Page {
		in = "on this page"
	}
	has, match := "have", "they match."
	if u.Rows == 1 {
		has, match = "has", "it matches."
	}
	last := len(u.Fields) - 1
	fields := u.Fields[last]
	if last > 0 {
		fields = strings.Join(u.Fields[:last], ", ") + " or " + fields
	}
	return format.Plural(int(u.Rows), "operation", "operations") + " " + in + " " + has + " no value for " + fields +
		", so it is not known whether " + match
}

// unreported is Unreported by what count counts.
func unreported(f filter.OperationExpr, count func(filter.OperationExpr) (int64, error)) (u Unreported, err error) {
	for _, name := range f.Needs() {
		n, err := count(f.Unknown(name))
		if err != nil {
			return u, err
		}
		if n > 0 {
			u.Fields, u.Rows = append(u.Fields, name), n
		}
	}
	if len(u.Fields) > 1 { // a row may lack several
		u.Rows, err = count(f.Unknown(u.Fields...))
	}
	return u, err
}

// Unreported counts the rows that the filter cannot judge.
func (x *Index) Unreported(ctx context.Context, f filter.OperationExpr, now time.Time) (Unreported, error) {
	return unreported(f, func(f filter.OperationExpr) (int64, error) { return x.Count(ctx, f, now) })
}

// UnreportedOn is Unreported for a page of the service.
func UnreportedOn(page []api.Operation, f filter.OperationExpr, now time.Time) Unreported {
	u, _ := unreported(f, func(f filter.OperationExpr) (n int64, _ error) { // counting does not fail
		for _, o := range page {
			if f.Match(o, now) {
				n++
			}
		}
		return n, nil
	})
	u.Page = true
	return u
}
