package widget

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
)

const gap = 2 // cells between columns

func (t *tableColumns) head() int { return btoi(t.h >= 3) }
func (t *tableColumns) foot() int { return btoi(t.h >= 6) }
func (t *tableColumns) page() int {
	if t.paged > 0 {
		return t.paged
	}
	return max(t.h-t.head()-t.foot(), 1)
}

// gutter is what cursor, sign and mark take before a row. The mark is between sign and cell, so that they are not
// read together ("!2026-01-31").
func (t *tableColumns) gutter() int { return 3 }

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Lines draws the table: exactly the lines of SetSize, none wider.
func (t *Table) Lines() []string {
	if t.Cursor.Columns.h == 0 || t.Cursor.Columns.w == 0 {
		return make([]string, t.Cursor.Columns.h)
	}
	lines := make([]string, 0, t.Cursor.Columns.h)
	n := t.Cursor.source.Len()
	from, rows := t.Cursor.top, t.seen
	if !t.Cursor.Columns.measured {
		rows = t.Measure()
	}
	if t.Cursor.Columns.head() == 1 {
		lines = append(lines, t.drawHead())
	}
	if n == 0 {
		lines = append(lines, t.drawNotice(t.Cursor.Columns.h-t.Cursor.Columns.head()-t.Cursor.Columns.foot())...)
	} else {
		t.align(rows)
		lines = append(lines, t.drawRows(rows, from)...)
	}
	t.Cursor.Columns.measured = false // rows may look otherwise by time when they are drawn next
	for len(lines) < t.Cursor.Columns.h-t.Cursor.Columns.foot() {
		lines = append(lines, "")
	}
	if t.Cursor.Columns.foot() == 1 {
		lines = append(lines, t.drawFoot(n))
	}
	return lines
}

// CursorLine is the line of the table that the cursor is on; -1: there is no row.
func (t *tableCursor) CursorLine() int {
	if t.source.Len() == 0 || t.blurred {
		return -1
	}
	return t.Columns.head() + t.at - t.top
}

// Measure reads the rows on screen and gives columns of numbers the width that they
// take, as Lines does before it draws: Width and TooWide report on them then.
func (t *Table) Measure() []Row {
	from, to := t.Cursor.Visible()
	rows := t.seen[:0]
	for i := from; i < to; i++ {
		rows = append(rows, t.Cursor.source.Row(i))
	}
	t.seen = rows
	t.Cursor.Columns.widen(rows)
	t.Cursor.Columns.measured = true
	return rows
}

// Until is when an age on screen changes; zero: there is none.
func (t *Table) Until() time.Time {
	var first time.Time
	columns := &t.Cursor.Columns
	if !slices.ContainsFunc(columns.shown, func(c shownColumn) bool { return columns.columns[c.index].Age }) {
		return first
	}
	for _, r := range t.seen {
		if first.IsZero() || !r.Until.IsZero() && r.Until.Before(first) {
			first = r.Until
		}
	}
	return first
}

// View is Lines in one string.
func (t *Table) View() string { return strings.Join(t.Lines(), "\n") }

// drawHead draws the line of titles.
func (t *Table) drawHead() string {
	left, right := t.Cursor.Columns.hidden()
	zone, line := t.zone, draw.Space(min(t.Cursor.Columns.gutter(), t.Cursor.Columns.w))
	if left {
		line = t.th.Accent.Render(draw.Fit(t.th.Signs.Before, len(line)))
	}
	for i, c := range t.Cursor.Columns.shown {
		if i > 0 {
			line += draw.Space(gap)
		}
		d := t.Cursor.Columns.columns[c.index]
		title, style, room := d.Title, t.th.Dim, c.width
		more := right && i == len(t.Cursor.Columns.shown)-1 && room > moreSign
		if more && t.Cursor.Columns.need()+moreSign > t.Cursor.Columns.w {
			room -= moreSign
		}
		if zone != "" && d.Time && draw.Width(title)+1+draw.Width(zone)+t.Cursor.Columns.headSigns(c.index) <= room {
			title, zone = title+" "+zone, "" // once
		}
		if c.index == t.Cursor.Columns.sortBy {
			style = t.th.Accent
			sign := t.th.Signs.Up
			if t.Cursor.Columns.sortDown {
				sign = t.th.Signs.Down
			}
			title = draw.Cut(title, room-2) + " " + sign
		}
		if c.index == t.Cursor.Columns.column {
			style = t.th.Selected(theme.Accent)
			title = t.th.Signs.Cursor + draw.Cut(title, room-1)
		}
		switch {
		case d.Signed && room <= signOnly:
			title = draw.Space(room)
		case d.Align == field.Left:
			title = draw.Fit(title, room)
		default:
			title = draw.FitRight(title, room)
		}
		line += style.Render(title)
		if more {
			line += t.th.Accent.Render(" " + t.th.Signs.Crumb)
		}
	}
	return t.Cursor.Columns.clip(line)
}

