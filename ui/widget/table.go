package widget

import (
	"slices"
	"strings"
	"time"

	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
)

// Row is one line of a table. Cells are safe text in the order of the columns.
type Row struct {
	ID    string // what the cursor and the marks hold on to
	Cells []string
	Tones []theme.Tone // by cell; missing ones are Plain
	Sign  string       // one cell in the gutter ("!", "▣"); empty: none
	Tone  theme.Tone   // of Sign
	Until time.Time    // when a cell changes by time alone; zero: never
}

// Source gives a table the rows it draws, and only those.
type Source interface {
	Len() int
	Row(i int) Row
	// IndexOf finds a row by id; negative when it is not in the list: Hidden or -1. It is asked once after
	// each change of the data, not for each key.
	IndexOf(id string) int
}

// Hidden is the index of a row that may still exist though it is not in the list, because a filter hides it or it was
// not read.
const Hidden = -2

// Notice is a sentence in the place of rows.
type Notice struct {
	Tone theme.Tone
	Text string // "No operation matches the filter."
	Hint string // "esc clears the filter"
}

// Table is the table of all lists. It draws only the rows on screen; its cursor follows
// the id of its row when rows change, and marks are stored by id.
type Table struct {
	Cursor  tableCursor
	th      *theme.Theme
	nav     keymap.Nav
	list    keymap.List
	marks   marks
	marking bool
	notice  Notice
	zone    string        // of moments
	note    string        // one line for the footer until the next key
	seen    []Row         // of the source, in the last frame
	cell    int           // the column that is marked in the row under the cursor; 0: none
	points  []draw.Points // where the numbers of each column have their points in it

	drawing drawing // of the drawn lines
	drawn   []drawn
}

// drawn is a row in the last frame, and its line while the cursor is elsewhere.
type drawn struct {
	row    Row
	marked bool
	line   string
}

// drawing is what the lines of all rows depend on.
type drawing struct {
	th     theme.Theme
	w      int
	shown  []shownColumn
	points []draw.Points
	from   int // the index of the first of them
}

// tableColumns is how wide the columns are and which have room, and the sizes of the parts.
type tableColumns struct {
	columns  []field.Layout
	w, h     int
	shown    []shownColumn
	seen     []int // by column: what the widest text or number seen takes
	rowSeen  bool
	column   int // the column under the cursor, into columns; -1: none
	sortBy   int
	sortDown bool
	measured bool // seen are the rows on screen
	paged    int  // rows of a page; 0: as many as there is room for
}

// forget makes widths depend on the rows seen from now on alone.
func (t *tableColumns) forget() {
	clear(t.seen)
	t.rowSeen = false
}

// tableCursor is the rows and the one under the cursor.
type tableCursor struct {
	Columns tableColumns
	source  Source
	at, top int    // cursor and first drawn row
	id      string // id of the row under the cursor
	rows    int    // how many there were at the last SetSource
	above   int    // rows that came above the cursor since the list was at its top
	other   bool   // the next rows are another list: none of them arrived
	blurred bool   // the cursor is elsewhere: its row looks like the others
}

type shownColumn struct{ index, width int }

// NewTable makes a table. keys come from the screen's Env; marking says whether
// rows can be marked.
func NewTable(th *theme.Theme, keys *keymap.Map, marking bool, columns ...field.Layout) *Table {
	t := &Table{th: th, nav: keys.Nav, list: keys.List, marking: marking,
		Cursor: tableCursor{Columns: tableColumns{sortBy: -1, column: -1}, source: none{}}}
	t.Cursor.Columns.setColumns(columns)
	return t
}

type none struct{}

func (none) Len() int           { return 0 }
func (none) Row(int) Row        { return Row{} }
func (none) IndexOf(string) int { return -1 }

// SetSource gives the table its rows and is to be called again after each
// change of them: the cursor stays on its row wherever that went; when the row
// is gone it stays at the same line and the footer says so. Marks of rows that
// are gone are dropped, and the footer says so too. A list that is at its top
// stays there: rows that come above the cursor are seen.
func (t *Table) SetSource(s Source) {
	if s == nil {
		s = none{}
	}
	t.Cursor.source = s
	t.note = ""
	if t.Cursor.id != "" {
		switch i := s.IndexOf(t.Cursor.id); {
		case i >= 0:
			if t.Cursor.above += max(min(i-t.Cursor.at, s.Len()-t.Cursor.rows), 0); t.Cursor.other {
				t.Cursor.above = 0
			}
			if t.Cursor.top > 0 {
				t.Cursor.top += i - t.Cursor.at
			}
			t.Cursor.at = i
		case s.Len() > 0 && i != Hidden:
			t.note = "The selected row is gone."
		}
	}
	if lost := t.marks.keep(func(id string) bool { return s.IndexOf(id) >= 0 }); lost > 0 {
		t.note = format.Plural(lost, "mark", "marks") + " removed: no longer in this list."
	}
	t.Cursor.other = false
	t.Cursor.settle()
}

