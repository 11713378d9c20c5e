package present

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/mask"
	"opdeck/internal/field"
	"opdeck/internal/format"
)

// Cell is a field in a row of a list.
type Cell struct {
	Text  string // safe to draw
	Tone  Tone
	Until time.Time // when its text changes by time alone; zero: never
}

// Align is the alignment of a column.
type Align uint8

// The alignments.
const (
	Left Align = iota
	Right
	Decimal // amounts, aligned by the decimal point
)

// Column is a column of a list: its name, heading, widths and cells.
type Column[T any] struct {
	field.Column
	Name  string
	Align Align
	Cell  func(Options, T) Cell
	Time  bool           // its cells are moments in Options.Zone, which they do not name
	Exact func(T) string // for programs: full times, words that filters accept; nil: the text of Cell
}

// column is a column whose heading is its name.
func column[T any](name string, c field.Column, cell func(Options, T) Cell) Column[T] {
	c.Title = cmp.Or(c.Title, name)
	return Column[T]{Column: c, Name: name, Cell: cell}
}

// textColumn is a column of safe texts.
func textColumn[T any](name string, c field.Column, text func(T) string) Column[T] {
	return column(name, c, func(_ Options, r T) Cell { return Cell{Text: text(r)} })
}

// rightColumn is column with the texts to the right.
func rightColumn[T any](name string, c field.Column, cell func(Options, T) Cell) Column[T] {
	out := column(name, c, cell)
	out.Align = Right
	return out
}

// numberColumn is a column of whole numbers.
func numberColumn[T any](name string, c field.Column, n func(T) int64) Column[T] {
	out := textColumn(name, c, func(r T) string { return strconv.FormatInt(n(r), 10) })
	out.Align = Right
	return out
}

// timeColumn is a column of moments; programs read them in UTC as layout says.
func timeColumn[T any](name string, c field.Column, layout string, at func(T) time.Time) Column[T] {
	c.Whole = true
	out := column(name, c, func(o Options, r T) Cell { return Cell{Text: o.minute(at(r)), Tone: Dim} })
	out.Time = true
	return exactly(out, func(r T) string {
		if at(r).IsZero() {
			return ""
		}
		return at(r).UTC().Format(layout)
	})
}

// exactly is a column that programs read another text of.
func exactly[T any](c Column[T], text func(T) string) Column[T] {
	c.Exact = text
	return c
}

// inLine is a record in a line: the first cell, and behind a colon the others.
func inLine[T any](o Options, columns []Column[T], r T) string {
	var cells []string
	for _, c := range columns[1:] {
		if text := strings.TrimSpace(c.Cell(o, r).Text); text != "" {
			cells = append(cells, text)
		}
	}
	return columns[0].Cell(o, r).Text + ": " + strings.Join(cells, ", ")
}

// Named are the columns of these names, in that order.
func Named[T any](list []Column[T], names ...string) []Column[T] {
	out := make([]Column[T], 0, len(names))
	for _, name := range names {
		if i := slices.IndexFunc(list, func(c Column[T]) bool { return c.Name == name }); i >= 0 {
			out = append(out, list[i])
		}
	}
	return out
}

// Columns returns the columns of these fields of a catalogue, in that order.
func Columns[T any](c *field.Catalogue[T], names ...string) []Column[T] {
	out := make([]Column[T], len(names))
	for i, name := range names {
		out[i] = ColumnOf(c.Get(name))
	}
	return out
}

// ColumnOf returns the column of a field.
func ColumnOf[T any](f field.Field[T]) Column[T] {
	out := Column[T]{Column: f.Column, Name: f.Name, Cell: func(o Options, r T) Cell { return CellOf(o, f, r) }}
	if out.Title == "" {
		out.Title = f.Name
	}
	out.Time = f.Kind == field.Time && !f.Column.Age
	out.ID, out.Signed = out.ID || f.Kind == field.ID, out.Signed || f.Status
	if f.Nothing != "" {
		out.Exact = func(r T) string { return f.Text(r).Line(200) }
	}
	switch {
	case f.Kind == field.Money, f.Column.Decimal:
		out.Align = Decimal
	case f.Kind == field.Count && f.Locks == nil:
		out.Align = Right
	}
	return out
}