// headSigns is what the signs of order and cursor take in the head of column i.
func (t *tableColumns) headSigns(i int) int { return 2*btoi(i == t.sortBy) + btoi(i == t.column) }

// clip cuts a line to the width: only when not even the columns that are never
// dropped fit.
func (t *tableColumns) clip(line string) string {
	if t.need() <= t.w {
		return line
	}
	return draw.Lay([]string{line}, t.w, 1)[0]
}

func (t *tableColumns) need() int {
	n := t.gutter() - gap
	for _, c := range t.shown {
		n += c.width + gap
	}
	return n
}

// drawRows draws the rows from index from. A row that is drawn as in the last frame, there or a scrolled line away,
// keeps its line: all that a line depends on is compared, so that nothing has to say when it changes.
func (t *Table) drawRows(rows []Row, from int) []string {
	is := drawing{th: *t.th, w: t.Cursor.Columns.w, shown: slices.Clone(t.Cursor.Columns.shown), points: t.points,
		from: from}
	was, before := t.drawing, t.drawn
	if is.th != was.th || is.w != was.w || !slices.Equal(is.shown, was.shown) || !slices.Equal(is.points, was.points) {
		before = nil
	}
	lines := make([]string, len(rows))
	t.drawing, t.drawn = is, make([]drawn, len(rows))
	for i, r := range rows {
		if t.Cursor.isCursor(from + i) {
			lines[i] = t.drawRow(r, true)
			continue
		}
		d := drawn{row: r, marked: t.marks.has[r.ID]}
		if at := from + i - was.from; at >= 0 && at < len(before) && before[at].as(d) {
			d.line = before[at].line
		} else {
			d.line = t.drawRow(r, false)
		}
		lines[i], t.drawn[i] = d.line, d
	}
	return lines
}

// as reports whether the line of d is that of o too.
func (d drawn) as(o drawn) bool {
	return d.line != "" && d.marked == o.marked && d.row.ID == o.row.ID && d.row.Sign == o.row.Sign &&
		d.row.Tone == o.row.Tone && slices.Equal(d.row.Cells, o.row.Cells) && slices.Equal(d.row.Tones, o.row.Tones)
}

func (t *Table) drawRow(r Row, on bool) string {
	signs := t.th.Signs
	var line strings.Builder
	line.Grow(2 * t.Cursor.Columns.w)
	write := func(tone theme.Tone, s string) {
		switch {
		case on:
			s = t.th.Selected(tone).Render(s)
		case strings.Trim(s, " ") != "":
			s = t.th.Tone(tone).Render(s)
		}
		line.WriteString(s)
	}
	cursor, sign, mark := " ", draw.Fit(r.Sign, 1), " "
	if on {
		cursor = signs.Cursor
	}
	tone := r.Tone
	switch marked := t.marks.has[r.ID]; {
	case marked && r.Sign == "": // it does not touch the cell
		sign, tone = signs.Mark, theme.Accent
	case marked:
		mark = signs.Mark
	}
	write(theme.Accent, cursor)
	write(tone, sign)
	write(theme.Accent, mark)
	for i, c := range t.Cursor.Columns.shown {
		between := ""
		if on && c.index == t.cell {
			between = signs.Cursor
		}
		if i > 0 {
			write(theme.Accent, draw.PadLeft(between, gap))
		}
		tone := theme.Plain
		if c.index < len(r.Tones) {
			tone = r.Tones[c.index]
		}
		write(tone, t.drawCell(r, c))
	}
	if on {
		write(theme.Plain, draw.Space(t.Cursor.Columns.w-t.Cursor.Columns.need()))
	}
	return t.Cursor.Columns.clip(line.String())
}

// drawNotice draws what is in the place of rows, in at most h lines.
func (t *Table) drawNotice(h int) []string {
	lines, indent := []string{}, t.Cursor.Columns.gutter()
	if h >= 4 {
		lines = append(lines, "")
	}
	for _, l := range draw.Wrap(t.notice.Text, t.Cursor.Columns.w-2*indent) {
		lines = append(lines, draw.Space(indent)+t.th.Tone(t.notice.Tone).Render(l))
	}
	for _, l := range draw.Wrap(t.notice.Hint, t.Cursor.Columns.w-2*indent) {
		lines = append(lines, draw.Space(indent)+t.th.Dim.Render(l))
	}
	return draw.Lay(lines, t.Cursor.Columns.w, min(len(lines), h))
}