// Other says that the next rows are those of another filter: what is above the cursor then did not arrive.
func (t *tableCursor) Other() { t.other = true }

// ArrivedAbove is the number of rows that arrived above the cursor since the list was at its top.
func (t *tableCursor) ArrivedAbove() int { return min(t.above, t.at) }

// settle puts cursor and window inside the rows.
func (t *tableCursor) settle() {
	t.Columns.measured = false
	n := t.source.Len()
	t.rows = n
	t.at = max(min(t.at, n-1), 0)
	page := t.Columns.page()
	t.top = max(min(t.top, n-page), 0)
	if t.at < t.top {
		t.top = t.at
	}
	if t.at >= t.top+page {
		t.top = t.at - page + 1
	}
	t.id = ""
	if n > 0 {
		t.id = t.source.Row(t.at).ID
	}
}

// SetSize sets the size of the whole table, head and footer included.
func (t *Table) SetSize(w, h int) {
	w, h = max(w, 0), max(h, 0)
	if w == t.Cursor.Columns.w && h == t.Cursor.Columns.h && t.Cursor.Columns.shown != nil {
		return
	}
	if w != t.Cursor.Columns.w {
		t.Cursor.Columns.forget()
	}
	t.Cursor.Columns.w, t.Cursor.Columns.h = w, h
	t.Cursor.Columns.shown = t.Cursor.Columns.layout()
	t.Cursor.settle()
}

// SetWidth is SetSize in the height that it has.
func (t *Table) SetWidth(w int) { t.SetSize(w, t.Cursor.Columns.h) }

// Blur says that the keys go elsewhere: the row of the cursor is not drawn as one.
func (t *tableCursor) Blur(on bool) { t.blurred = on }

func (t *tableCursor) isCursor(at int) bool { return at == t.at && !t.blurred }

// SetColumns changes the columns.
func (t *Table) SetColumns(c ...field.Layout) {
	t.seen, t.Cursor.Columns.measured = nil, false
	t.Cursor.Columns.setColumns(c)
	t.Cursor.Columns.column = min(t.Cursor.Columns.column, len(c)-1)
	t.Cursor.Columns.shown = t.Cursor.Columns.layout()
}

func (t *tableColumns) setColumns(c []field.Layout) {
	t.columns, t.seen, t.rowSeen = c, make([]int, len(c)), false
}

// Width is how many cells column i takes; 0 when the window has no room for it.
func (t *tableColumns) Width(i int) int {
	for _, c := range t.shown {
		if c.index == i {
			return c.width
		}
	}
	return 0
}

// TooWide lists the columns in which the row under the cursor has a number that is cut, because its column is narrower
// or because it has many decimals, and these numbers. A screen shows them elsewhere.
func (t *tableCursor) TooWide() (titles, numbers []string) {
	r, ok := t.Selected()
	if !ok {
		return nil, nil
	}
	for _, c := range t.Columns.shown {
		if t.Columns.columns[c.index].Align == field.Left {
			continue
		}
		if s := t.Columns.number(r, c.index); draw.Width(s) > c.width || s != cellOf(r, c.index) {
			titles, numbers = append(titles, t.Columns.columns[c.index].Title), append(numbers, cellOf(r, c.index))
		}
	}
	return titles, numbers
}

// SetSort marks the column that rows are sorted by; -1 for none.
func (t *tableColumns) SetSort(column int, down bool) { t.sortBy, t.sortDown = column, down }

// SetCell marks column i in the row under the cursor; 0: the row only.
func (t *Table) SetCell(i int) { t.cell = i }

// SetZone names the zone of moments. The head of the first column of them that has room says it.
func (t *Table) SetZone(name string) { t.zone = name }

// SetNotice sets what is in the place of rows while there are none.
func (t *Table) SetNotice(n Notice) { t.notice = n }

