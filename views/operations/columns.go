package operations

import (
	"slices"
	"time"

	"opdeck/api"
	"opdeck/internal/field"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// amountCap is the room that an amount may take: 999,999,999,999.99 EUR. A wider one is
// cut, and shown in full above the list.
const amountCap = 22

// wanted is the HidePriority of columns that somebody wants: they go last.
const wanted = 1

// fieldOf is an operation's field of the catalogue.
type fieldOf = field.Field[api.Operation]

// drawing is what the cells of one row are drawn from.
type drawing struct {
	env   *ui.Env
	op    api.Operation
	now   time.Time
	until time.Time // when a cell looks different by time alone; zero: never
}

// cell is a field as its column shows it.
func (d *drawing) cell(f fieldOf) (string, theme.Tone) {
	switch f.Kind {
	case field.Money:
		return draw.Money(f.Money(d.op)), theme.Plain
	case field.Time:
		return d.time(f)
	case field.Count:
		return d.documents(), theme.Dim
	case field.Flag:
		return f.YesNo(d.op), theme.Dim
	case field.ID:
		return f.Text(d.op).Line(64), theme.Dim
	}
	if f.Name == "status" {
		st := d.env.Theme.Status(string(d.op.Status))
		return st.Sign + " " + d.op.Status.Line(20), st.Tone
	}
	return f.Text(d.op).Line(200), theme.Plain
}

// time is a moment to the minute; of a change, how long ago it was.
func (d *drawing) time(f fieldOf) (string, theme.Tone) {
	at := f.Time(d.op).Time
	if f.Name != "updated" {
		return draw.Minute(at, d.env.Zone()), theme.Plain
	}
	ago, until := draw.Ago(at, d.now)
	d.until = ui.Sooner(d.until, until)
	return ago, theme.Dim
}

// documents is how many there are, with a sign when one is locked.
func (d *drawing) documents() string {
	n := len(d.op.Documents)
	switch {
	case !d.op.DocumentsTold():
		return "–"
	case n == 0:
		return ""
	case slices.ContainsFunc(d.op.Documents, func(d api.Document) bool { return d.IsLock }):
		return draw.Count(n) + " " + d.env.Theme.Signs.Locked
	}
	return draw.Count(n)
}

// tableColumn is a field's column in the table.
func tableColumn(f fieldOf) widget.Column {
	c := f.Column
	out := widget.Column{Title: f.Name, Min: c.Min, Max: c.Max, Flex: c.Flex, HidePriority: c.HidePriority, CutMiddle: c.CutMiddle}
	if f.Kind == field.Money {
		out.Align, out.MaxNumberWidth = widget.Decimal, amountCap
	}
	return out
}

// build makes a choice into fields of the list and columns of the table.
func build(list []field.Choice) ([]fieldOf, []widget.Column) {
	fields, cols := make([]fieldOf, 0, len(list)), make([]widget.Column, 0, len(list))
	for _, choice := range list {
		f := field.Operations.Get(choice.Name)
		c := tableColumn(f)
		if choice.Width > 0 {
			c.Min, c.Max, c.Flex = choice.Width, choice.Width, 0
		}
		if choice.Wanted() && c.HidePriority > 0 {
			c.HidePriority = wanted
		}
		fields, cols = append(fields, f), append(cols, c)
	}
	return fields, cols
}

// show gives list and table other columns; the cursor stays on its row.
func (s *Screen) show(list []field.Choice) {
	if len(list) == 0 {
		list = field.UsualColumns()
	}
	s.shown = list
	fields, cols := build(list)
	s.rows.columns = fields
	clear(s.rows.drawn)
	s.Table.SetColumns(cols...)
	s.Table.SetSort(s.sortColumn(), s.sort.Desc)
}

// sortColumn is the column that rows are sorted by, -1 when it is not shown.
func (s *Screen) sortColumn() int {
	return slices.IndexFunc(s.rows.columns, func(f fieldOf) bool { return f.Name == s.sort.Field })
}