// drawFoot draws the line below n rows.
func (t *Table) drawFoot(n int) string {
	line := "" // the number that changes with each key is plain: fewer bytes
	switch {
	case n > 0 && t.Cursor.blurred: // it has no cursor to count
		line = format.Plural(n, "row", "rows")
	case n > 0:
		line = format.Count(t.Cursor.at+1) + t.th.Dim.Render(" of "+format.Count(n))
	}
	if marked := len(t.marks.order); marked > 0 {
		line += t.th.Dim.Render(" " + t.th.Signs.Sep + " " + format.Count(marked) + " marked")
	}
	if t.note != "" {
		line = draw.Spread(t.th.Warn.Render(t.note), line, t.Cursor.Columns.w)
	}
	if draw.Width(line) > t.Cursor.Columns.w {
		line = draw.Lay([]string{line}, t.Cursor.Columns.w, 1)[0]
	}
	return line
}

// moreSign is what the sign behind the last title takes, where more columns follow.
const moreSign = 2

// moveColumn moves the cursor over the heads: over the columns that the window has
// room for, then over the others, which scroll in from the right. To the left of the
// first one there is none.
func (t *tableColumns) moveColumn(by int) {
	order, _ := t.sequence()
	if len(order) == 0 {
		return
	}
	at := max(min(slices.Index(order, t.column)+by, len(order)-1), -1)
	if t.column = -1; at >= 0 {
		t.column = order[at]
	}
	t.shown = t.layout()
	t.measured = false
}

// LeaveColumn takes the cursor off the heads; false when it was on none.
func (t *tableColumns) LeaveColumn() bool {
	was := t.column >= 0
	t.column = -1
	t.shown = t.layout()
	t.measured = false
	return was
}

// Column is the title of the column under the cursor; empty: none is.
func (t *tableColumns) Column() string {
	if t.column < 0 {
		return ""
	}
	return t.columns[t.column].Title
}

// At is the column under the cursor; -1: none is.
func (t *tableColumns) At() int { return t.column }

// sequence is the columns in the order in which the cursor reaches them, the first n of
// which the window has room for.
func (t *tableColumns) sequence() (order []int, n int) {
	in := t.fitting(t.w - t.gutter())
	for _, fits := range []bool{true, false} {
		for i := range t.columns {
			if in[i] == fits {
				order = append(order, i)
			}
		}
		if fits {
			n = len(order)
		}
	}
	return order, n
}

// saysMore is the width from which a sign in the head says that more columns follow.
const saysMore = 40

// hidden reports whether there are columns to the left and to the right of the drawn ones.
func (t *tableColumns) hidden() (left, right bool) {
	if t.w < saysMore || len(t.shown) == len(t.columns) || len(t.shown) == 0 {
		return false, false
	}
	order, _ := t.sequence()
	last := slices.Index(order, t.shown[len(t.shown)-1].index)
	return last >= len(t.shown), last < len(order)-1
}

// layout chooses the columns that fit and their widths: those that the window has room for; and if the cursor is on
// another, as many of those that tell rows apart as leave room for it.
func (t *tableColumns) layout() []shownColumn {
	room := t.w - t.gutter()
	order, n := t.sequence()
	stay := 0 // of the first columns; they alone are narrowed for the one under the cursor
	if at := slices.Index(order, t.column); at < n {
		order, stay = order[:n], n
	} else {
		order, stay = t.scrolledTo(order, n, at, room-moreSign)
	}
	out := make([]shownColumn, 0, len(order))
	for _, i := range order {
		out = append(out, shownColumn{i, 1})
	}
	if last := len(order) - 1; last >= 0 && len(out) < len(t.columns) && draw.Width(t.columns[order[last]].Title)+
		moreSign > t.least(order[last]) {
		room -= moreSign // the sign that more columns follow
	}
	t.share(out, stay, room-len(out)*(1+gap)+gap)
	return out
}

