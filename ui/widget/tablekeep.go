package widget

import (
	"slices"
	"strings"

	"opdeck/ui/draw"
)

// keep is what a table drew before. A row that looks the same is not drawn again:
// a key then costs the rows that it changes.
type keep struct {
	theme string     // all of it was drawn in; another one draws everything again
	drawn []drawnRow // lines that were drawn near here, by their slot
	seen  []Row      // of the source, in the last frame
	cols  []keptColumn
	head  keptHead
	foot  keptFoot
	lines []string // of the last frame
	buf   []byte   // a line while it is drawn
	texts texts
}

// nearPages is how many pages of lines a table keeps as drawn.
const nearPages = 4

// keptHead is the line of titles and what it depends on.
type keptHead struct {
	w, sortBy int
	column    int
	sortDown  bool
	zone      string
	shown     []shownColumn
	line      string
}

// drawnRow is a drawn row and all that its look depends on, besides the theme and the columns.
type drawnRow struct {
	row              Row
	selected, marked bool
	w                int
	shown            []shownColumn
	points           []draw.Points // of the shown columns of amounts
	line             string
}

// keptColumn is a column of numbers: their points are in one line, so that the look of one depends on all.
type keptColumn struct {
	in []string
	at draw.Points
}

// align finds the points of the numbers of the rows on screen.
func (t *Table) align(rows []Row) {
	k := &t.keep
	if len(k.cols) != len(t.columns) {
		k.cols = make([]keptColumn, len(t.columns))
	}
	for _, c := range t.shown {
		if t.columns[c.index].Align != Decimal {
			continue
		}
		was := &k.cols[c.index]
		same := was.at.Width() == c.width && len(was.in) == len(rows)
		for i := 0; same && i < len(rows); i++ {
			same = was.in[i] == t.number(rows[i], c.index)
		}
		if same {
			continue
		}
		was.in = was.in[:0]
		for _, r := range rows {
			was.in = append(was.in, t.number(r, c.index))
		}
		was.at = draw.PointsOf(was.in, c.width)
	}
}

func cellOf(r Row, i int) string {
	if i < len(r.Cells) {
		return r.Cells[i]
	}
	return ""
}

// appendCell appends a cell of a row, as wide as its column.
func (t *Table) appendCell(b []byte, r Row, c shownColumn) []byte {
	switch d := t.columns[c.index]; {
	case d.Align != Left:
		return t.appendNumber(b, t.number(r, c.index), c)
	case d.ID:
		return draw.AppendPad(b, draw.ID(cellOf(r, c.index), c.width), c.width)
	case d.Signed && c.width <= signOnly:
		sign, _, _ := strings.Cut(cellOf(r, c.index), " ")
		return draw.AppendFit(b, sign, c.width)
	case d.CutMiddle:
		return draw.AppendPad(b, draw.Middle(cellOf(r, c.index), c.width), c.width)
	}
	return draw.AppendFit(b, cellOf(r, c.index), c.width)
}

// line is a row as it was drawn before, or drawn now. at is its place in the list.
func (t *Table) line(r Row, at int) string {
	k := &t.keep
	if slots := 2 * nearPages * t.page(); len(k.drawn) < slots {
		k.drawn = make([]drawnRow, slots)
	}
	selected, slot := t.isCursor(at), 2*at%len(k.drawn)
	if selected {
		slot++
	}
	was := &k.drawn[slot]
	if !t.shows(was, r, selected) {
		*was = drawnRow{row: r, selected: selected, marked: t.marks.has[r.ID], w: t.w, shown: t.shown,
			points: t.points(was.points[:0]), line: t.drawRow(r, at)}
	}
	return was.line
}

// shows reports whether a row would be drawn as it was.
func (t *Table) shows(was *drawnRow, r Row, selected bool) bool {
	if was.line == "" || was.selected != selected || was.marked != t.marks.has[r.ID] || was.w != t.w ||
		was.row.ID != r.ID || was.row.Sign != r.Sign || was.row.Tone != r.Tone ||
		!slices.Equal(was.row.Cells, r.Cells) || !slices.Equal(was.row.Tones, r.Tones) ||
		!slices.Equal(was.shown, t.shown) {
		return false
	}
	n := 0
	for _, c := range t.shown {
		if t.columns[c.index].Align == Decimal {
			if was.points[n] != t.keep.cols[c.index].at {
				return false
			}
			n++
		}
	}
	return true
}

// points appends where the shown columns of amounts have their points now.
func (t *Table) points(out []draw.Points) []draw.Points {
	for _, c := range t.shown {
		if t.columns[c.index].Align == Decimal {
			out = append(out, t.keep.cols[c.index].at)
		}
	}
	return out
}

// texts makes many short strings of few pieces of memory.
type texts struct{ room strings.Builder }

// textRoom is the size of a piece. It stays in memory while one of its strings does.
const textRoom = 8 << 10

// of returns b as a string.
func (t *texts) of(b []byte) string {
	if t.room.Cap()-t.room.Len() < len(b) {
		t.room = strings.Builder{}
		t.room.Grow(max(textRoom, len(b)))
	}
	from := t.room.Len()
	t.room.Write(b)
	return t.room.String()[from:]
}
