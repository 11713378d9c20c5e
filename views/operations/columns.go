package operations

import (
	"slices"

	"opdeck/api"
	"opdeck/internal/field"
	"opdeck/internal/present"
	"opdeck/ui/list"
)

// wanted is the HidePriority of columns that somebody wants: they go last.
const wanted = 1

// column is a column of operations.
type column = present.Column[api.Operation]

// build makes a choice into columns.
func build(choices []field.Choice) []column {
	out := make([]column, len(choices))
	for i, choice := range choices {
		c := present.ColumnOf(field.Operations.Get(choice.Name))
		if choice.Width > 0 {
			c.Min, c.Max, c.Flex = choice.Width, choice.Width, 0
		}
		if choice.Wanted() && c.HidePriority > 0 {
			c.HidePriority = wanted
		}
		out[i] = c
	}
	return out
}

// show gives list and table other columns; the cursor stays on its row.
func (s columnChoice) show(choices []field.Choice) {
	if len(choices) == 0 {
		choices = field.UsualColumns()
	}
	s.shown = choices
	s.rows.columns = build(choices)
	clear(s.rows.drawn)
	s.Table.SetColumns(list.ColumnsOf(s.rows.columns)...)
	s.Table.SetSort(s.sortColumn(), s.sort.Desc)
}

// sortColumn is the column that rows are sorted by, -1 when it is not shown.
func (s columnChoice) sortColumn() int {
	return slices.IndexFunc(s.rows.columns, func(c column) bool { return c.Name == s.sort.Field })
}