// Selected is a copy of the row under the cursor; false when there is none.
// Keep the copy: an action holds on to its ID, never to the cursor.
func (t *tableCursor) Selected() (Row, bool) {
	if t.source.Len() == 0 {
		return Row{}, false
	}
	return t.source.Row(t.at), true
}

// SelectedID is the id of the row under the cursor, "" when there is none.
func (t *tableCursor) SelectedID() string { return t.id }

// Restart puts the cursor on the first row, whatever row it was on: the next rows
// are another list.
func (t *Table) Restart() {
	t.Cursor.at, t.Cursor.top, t.Cursor.id, t.Cursor.above = 0, 0, "", 0
	t.Cursor.Columns.forget()
}

// At is the index of the row under the cursor.
func (t *tableCursor) At() int { return t.at }

// Select puts the cursor on a row by id; false when it is not there.
func (t *tableCursor) Select(id string) bool {
	i := t.source.IndexOf(id)
	if i < 0 {
		return false
	}
	t.at = i
	t.settle()
	return true
}

// Visible is the range of rows on screen, [from, to): what to load first.
func (t *tableCursor) Visible() (from, to int) {
	return t.top, min(t.top+t.Columns.page(), t.source.Len())
}

// turned is by how many lines a key turns pages of that many lines; 0: it turns none.
func turned(nav keymap.Nav, msg keymap.Press, page int) int {
	switch {
	case nav.PageUp.Match(msg):
		return -max(page, 1)
	case nav.PageDown.Match(msg):
		return max(page, 1)
	case nav.HalfUp.Match(msg):
		return -max(page/2, 1)
	case nav.HalfDown.Match(msg):
		return max(page/2, 1)
	}
	return 0
}

// Update moves the cursor or marks and reports whether msg was a key of the table.
func (t *Table) Update(msg keymap.Press) bool {
	turn := turned(t.nav, msg, t.Cursor.Columns.page())
	switch {
	case t.nav.Up.Match(msg):
		t.Cursor.at--
	case t.nav.Down.Match(msg):
		t.Cursor.at++
	case turn != 0:
		t.Cursor.at += turn
		t.Cursor.top += turn
	case t.nav.Top.Match(msg):
		t.Cursor.at = 0
	case t.nav.Bottom.Match(msg):
		t.Cursor.at = t.Cursor.source.Len() - 1
	case t.list.Left.Match(msg):
		t.Cursor.Columns.moveColumn(-1)
	case t.list.Right.Match(msg):
		t.Cursor.Columns.moveColumn(1)
	case t.marking && t.markKey(msg):
		t.Cursor.settle()
		return true
	default:
		return false
	}
	t.note = ""
	t.Cursor.settle()
	if t.Cursor.top == 0 {
		t.Cursor.above = 0
	}
	return true
}

// Point puts the cursor on the row at line y of the table, the first line being 0; ok is
// false when no row is there.
func (t *Table) Point(y int) (ok bool) {
	from, to := t.Cursor.Visible()
	row := from + y - t.Cursor.Columns.head()
	if y < t.Cursor.Columns.head() || row >= to {
		return false
	}
	t.Cursor.at, t.note = row, ""
	t.Cursor.settle()
	return true
}

// PointColumn puts the cursor over the heads on the column at a cell of the table; ok is
// false when no head is there.
func (t *Table) PointColumn(x, y int) (ok bool) {
	if y != 0 || t.Cursor.Columns.head() == 0 {
		return false
	}
	from := t.Cursor.Columns.gutter()
	for _, c := range t.Cursor.Columns.shown {
		if x >= from && x < min(from+c.width, t.Cursor.Columns.w) {
			t.Cursor.Columns.column = c.index
			return true
		}
		from += c.width + gap
	}
	return false
}

const maxMarks = 1000

// marks are the rows that a person chose, by id.
type marks struct {
	order   []string // as they were marked
	has     map[string]bool
	last    string   // the row that was marked last: a range begins there
	cleared []string // those that were cleared or left the list, since some were restored
}

// set marks or unmarks a row; false when no more can be marked.
func (m *marks) set(id string, on bool) bool {
	switch {
	case on == m.has[id]:
	case !on:
		delete(m.has, id)
		m.order = slices.DeleteFunc(m.order, func(o string) bool { return o == id })
	case len(m.order) >= maxMarks:
		return false
	default:
		if m.has == nil {
			m.has = map[string]bool{}
		}
		m.has[id] = true
		m.order = append(m.order, id)
	}
	return true
}

