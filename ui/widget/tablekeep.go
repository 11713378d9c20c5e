package widget

import (
	"slices"
	"strings"

	"opdeck/ui/draw"
)

// keep is what a table drew last. A row that looks the same is not drawn again:
// a key then costs the rows that it changes.
type keep struct {
	theme string // all of it was drawn in; another one draws everything again
	from  int
	rows  []keptRow
	next  []keptRow // of the frame being drawn
	seen  []Row     // of the source, in that frame
	cols  []keptColumn
	head  keptHead
}

// keptHead is the line of titles and what it depends on.
type keptHead struct {
	w, sortBy int
	column    int
	sortDown  bool
	shown     []shownColumn
	line      string
}

// keptRow is a drawn row and all that its look depends on.
type keptRow struct {
	row              Row
	selected, marked bool
	w                int
	shown            []shownColumn
	nums             []string // what the number columns showed
	line             string
}

// keptColumn is a column of numbers, fitted together.
type keptColumn struct {
	width int
	in    []string
	out   []string

	at       draw.Points // what the numbers in drawn were placed by
	drawnFor int
	drawn    map[string]string
}

// fit fits the columns of numbers of the rows on screen: their points are in
// one line, so that the look of one depends on all.
func (t *Table) fit(rows []Row) {
	k := &t.keep
	if len(k.cols) != len(t.columns) {
		k.cols = make([]keptColumn, len(t.columns))
	}
	for _, c := range t.shown {
		d, was := t.columns[c.index], &k.cols[c.index]
		if d.Align == Left {
			continue
		}
		same := was.width == c.width && len(was.in) == len(rows)
		for i := 0; same && i < len(rows); i++ {
			same = was.in[i] == t.number(rows[i], c.index)
		}
		if same {
			continue
		}
		was.width = c.width
		was.in = was.in[:0]
		for _, r := range rows {
			was.in = append(was.in, t.number(r, c.index))
		}
		was.numbers(d.Align == Decimal)
	}
}

func cellOf(r Row, i int) string {
	if i < len(r.Cells) {
		return r.Cells[i]
	}
	return ""
}

// cell is the i-th shown cell of the k-th row on screen, as wide as its column.
func (t *Table) cell(r Row, i, k int) string {
	c := t.shown[i]
	switch d := t.columns[c.index]; {
	case d.Align != Left:
		return t.keep.cols[c.index].out[k]
	case d.ID:
		return draw.Pad(draw.ID(cellOf(r, c.index), c.width), c.width)
	case d.Signed && c.width <= signOnly:
		sign, _, _ := strings.Cut(cellOf(r, c.index), " ")
		return draw.Fit(sign, c.width)
	case d.CutMiddle:
		return draw.Pad(draw.Middle(cellOf(r, c.index), c.width), c.width)
	}
	return draw.Fit(cellOf(r, c.index), c.width)
}

// line is the k-th row on screen, at at in the list.
func (t *Table) line(k int, r Row, at int) string {
	now := keptRow{row: r, selected: t.isCursor(at), marked: t.marks.has[r.ID], w: t.w, shown: t.shown}
	if k < len(t.keep.next) {
		now.nums = t.keep.next[k].nums[:0]
	} else {
		t.keep.next = append(t.keep.next, keptRow{})
	}
	for _, c := range t.shown {
		if t.columns[c.index].Align != Left {
			now.nums = append(now.nums, t.keep.cols[c.index].out[k])
		}
	}
	if i := at - t.keep.from; i >= 0 && i < len(t.keep.rows) && t.keep.rows[i].same(now) {
		now.line = t.keep.rows[i].line
	} else {
		now.line = t.drawRow(r, k, at)
	}
	t.keep.next[k] = now
	return now.line
}

// same compares everything but the line.
func (a keptRow) same(b keptRow) bool {
	return a.selected == b.selected && a.marked == b.marked && a.w == b.w && a.row.ID == b.row.ID &&
		a.row.Sign == b.row.Sign && a.row.Tone == b.row.Tone &&
		slices.Equal(a.row.Cells, b.row.Cells) && slices.Equal(a.row.Tones, b.row.Tones) && slices.Equal(a.shown, b.shown) &&
		slices.Equal(a.nums, b.nums)
}

// swap ends a frame of n rows that began at from.
func (t *Table) swap(from, n int) {
	k := &t.keep
	k.from = from
	k.rows, k.next = k.next[:n], k.rows[:0]
	if cap(k.next) >= n {
		k.next = k.next[:n] // their nums are written over
	}
}
