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
	Fields []string                 // their names; "": the order of the source
	Usual  func(field string) Order // the first order of a field; nil: ascending
	Note   func(Order) string       // says what comes first in an order
	Take   func(Order) tea.Cmd      // sorts
}

// Sorting is the order of a list's rows, and its choice by the person.
type Sorting[T any] struct {
	Order // the current one

	by     *field.Catalogue[T] // nil: the screen sorts by itself
	held   *Rows[T]
	table  *widget.Table
	sorted func() // called after sorting
}

// Ask sorts by the chosen column, in reverse if the list is already sorted by it. Without a
// chosen column it opens a menu at the current order.
func (s *Sorting[T]) Ask(now Order, all Orders) (ui.Action, tea.Cmd) {
	next := func(by string) Order {
		switch {
		case by == now.By && by != "":
			return Order{by, !now.Down}
		case all.Usual != nil:
			return all.Usual(by)
		}
		return Order{By: by}
	}
	if column := s.table.Column(); column != "" {
		if !slices.Contains(all.Fields, column) {
			return ui.Notify{Level: ui.Denied, Text: "Cannot sort by " + column + ". Sortable: " +
				strings.Join(named(all.Fields), ", ") + "."}, nil
		}
		return nil, all.Take(next(column))
	}
	items := make([]ui.Choice, len(all.Fields))
	for i, f := range all.Fields {
		items[i] = ui.Choice{Text: cmp.Or(f, "original order"), Note: all.Note(next(f))}
		if f == now.By && f != "" {
			items[i].Text += ", reversed"
		}
	}
	return ui.Choose{Title: "Sort by", Items: items, At: max(slices.Index(all.Fields, now.By), 0),
		Pick: func(i int) (ui.Action, tea.Cmd) {
			return nil, all.Take(next(all.Fields[i]))
		}}, nil
}

// named returns the fields with a name.
func named(fields []string) []string {
	return slices.DeleteFunc(slices.Clone(fields), func(f string) bool { return f == "" })
}

// Direction says what is first in an order by a field of that kind.
func Direction(k field.Kind, o Order) string {
	up, down := "A to Z", "Z to A"
	switch k {
	case field.Time:
		up, down = "oldest first", "newest first"
	case field.Money, field.Count:
		up, down = "smallest first", "largest first"
	case field.Flag:
		up, down = "no first", "yes first"
	}
	switch {
	case o.By == "":
		return ""
	case o.Down:
		return down
	}
	return up
}

// ask sorts the records that the list holds by a field of the catalogue.
func (s *Sorting[T]) ask() (ui.Action, tea.Cmd) {
	return s.Ask(s.Order, Orders{Fields: append([]string{""}, s.by.Sortable()...),
		Note: s.direction, Take: func(o Order) tea.Cmd {
			s.Order = o
			s.held.Sort(s.compare())
			s.Show()
			s.table.Restart()
			s.sorted()
			return nil
		}})
}

func (s *Sorting[T]) direction(o Order) string {
	if o.By == "" {
		return ""
	}
	return Direction(s.by.Get(o.By).Kind, o)
}

// Show marks the column that rows are sorted by; a screen that changes the columns
// calls it.
func (s *Sorting[T]) Show() { s.table.SetSort(slices.Index(s.table.Titles(), s.By), s.Down) }

// Line is the order as it is over the list: also while its column is not shown.
// mixed: the field is an amount, of several currencies.
func (o Order) Line(th *theme.Theme, mixed bool) string {
	if o.By == "" {
		return ""
	}
	line := "  by " + o.By + " " + th.Signs.Up
	if o.Down {
		line = "  by " + o.By + " " + th.Signs.Down
	}
	if mixed {
		line += ", by number only: currencies are mixed"
	}
	return th.Dim.Render(line)
}

// mixed reports whether the list is sorted by amounts of several currencies.
func (s *Sorting[T]) mixed() bool {
	if s.By == "" || s.by == nil {
		return false
	}
	f, one := s.by.Get(s.By), ""
	if f.Kind != field.Money {
		return false
	}
	for _, r := range s.held.Shown() {
		code := string(f.Money(r).CurrencyCode)
		if one != "" && code != "" && code != one {
			return true
		}
		one = cmp.Or(one, code)
	}
	return false
}

// compare compares records by the present field; nil: none.
func (s *Sorting[T]) compare() func(a, b T) int {
	if s.By == "" {
		return nil
	}
	f := s.by.Get(s.By)
	return func(a, b T) int {
		if s.Down {
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