// scrolledTo is the columns that are drawn when the cursor is on the one at, which the first view of n columns has no
// room for: those that stay of that view, and as many around the cursor as have room then.
func (t *tableColumns) scrolledTo(order []int, n, at, room int) (shown []int, stay int) {
	need, least := t.least(order[at]), t.least(order[at]) // least: when those that stay are narrowed
	for k, i := range order[:n] {
		if c := t.columns[i]; (k == 0 || c.HidePriority == 0) && least+gap+t.narrowed(i) <= room {
			shown = append(shown, i)
			need += gap + t.least(i)
			least += gap + t.narrowed(i)
		}
	}
	stay = len(shown)
	from, to := at, at+1
	for from > 0 && !slices.Contains(shown, order[from-1]) && need+gap+t.least(order[from-1]) <= room {
		from--
		need += gap + t.least(order[from])
	}
	for to < len(order) && need+gap+t.least(order[to]) <= room {
		need += gap + t.least(order[to])
		to++
	}
	return append(shown, order[from:to]...), stay
}

// narrowed is the width to which column i is narrowed for another: a text of any length is cut, and of a word with
// a sign that stays.
func (t *tableColumns) narrowed(i int) int {
	switch c := t.columns[i]; {
	case c.Signed:
		return 1
	case ofAnyLength(c):
		return min(t.least(i), leastName)
	}
	return t.least(i)
}

// ofAnyLength reports whether the column has texts such as names, which are cut before words and numbers are.
func ofAnyLength(c field.Layout) bool { return c.Align == field.Left && c.Flex > 0 }

// Needs is the width of a table that has room for all columns whose HidePriority is at most last.
func (t *tableColumns) Needs(last int) int {
	n := t.gutter() - gap + moreSign
	for _, c := range t.columns {
		if c.HidePriority <= last {
			n += max(c.Min, 1) + gap
		}
	}
	return n
}

// important is the highest HidePriority of columns that are left out only after texts of any length are narrowed.
const important = 3

// fitting leaves out columns by their HidePriority until the others have room.
func (t *tableColumns) fitting(room int) []bool {
	in := make([]bool, len(t.columns))
	need := -gap
	for i := range t.columns {
		in[i] = true
		need += t.least(i) + gap
	}
	usual := room // of columns that are left out before a text is narrowed
	if need > room && t.w >= saysMore {
		usual -= moreSign // nothing is cut for the sign then
	}
	names := 0 // what texts of any length give up before an important column is left out
	for i, c := range t.columns {
		if c.HidePriority == 0 && ofAnyLength(c) {
			names += max(t.least(i)-leastName, 0)
		}
	}
	for need > usual {
		worst := -1
		for i, c := range t.columns {
			if in[i] && c.HidePriority > 0 && (need-names > room || c.HidePriority > important) &&
				(worst < 0 || c.HidePriority >= t.columns[worst].HidePriority) {
				worst = i
			}
		}
		if worst < 0 {
			break
		}
		in[worst] = false
		need -= t.least(worst) + gap
	}
	return in
}

// The least widths of texts that narrow windows cut.
const (
	leastName = 12 // of a text of any length, while words and signs can be narrowed
	leastText = 6
	leastWord = 9 // of a word with a sign: "◌ PENDING"
	signOnly  = 3 // a Signed column of at most this width shows its sign alone
)

// share gives spare cells to columns of one cell; to the first ones, which stay for one under the cursor, after
// the others. What is needed most comes first: a narrow window cuts texts of any length first, then words, which say
// that they are cut, and words with a sign, of which the sign stays; and last numbers, which show as "###".
// Then texts that are cut grow, words and codes before texts of any length, up to what the widest cell
// seen takes, and an id if it can be whole. What is left over goes to texts of any length.
func (t *tableColumns) share(all []shownColumn, stay, spare int) {
	raise := func(cols []shownColumn, to func(c shownColumn, d field.Layout) int) (raised bool) {
		for k := range cols {
			c := &cols[k]
			if more := min(to(*c, t.columns[c.index])-c.width, spare); more > 0 {
				c.width, spare, raised = c.width+more, spare-more, true
			}
		}
		return raised
	}
	whole := func(c shownColumn, most int) int { // or nothing
		if most-c.width > spare {
			return 0
		}
		return most
	}
	for _, cols := range [][]shownColumn{all[stay:], all[:stay]} {
		raise(cols, func(c shownColumn, d field.Layout) int {
			switch {
			case d.Signed:
				return 1
			case d.Align == field.Left:
				return min(t.least(c.index), leastText)
			}
			return t.least(c.index)
		})
		raise(cols, func(c shownColumn, d field.Layout) int {
			if d.Signed || ofAnyLength(d) {
				return 0
			}
			return t.least(c.index)
		})
		raise(cols, func(c shownColumn, d field.Layout) int {
			if !ofAnyLength(d) {
				return 0
			}
			return min(t.least(c.index), leastName)
		})
		raise(cols, func(c shownColumn, d field.Layout) int { // a word that is cut says less than its sign
			return whole(c, min(t.least(c.index), leastWord))
		})
		raise(cols, func(c shownColumn, d field.Layout) int {
			if d.Signed && c.width == 1 {
				return 1
			}
			return t.least(c.index)
		})
	}
	raise(all, func(c shownColumn, d field.Layout) int {
		if d.Flex > 0 || d.Align != field.Left || d.ID || t.empty(c.index) || d.Signed && c.width <= signOnly {
			return 0
		}
		return min(t.wanted(c.index), d.Max)
	})
	most := func(d field.Layout) int { return cmp.Or(d.Max, t.w) }
	for raise(all, func(c shownColumn, d field.Layout) int {
		return min(c.width+d.Flex, most(d), t.wanted(c.index))
	}) {
	}
	raise(all, func(c shownColumn, d field.Layout) int {
		if !d.ID || t.wanted(c.index) <= c.width {
			return 0
		}
		return whole(c, d.Max)
	})
	for raise(all, func(c shownColumn, d field.Layout) int { return min(c.width+d.Flex, most(d)) }) {
	}
}

