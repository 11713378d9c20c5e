package index

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
)

// Arrange filters and sorts operations that are not in the index, such as one page of the service, like Window.
func (x *Index) Arrange(ctx context.Context, ops []api.Operation, f filter.OperationExpr, s Sort,
	now time.Time) ([]api.Operation, error) {
	f, err := asked(ctx, x, f)
	if err != nil {
		return nil, err
	}
	out := slices.DeleteFunc(slices.Clone(ops), func(o api.Operation) bool { return !f.Match(o, now) })
	by := field.Operations.Get(s.By())
	slices.SortStableFunc(out, func(a, b api.Operation) int {
		c := compareField(by, a, b)
		if s.Desc {
			c = -c
		}
		return cmp.Or(c, b.CreatedAt.Compare(a.CreatedAt.Time))
	})
	return out, nil
}

func compareField(f field.Field[api.Operation], a, b api.Operation) int {
	switch f.Kind {
	case field.Time:
		return f.Time(a).Compare(f.Time(b).Time)
	case field.Money:
		return strings.Compare(filter.MoneyKey(f.Money(a)), filter.MoneyKey(f.Money(b)))
	case field.Count:
		return cmp.Compare(countOf(f, a), countOf(f, b))
	case field.Code:
		return strings.Compare(filter.Clean(string(f.Text(a))), filter.Clean(string(f.Text(b))))
	}
	return strings.Compare(filter.Fold(string(f.Text(a))), filter.Fold(string(f.Text(b))))
}

// countOf is a count for sorting; a count that was not reported sorts before zero.
func countOf(f field.Field[api.Operation], o api.Operation) int64 {
	if !f.IsReported(o) {
		return filter.NotReported
	}
	return int64(f.Count(o))
}
