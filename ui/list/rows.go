package list

import (
	"slices"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// Rows holds the records of a screen in their order on screen. It
// implements widget.Source.
type Rows[T any] struct {
	Partial bool // some records were not read

	id    func(T) string
	draw  func(T) widget.Row
	all   []T
	shown []T              // the records that match the filter
	base  int              // the row of the first of them
	total int              // how many rows there are, those that are not held included
	at    map[string]int   // by id: its row
	match func(T) bool     // nil: all
	order func(a, b T) int // nil: in the order of Set

	in    func() any         // what the drawn rows depend on besides the records and time; nil: they are not kept
	now   func() time.Time   // not nil if in is not
	drawn map[int]widget.Row // by row, in was
	was   any
}

const maxDrawn = 100 // rows that are kept drawn: those of a tall terminal

// Keep keeps drawn rows as long as the records, their ages and what in returns are the same: a page is formatted once,
// not for each key.
func (r *Rows[T]) Keep(in func() any, now func() time.Time) { r.in, r.now = in, now }

// NewRows returns rows without records; draw makes the row of a record.
func NewRows[T any](id func(T) string, draw func(T) widget.Row) *Rows[T] {
	return &Rows[T]{id: id, draw: draw}
}

// Set replaces the records.
func (r *Rows[T]) Set(all []T) {
	r.all = all
	r.index()
}

// Narrow shows only the records that match; nil shows all.
func (r *Rows[T]) Narrow(match func(T) bool) {
	r.match = match
	r.index()
}

// Sort sorts the shown records; nil: the order of Set.
func (r *Rows[T]) Sort(order func(a, b T) int) {
	r.order = order
	r.index()
}

func (r *Rows[T]) index() {
	r.shown = r.all
	if r.match != nil {
		r.shown = nil
		for _, record := range r.all {
			if r.match(record) {
				r.shown = append(r.shown, record)
			}
		}
	}
	if r.order != nil {
		r.shown = slices.Clone(r.shown)
		slices.SortStableFunc(r.shown, r.order)
	}
	r.base, r.total = 0, len(r.shown)
	r.at = make(map[string]int, len(r.shown))
	r.place()
}

// place stores the rows of the shown records.
func (r *Rows[T]) place() {
	r.drawn = nil
	for i, record := range r.shown {
		r.at[r.id(record)] = r.base + i
	}
}

// Part holds a part of a list that its source filters and sorts: records from the row base on, of total. Other rows of
// an earlier part count as still there, so that marks stay, unless anew is set.
func (r *Rows[T]) Part(total, base int, part []T, anew bool) {
	r.all, r.shown, r.base, r.total = part, part, base, max(total, base+len(part))
	if anew {
		r.at = make(map[string]int, len(part))
	}
	r.place()
}

// Held returns the rows of a part that are held: from the first to before the last.
func (r *Rows[T]) Held() (from, to int) { return r.base, r.base + len(r.shown) }

// Replace shows another state of a record that is held.
func (r *Rows[T]) Replace(record T) {
	if i, ok := r.row(r.id(record)); ok {
		r.shown = slices.Clone(r.shown)
		r.shown[i], r.all, r.drawn = record, r.shown, nil
	}
}

// row finds a shown record by id.
func (r *Rows[T]) row(id string) (int, bool) {
	i, ok := r.at[id]
	if i -= r.base; !ok || i < 0 || i >= len(r.shown) || r.id(r.shown[i]) != id {
		return 0, false
	}
	return i, true
}

// All lists the records, the filtered ones included.
func (r *Rows[T]) All() []T { return r.all }

// Each yields the records, the filtered ones included.
func (r *Rows[T]) Each(yield func(T) bool) { slices.Values(r.all)(yield) }

// Shown lists the records that match the filter.
func (r *Rows[T]) Shown() []T { return r.shown }

// Find finds a record by id, among all records.
func (r *Rows[T]) Find(id string) (T, bool) {
	if i, ok := r.row(id); ok {
		return r.shown[i], true
	}
	if i := slices.IndexFunc(r.all, func(record T) bool { return r.id(record) == id }); i >= 0 && id != "" {
		return r.all[i], true
	}
	var none T
	return none, false
}

// Len implements widget.Source.
func (r *Rows[T]) Len() int { return r.total }

// IndexOf implements widget.Source.
func (r *Rows[T]) IndexOf(id string) int {
	if i, ok := r.at[id]; ok {
		return i
	}
	if _, ok := r.Find(id); ok || r.Partial {
		return widget.Hidden
	}
	return -1
}

// Row implements widget.Source; a row that is not held is drawn as "…".
func (r *Rows[T]) Row(i int) widget.Row {
	if i -= r.base; i < 0 || i >= len(r.shown) {
		return widget.Row{Cells: []string{"…"}}
	}
	if r.in == nil {
		return r.draw(r.shown[i])
	}
	if now := r.in(); r.drawn == nil || now != r.was {
		r.drawn, r.was = map[int]widget.Row{}, now
	}
	row, kept := r.drawn[i]
	if !kept || !row.Until.IsZero() && !r.now().Before(row.Until) {
		if len(r.drawn) >= maxDrawn {
			clear(r.drawn)
		}
		row = r.draw(r.shown[i])
		r.drawn[i] = row
	}
	return row
}

// Ages returns the time when the age of one of the first to last shown records changes next.
func (r *Rows[T]) Ages(from, to int, now time.Time, at func(T) time.Time) time.Time {
	var next time.Time
	for _, record := range r.shown[from:to] {
		_, t := format.Ago(at(record), now)
		next = ui.Sooner(next, t)
	}
	return next
}

// ColumnsOf are columns of records in the table.
func ColumnsOf[T any](list []present.Column[T]) []field.Layout {
	out := make([]field.Layout, len(list))
	for i, c := range list {
		out[i] = c.Layout
	}
	return out
}

// RowOf is the row of a record in these columns.
func RowOf[T any](o present.Options, id string, columns []present.Column[T], r T) widget.Row {
	out := widget.Row{ID: id, Cells: make([]string, len(columns)), Tones: make([]theme.Tone, len(columns))}
	for i, c := range columns {
		cell := c.Cell(o, r)
		out.Cells[i], out.Tones[i] = cell.Text, cell.Tone
		out.Until = ui.Sooner(out.Until, cell.Until)
	}
	return out
}

// Pages are the records of a list that the service returns in pages, as far as they
// were read. It is immutable: With returns a new value.
type Pages[T any] struct {
	ID  func(T) string
	All []T // in the order of the service, without duplicates
	Odd int // records without an identifier, which are not in All

	next  api.PageAt // the next page to read
	more  bool       // there may be one
	total string     // as the service sent it; "": it sent none
	whole bool       // the last page proves that All is complete
}

// With returns the records with the page at; the first page replaces all earlier ones.
func (p Pages[T]) With(at api.PageAt, got api.Page[T]) Pages[T] {
	out := Pages[T]{ID: p.ID, total: string(got.Total)}
	if at.Page > 0 {
		out.All, out.Odd = append(out.All, p.All...), p.Odd
	}
	out.Odd += got.Unusable
	known := map[string]bool{"": true}
	for _, r := range out.All {
		known[p.ID(r)] = true
	}
	before := len(out.All)
	for _, r := range got.Items {
		if id := p.ID(r); !known[id] { // pages shift when records come
			known[id] = true
			out.All = append(out.All, r)
		}
	}
	out.whole = got.Whole(len(out.All))
	out.next, out.more = got.Then(at, len(out.All) > before)
	return out
}

// Next returns the next page to read.
func (p Pages[T]) Next() api.PageAt { return p.next }

// Whole reports whether these are all records, by api.Page.Whole.
func (p Pages[T]) Whole() bool { return p.whole }

// Ended reports whether there is nothing left to read: these are all records, or the
// last page had no new one.
func (p Pages[T]) Ended() bool { return p.whole || p.next.Page > 0 && !p.more }

// Done reports whether nothing is left to read, or nothing was read yet.
func (p Pages[T]) Done() bool { return p.next.Page == 0 || p.Ended() }

// Of returns the service's total as text, " of 45"; "" if the service sent none.
func (p Pages[T]) Of() string {
	if p.total == "" {
		return ""
	}
	return " of " + untrusted.Text(p.total).Line(20)
}

// Read says how many of the records called many were read.
func (p Pages[T]) Read(many string) string {
	switch n := len(p.All); {
	case p.Whole() && n == 0:
		return "No " + many
	case p.Whole():
		return "All " + many + " read: " + format.Count(n)
	case p.Ended():
		return format.Count(n) + p.Of() + " " + many + " read; the service lists no others"
	default:
		return format.Count(n) + p.Of() + " " + many + " read"
	}
}
