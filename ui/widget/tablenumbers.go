package widget

import (
	"cmp"
	"strings"

	"opdeck/ui/draw"
)

// numberWidth is the room that a column of numbers may take for the widest one.
const numberWidth = 24

// widen makes room for the numbers of the rows on screen, up to a bounded share: a wider
// number is cut, and narrows nothing. Columns that are never left out keep their
// Min beside it.
func (t *tableColumns) widen(rows []Row) {
	never := t.w - t.gutter() + gap // what is left beside columns that are never left out
	for _, c := range t.columns {
		if c.HidePriority == 0 {
			never -= max(c.Min, 1) + gap
		}
	}
	changed := t.fill(rows)
	for i, c := range t.columns {
		if c.Align == Left {
			changed = t.wanted(i, rows) || changed
			continue
		}
		limit := max(cmp.Or(c.MaxNumberWidth, numberWidth), c.Min)
		if c.HidePriority == 0 {
			limit = min(limit, max(c.Min, 1)+max(never, 0))
		}
		if c.Max > 0 {
			limit = min(limit, c.Max)
		}
		want := max(c.Min, min(t.wide[i], limit)) // scrolling on narrows nothing: columns would come and go
		for _, r := range rows {
			if n := draw.Width(t.number(r, i)); n <= limit {
				want = max(want, n)
			}
		}
		if c.HidePriority == 0 {
			never -= max(want-max(c.Min, 1), 0) // the next number has that much less
		}
		if want != t.wide[i] {
			t.wide[i] = want
			changed = true
		}
	}
	if changed {
		t.shown = t.layout()
	}
}

// fill notes in which columns the rows have text and reports whether it is the first of one of them.
func (t *tableColumns) fill(rows []Row) bool {
	changed := false
	for _, r := range rows {
		if r.ID == "" { // not read yet
			continue
		}
		changed = changed || !t.filled.any
		t.filled.any = true
		for i := range t.columns {
			if !t.filled.in[i] && cellOf(r, i) != "" {
				t.filled.in[i], changed = true, true
			}
		}
	}
	return changed
}

// number is the number of a row in column i as it is drawn: an amount with many decimals is shortened.
func (t *tableColumns) number(r Row, i int) string {
	if t.columns[i].Shorten {
		return draw.Shortened(cellOf(r, i))
	}
	return cellOf(r, i)
}

// wanted notes the widest text seen in column i and reports whether it is a new one.
func (t *tableColumns) wanted(i int, rows []Row) bool {
	want := max(t.want[i], draw.Width(t.columns[i].Title)+moreSign)
	for _, r := range rows {
		if s := cellOf(r, i); len(s) > want {
			want = max(want, draw.Width(s))
		}
	}
	was := t.want[i]
	t.want[i] = want
	return want != was
}

// appendNumber appends a number, placed by the points of its column or at its right edge. One that does not fit
// does not move the others.
func (t *Table) appendNumber(b []byte, s string, c shownColumn) []byte {
	switch {
	case len(s) > c.width && draw.Width(s) > c.width:
		return draw.AppendPadLeft(b, tooWide(s, c.width), c.width)
	case t.columns[c.index].Align == Decimal:
		return t.keep.cols[c.index].at.Append(b, s)
	}
	return draw.AppendPadLeft(b, s, c.width)
}

// tooWide is a number that does not fit into w cells: its leading digits, a sign that
// more follow, and its currency, so that nobody reads it as another amount; it is never
// rounded. Where not even four characters of it have room it is the "###" of
// spreadsheets.
func tooWide(s string, w int) string {
	number, unit := s, ""
	if i := strings.LastIndexByte(s, ' '); i >= 0 && !strings.ContainsAny(s[i:], "0123456789") {
		number, unit = s[:i], s[i:]
	}
	const least = 4
	if w-draw.Width(unit)-1 < least {
		unit = ""
	}
	if w-1 < least {
		return strings.Repeat("#", max(w, 0))
	}
	return draw.Cut(number, w-draw.Width(unit)) + unit
}