// keep drops the marks of rows that are not there any more, and says how many.
func (m *marks) keep(there func(id string) bool) (lost int) {
	before := len(m.order)
	m.order = slices.DeleteFunc(m.order, func(id string) bool {
		if there(id) {
			return false
		}
		delete(m.has, id)
		m.cleared = append(m.cleared, id)
		return true
	})
	return before - len(m.order)
}

// Marked lists the marked ids in the order they were marked.
func (t *Table) Marked() []string { return slices.Clone(t.marks.order) }

// Marks is how many rows are marked.
func (t *Table) Marks() int { return len(t.marks.order) }

// Unmark drops all marks and says how many there were; Remark brings them back.
func (t *Table) Unmark() int {
	n := len(t.marks.order)
	if n > 0 {
		t.marks = marks{cleared: append(t.marks.order, t.marks.cleared...)}
		t.Cursor.Columns.measured = false
	}
	return n
}

// Remark marks again what was cleared or left the list, as far as it is in the list, and says how many that are.
func (t *Table) Remark() (n int) {
	t.marks.cleared = slices.DeleteFunc(t.marks.cleared, func(id string) bool {
		there := t.Cursor.source.IndexOf(id) >= 0
		if there && !t.marks.has[id] && t.marks.set(id, true) {
			n++
		}
		return there
	})
	return n
}

// markKey takes a key about marks.
func (t *Table) markKey(msg keymap.Press) bool {
	switch {
	case t.list.Mark.Match(msg):
		t.note = ""
		if t.Cursor.id != "" {
			t.mark(t.Cursor.id, !t.marks.has[t.Cursor.id])
			t.Cursor.at++
		}
	case t.list.Range.Match(msg):
		t.markRange()
	case t.list.MarkAll.Match(msg):
		t.markAll()
	default:
		return false
	}
	return true
}

func (t *Table) mark(id string, on bool) {
	if t.marks.last = id; !t.marks.set(id, on) {
		t.note = "No more than " + format.Count(maxMarks) + " rows can be marked."
	}
}

// markRange marks the rows from the one that was marked last to the cursor.
func (t *Table) markRange() {
	if t.note = ""; t.Cursor.id == "" {
		return
	}
	from := t.Cursor.source.IndexOf(t.marks.last)
	if t.marks.last == "" || from < 0 {
		from = t.Cursor.at
	}
	to, unread := t.Cursor.at, 0
	step := 1
	if to < from {
		step = -1
	}
	for i := from; i != to+step && t.note == ""; i += step {
		if id := t.Cursor.source.Row(i).ID; id != "" {
			t.mark(id, true)
		} else {
			unread++
		}
	}
	if unread > 0 {
		t.note = format.Plural(unread, "row", "rows") + " between are not loaded yet and stay unmarked."
	}
}

func (t *Table) markAll() {
	t.note = ""
	if t.Unmark() > 0 {
		return
	}
	for i := range min(t.Cursor.source.Len(), maxMarks) {
		t.mark(t.Cursor.source.Row(i).ID, true)
	}
	if t.Cursor.source.Len() > maxMarks {
		t.note = "The first " + format.Count(maxMarks) + " rows are marked; that is the limit."
	}
}

// align finds the points of the numbers of the rows on screen: they are in one line in each column.
func (t *Table) align(rows []Row) {
	columns := &t.Cursor.Columns
	t.points = make([]draw.Points, len(columns.columns))
	for _, c := range columns.shown {
		if columns.columns[c.index].Align != field.Decimal {
			continue
		}
		numbers := make([]string, len(rows))
		for i, r := range rows {
			numbers[i] = columns.number(r, c.index)
		}
		t.points[c.index] = draw.PointsOf(numbers, c.width)
	}
}

func cellOf(r Row, i int) string {
	if i < len(r.Cells) {
		return r.Cells[i]
	}
	return ""
}

// drawCell draws a cell of a row, as wide as its column.
func (t *Table) drawCell(r Row, c shownColumn) string {
	s := cellOf(r, c.index)
	switch d := t.Cursor.Columns.columns[c.index]; {
	case c.width <= 0:
		return ""
	case d.Align != field.Left:
		return t.drawNumber(t.Cursor.Columns.number(r, c.index), c)
	case d.ID:
		s = draw.ID(s, c.width)
	case d.Signed && c.width <= signOnly:
		s, _, _ = strings.Cut(s, " ")
	case d.CutMiddle:
		s = draw.Middle(s, c.width)
	}
	return draw.Fit(s, c.width)
}