// least is the width below which column i is not drawn: its Min, or for numbers
// what the widest one seen takes. While no row has text in it, it is its title.
func (t *tableColumns) least(i int) int {
	c := t.columns[i]
	if t.empty(i) {
		return max(min(c.Min, draw.Width(c.Title)+moreSign), 1)
	}
	if c.Align == field.Left {
		return max(c.Min, 1)
	}
	return max(c.Min, t.seen[i], 1)
}

// empty reports whether none of the rows seen has text in column i.
func (t *tableColumns) empty(i int) bool { return t.rowSeen && t.seen[i] == 0 }

// wanted is what the widest text seen in column i takes.
func (t *tableColumns) wanted(i int) int {
	return max(t.seen[i], draw.Width(t.columns[i].Title)+moreSign)
}

// numberWidth is the room that a column of numbers may take for the widest one.
const numberWidth = 24

// widen makes room for the cells of the rows on screen; scrolling on narrows nothing: columns would come and go. The
// room for numbers is up to a bounded share: a wider number is cut. Columns that are never left out keep their
// Min beside it.
func (t *tableColumns) widen(rows []Row) {
	never := t.w - t.gutter() + gap // what is left beside columns that are never left out
	for _, c := range t.columns {
		if c.HidePriority == 0 {
			never -= max(c.Min, 1) + gap
		}
	}
	was, seen := t.rowSeen, slices.Clone(t.seen)
	for i, c := range t.columns {
		limit := math.MaxInt
		if c.Align != field.Left {
			limit = max(cmp.Or(c.MaxNumberWidth, numberWidth), c.Min)
			if c.HidePriority == 0 {
				limit = min(limit, max(c.Min, 1)+max(never, 0))
			}
			if c.Max > 0 {
				limit = min(limit, c.Max)
			}
		}
		t.seen[i] = min(t.seen[i], limit)
		for _, r := range rows {
			n := draw.Width(t.number(r, i))
			if n > limit {
				n = 1
			}
			t.seen[i] = max(t.seen[i], n)
			t.rowSeen = t.rowSeen || r.ID != "" // else it is not read yet
		}
		if c.Align != field.Left && c.HidePriority == 0 {
			never -= max(max(c.Min, t.seen[i])-max(c.Min, 1), 0) // the next number has that much less
		}
	}
	if t.rowSeen != was || !slices.Equal(t.seen, seen) {
		t.shown = t.layout()
	}
}

// number is the number of a row in column i as it is drawn: an amount with many decimals is shortened.
func (t *tableColumns) number(r Row, i int) string {
	if t.columns[i].Shorten {
		return draw.Shortened(cellOf(r, i))
	}
	return cellOf(r, i)
}

// drawNumber draws a number, placed by the points of its column or at its right edge. One that does not fit
// does not move the others.
func (t *Table) drawNumber(s string, c shownColumn) string {
	switch {
	case draw.Width(s) > c.width:
		return draw.PadLeft(tooWide(s, c.width), c.width)
	case t.Cursor.Columns.columns[c.index].Align == field.Decimal:
		return t.points[c.index].Put(s)
	}
	return draw.PadLeft(s, c.width)
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
