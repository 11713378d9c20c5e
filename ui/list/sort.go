package list

import (
	"cmp"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/ui"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// Order is the sort order of a list; By is "" for the order of its source.
type Order struct {
	By   string // a field's name
	Down bool
}

// Orders are the possible orders of a list.
type Orders struct {
	Fields []string                      // their names; "": the order of the source
	Kind   func(field string) field.Kind // of a field
	Usual  func(field string) Order      // the first order of a field; nil: ascending
	Take   func(Order) tea.Cmd           // sorts
	Mixed  func() bool                   // amounts of several currencies are sorted
}

// Sorting is the order of a list's rows, and its choice by the person.
type Sorting struct {
	Order
	orders Orders
	table  *widget.Table
}

// Set marks the order of the rows.
func (s *Sorting) Set(o Order) {
	s.Order = o
	s.Show()
}

// Show marks the column that rows are sorted by; a screen that changes the columns calls it.
func (s *Sorting) Show() {
	s.table.Cursor.Columns.SetSort(slices.Index(s.table.Cursor.Columns.Titles(), s.By), s.Down)
}

// next is the order by a field when it is chosen: reversed if rows are sorted by it.
func (s *Sorting) next(by string) Order {
	switch {
	case by == s.By && by != "":
		return Order{by, !s.Down}
	case s.orders.Usual != nil:
		return s.orders.Usual(by)
	}
	return Order{By: by}
}

func (s *Sorting) take(by string) tea.Cmd {
	s.Set(s.next(by))
	return s.orders.Take(s.Order)
}

// ask sorts by the chosen column, in reverse if the list is already sorted by it. Without a chosen column it opens a
// menu at the current order.
func (s *Sorting) ask() (ui.Action, tea.Cmd) {
	all := s.orders.Fields
	if column := s.table.Cursor.Columns.Column(); column != "" {
		if !slices.Contains(all, column) {
			named := slices.DeleteFunc(slices.Clone(all), func(f string) bool { return f == "" })
			return ui.Notify{Level: ui.Denied, Text: "Cannot sort by " + column + ". Sortable: " + strings.Join(named, ", ") +
				"."}, nil
		}
		return nil, s.take(column)
	}
	items := make([]ui.Choice, len(all))
	for i, f := range all {
		items[i] = ui.Choice{Text: cmp.Or(f, "original order"), Note: s.First(s.next(f))}
		if f == s.By && f != "" {
			items[i].Text += ", reversed"
		}
	}
	return ui.Choose{Title: "Sort by", Items: items, At: max(slices.Index(all, s.By), 0),
		Pick: func(i int) (ui.Action, tea.Cmd) { return nil, s.take(all[i]) }}, nil
}

// First says what is first in an order.
func (s *Sorting) First(o Order) string {
	if o.By == "" {
		return ""
	}
	return Direction(s.orders.Kind(o.By), o.Down)
}

// Direction says what is first in an order by a field of that kind.
func Direction(k field.Kind, down bool) string {
	words := [2]string{"A to Z", "Z to A"}
	switch k {
	case field.Time:
		words = [2]string{"oldest first", "newest first"}
	case field.Money, field.Count:
		words = [2]string{"smallest first", "largest first"}
	case field.Flag:
		words = [2]string{"no first", "yes first"}
	}
	if down {
		return words[1]
	}
	return words[0]
}

// line is the order as it is over the list: also while its column is not shown.
func (s *Sorting) line(th *theme.Theme) string {
	if s.By == "" {
		return ""
	}
	sign, mixed := th.Signs.Up, ""
	if s.Down {
		sign = th.Signs.Down
	}
	if s.orders.Mixed() {
		mixed = ", by number only: currencies are mixed"
	}
	return th.Dim.Render("  by " + s.By + " " + sign + mixed)
}

// sentence says the order, for plain mode.
func (s *Sorting) sentence() string {
	switch {
	case s.By == "":
		return ""
	case s.orders.Mixed():
		return ", sorted by " + s.By + ", " + s.First(s.Order) + ", by number only: currencies are mixed"
	}
	return ", sorted by " + s.By + ", " + s.First(s.Order)
}

// orders are those of the records, by the fields of a catalogue; sorted is called after sorting.
func (r *Rows[T]) orders(now *Sorting, by *field.Catalogue[T], sorted func()) Orders {
	return Orders{Fields: append([]string{""}, by.Sortable()...),
		Kind: func(name string) field.Kind { return by.Get(name).Kind },
		Take: func(o Order) tea.Cmd {
			r.Sort(comparing(by, o))
			sorted()
			return nil
		},
		Mixed: func() bool {
			f, one := by.Get(now.By), ""
			if f.Kind != field.Money {
				return false
			}
			for _, record := range r.shown {
				code := string(f.Money(record).CurrencyCode)
				if one != "" && code != "" && code != one {
					return true
				}
				one = cmp.Or(one, code)
			}
			return false
		}}
}

// comparing compares records in an order; nil: none.
func comparing[T any](by *field.Catalogue[T], o Order) func(a, b T) int {
	if o.By == "" {
		return nil
	}
	f := by.Get(o.By)
	return func(a, b T) int {
		if o.Down {
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
