package list

import (
	"cmp"
	"slices"
	"strings"

	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
)

// nextSort sorts by the next field of Spec.Sort, first up, then down; after the last
// one rows stand as the screen gives them.
func (l *List[T]) nextSort() {
	orders := append([]string{""}, l.spec.Sort.Sortable()...)
	if l.SortDown = l.SortBy != "" && !l.SortDown; !l.SortDown {
		l.SortBy = orders[(slices.Index(orders, l.SortBy)+1)%len(orders)]
	}
	l.held.Sort(l.order())
	l.ShowSort()
	l.Changed()
}

// ShowSort marks the column that rows are sorted by; a screen that changes the columns
// calls it.
func (l *List[T]) ShowSort() { l.Table.SetSort(slices.Index(l.Table.Titles(), l.SortBy), l.SortDown) }

// direction is the sign of the present order; a theme of words says it.
func (l *List[T]) direction() string {
	if l.SortDown {
		return l.Env.Theme.Signs.Down
	}
	return l.Env.Theme.Signs.Up
}

// order compares records by the present field; nil: none.
func (l *List[T]) order() func(a, b T) int {
	if l.SortBy == "" {
		return nil
	}
	f := l.spec.Sort.Get(l.SortBy)
	return func(a, b T) int {
		if l.SortDown {
			a, b = b, a
		}
		return compare(f, a, b)
	}
}

func compare[T any](f field.Field[T], a, b T) int {
	switch f.Kind {
	case field.Time:
		return f.Time(a).Compare(f.Time(b).Time)
	case field.Count:
		return cmp.Compare(f.Count(a), f.Count(b))
	case field.Money:
		return cmp.Compare(filter.MoneyKey(f.Money(a)), filter.MoneyKey(f.Money(b)))
	}
	return cmp.Compare(strings.ToLower(string(f.Text(a))), strings.ToLower(string(f.Text(b))))
}
