package list

import (
	"opdeck/internal/present"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// ColumnOf is a column of records in the table.
func ColumnOf[T any](c present.Column[T]) widget.Column {
	out := widget.Column{Title: c.Title, Min: c.Min, Max: c.Max, Flex: c.Flex, HidePriority: c.HidePriority,
		CutMiddle: c.CutMiddle, ID: c.ID, Signed: c.Signed, Time: c.Time}
	switch c.Align {
	case present.Right:
		out.Align = widget.Right
	case present.Decimal:
		out.Align, out.Shorten = widget.Decimal, true
	}
	return out
}

// ColumnsOf are columns of records in the table.
func ColumnsOf[T any](list []present.Column[T]) []widget.Column {
	out := make([]widget.Column, len(list))
	for i, c := range list {
		out[i] = ColumnOf(c)
	}
	return out
}

// RowOf is the row of a record in these columns.
func RowOf[T any](o present.Options, id string, columns []present.Column[T], r T) widget.Row {
	out := widget.Row{ID: id, Cells: make([]string, len(columns)), Tones: make([]theme.Tone, len(columns))}
	for i, c := range columns {
		cell := c.Cell(o, r)
		out.Cells[i], out.Tones[i] = cell.Text, cell.Tone
	}
	return out
}