// CellOf is the cell of a record's field.
func CellOf[T any](o Options, f field.Field[T], r T) Cell {
	out := Cell{Tone: Plain}
	if f.Column.Dim {
		out.Tone = Dim
	}
	switch f.Kind {
	case field.Money:
		m := f.Money(r)
		if out.Text = format.Money(m); m.Empty() {
			out.Tone = Dim
		}
	case field.Time:
		if out.Text = format.Minute(f.Time(r).Time, o.Zone); f.Column.Age {
			out.Text, out.Until = format.Ago(f.Time(r).Time, o.Now)
		}
	case field.Count:
		if !f.Bytes {
			out.Tone = Dim
		}
		out.Text = count(o, f, r)
	case field.Flag:
		out.Text, out.Tone = f.YesNo(r), Dim
	case field.Lock:
		return o.lock(f.Lock(r))
	case field.ID:
		out.Text, out.Tone = f.Text(r).Line(64), Dim
	default:
		return text(o, f, r, out.Tone)
	}
	return out
}

// lock is a cell that shows a lock.
func (o Options) lock(l api.Lock) Cell {
	switch {
	case l.Is():
		return Cell{Text: o.sign(SignLocked) + "locked", Tone: Warn}
	case l == api.LockUnknown:
		return Cell{Text: "?", Tone: Warn}
	}
	return Cell{}
}

// count is a number in a list, with a sign if some of the counted things are locked, or may be.
func count[T any](o Options, f field.Field[T], r T) string {
	n := f.Count(r)
	switch {
	case !f.IsReported(r):
		return "–"
	case f.Bytes:
		return format.Size(int64(n))
	case n == 0 && f.Column.NoZero:
		return ""
	case f.Locks == nil || o.Sign == nil:
	case f.Locks(r).Locked > 0:
		return format.Count(n) + " " + o.Sign(SignLocked)
	case f.Locks(r).Unknown > 0:
		return format.Count(n) + " " + o.Sign(SignLocked) + "?"
	}
	return format.Count(n)
}

// text is a text in a list.
func text[T any](o Options, f field.Field[T], r T, tone Tone) Cell {
	value := shown(o, f, r)
	switch {
	case f.Nothing != "" && value == f.Nothing:
		return Cell{Text: "–", Tone: Dim}
	case f.Status:
		return o.statusAs(f.Text(r), value)
	case f.Sensitive && f.Kind != field.Party:
		return Cell{Text: value.Line(64), Tone: Dim}
	}
	return Cell{Text: value.Line(200), Tone: tone}
}

// shown is a field's text as it may be shown now.
func shown[T any](o Options, f field.Field[T], r T) untrusted.Text {
	value := f.Text(r)
	if f.Says != nil {
		value = f.Says(r)
	}
	if f.Sensitive && f.Kind != field.Party {
		return mask.NumberIf(value, o.Masked)
	}
	return mask.Detail(api.Detail{Path: f.JSON, Label: f.Name, Value: value}, o.Masked)
}

// Exact is a field for commands: times as received, whole numbers without commas; max bounds a text in runes.
func Exact[T any](f field.Field[T], r T, max int) string {
	switch f.Kind {
	case field.Money:
		return exactMoney(f.Money(r))
	case field.Time:
		return exactMoment(f.Time(r))
	case field.Count:
		if n := f.Count(r); f.IsReported(r) && (n >= 0 || !f.Bytes) {
			return strconv.Itoa(n)
		}
		return "–"
	case field.Flag:
		return f.YesNo(r)
	case field.Lock:
		return f.LockWord(r)
	}
	return f.Text(r).Line(max)
}

// Moments in CSV, in UTC.
const (
	exactSeconds = "2006-01-02 15:04:05"
	exactMillis  = "2006-01-02 15:04:05.000"
)

// exactMoment is a moment as it came, in RFC 3339 where it came as a number, which people do not read.
func exactMoment(t api.Time) string {
	if _, err := strconv.ParseInt(string(t.Raw), 10, 64); err == nil && !t.IsZero() {
		return t.UTC().Format(time.RFC3339Nano)
	}
	return t.Raw.Line(40)
}

// exactMoney is an exact amount; an invalid one is shown raw.
func exactMoney(m api.Money) string {
	s := format.Money(m)
	if _, ok := format.Amount(m); !ok && !m.Empty() {
		s += " (not understood: " + untrusted.Text(m.Raw()).Line(2000) + ")"
	}
	return s
}
