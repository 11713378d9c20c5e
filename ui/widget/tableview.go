package widget

import (
	"slices"
	"strings"

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

// Lines draws the table: exactly the lines of SetSize, none wider. A row that
// looks as before is the string of before.
func (t *Table) Lines() []string {
	if t.h == 0 || t.w == 0 {
		return make([]string, t.h)
	}
	if t.keep.theme != t.th.Name {
		t.keep, t.measured = keep{theme: t.th.Name}, false
	}
	lines := make([]string, 0, t.h)
	n := t.source.Len()
	from, rows := t.top, t.keep.seen
	if !t.measured {
		rows = t.Measure()
	}
	if t.head() == 1 {
		lines = append(lines, t.headLine())
	}
	if n == 0 {
		lines = append(lines, t.drawNotice(t.h-t.head()-t.foot())...)
	} else {
		t.fit(rows)
		for i := range rows {
			lines = append(lines, t.line(i, rows[i], from+i))
		}
		t.swap(from, len(rows))
	}
	t.measured = false // rows may look otherwise by time when they are drawn next
	for len(lines) < t.h-t.foot() {
		lines = append(lines, "")
	}
	if t.foot() == 1 {
		lines = append(lines, t.drawFoot(n))
	}
	return lines
}

// CursorLine is the line of the table that the cursor is on; -1: there is no row.
func (t *tableCursor) CursorLine() int {
	if t.source.Len() == 0 || t.blurred {
		return -1
	}
	return t.head() + t.at - t.top
}

// Measure reads the rows on screen and gives columns of numbers the width that they
// take, as Lines does before it draws: Width and TooWide report on them then.
func (t *Table) Measure() []Row {
	from, to := t.Visible()
	rows := t.keep.seen[:0]
	for i := from; i < to; i++ {
		rows = append(rows, t.source.Row(i))
	}
	t.keep.seen = rows
	t.widen(rows)
	t.measured = true
	return rows
}

// View is Lines in one string.
func (t *Table) View() string { return strings.Join(t.Lines(), "\n") }

// headLine is the line of titles.
func (t *Table) headLine() string {
	h := &t.keep.head
	if h.line == "" || h.w != t.w || h.column != t.column || h.sortBy != t.sortBy || h.sortDown != t.sortDown ||
		!slices.Equal(h.shown, t.shown) {
		*h = keptHead{t.w, t.sortBy, t.column, t.sortDown, t.shown, t.drawHead()}
	}
	return h.line
}

func (t *Table) drawHead() string {
	var b strings.Builder
	p := pen{b: &b}
	left, right := t.hidden()
	if gutter := min(t.gutter(), t.w); left {
		p.write(t.th.Accent, draw.Pad(t.th.Signs.Before, gutter))
	} else {
		p.write(t.th.Dim, draw.Space(gutter))
	}
	for i, c := range t.shown {
		if i > 0 {
			p.write(t.th.Dim, draw.Space(gap))
		}
		d := t.columns[c.index]
		title, style, room := d.Title, t.th.Dim, c.width
		more := right && i == len(t.shown)-1 && room > moreSign
		if more && t.need()+moreSign > t.w {
			room -= moreSign
		}
		if c.index == t.sortBy {
			style = t.th.Accent
			sign := t.th.Signs.Up
			if t.sortDown {
				sign = t.th.Signs.Down
			}
			title = draw.Cut(title, room-2) + " " + sign
		}
		if c.index == t.column {
			style = t.th.Selected(theme.Accent)
			title = t.th.Signs.Cursor + draw.Cut(title, room-1)
		}
		switch {
		case d.Signed && room <= signOnly:
			title = draw.Space(room)
		case d.Align == Left:
			title = draw.Fit(title, room)
		default:
			title = draw.FitRight(title, room)
		}
		p.write(style, title)
		if more {
			p.write(t.th.Accent, " "+t.th.Signs.Crumb)
		}
	}
	p.end()
	return t.clip(b.String())
}

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

func (t *Table) drawRow(r Row, k, at int) string {
	var b strings.Builder
	b.Grow(t.w + 120)
	p := pen{b: &b}
	style := t.th.Tone
	if t.isCursor(at) {
		style = t.th.Selected
		p.write(style(theme.Accent), t.th.Signs.Cursor)
	} else {
		p.write(theme.Style{}, " ")
	}
	marked := t.marks.has[r.ID]
	t.drawMark(&p, r, false, style, false)
	t.drawMark(&p, r, marked, style, true)
	for i, c := range t.shown {
		if i > 0 {
			p.write(style(theme.Plain), draw.Space(gap))
		}
		tone := theme.Plain
		if c.index < len(r.Tones) {
			tone = r.Tones[c.index]
		}
		p.write(style(tone), t.cell(r, i, k))
	}
	if t.isCursor(at) {
		p.write(style(theme.Plain), draw.Space(t.w-t.need()))
	}
	p.end()
	return t.clip(b.String())
}

// drawMark writes one gutter cell: the mark, or the row's sign.
func (t *Table) drawMark(p *pen, r Row, marked bool, style func(theme.Tone) theme.Style, mark bool) {
	switch {
	case mark && marked:
		p.write(style(theme.Accent), t.th.Signs.Mark)
	case !mark && r.Sign != "":
		p.write(style(r.Tone), draw.Fit(r.Sign, 1))
	default:
		p.write(style(theme.Plain), " ")
	}
}

// drawNotice draws what is in the place of rows, in at most h lines.
func (t *Table) drawNotice(h int) []string {
	lines, indent := []string{}, t.gutter()
	if h >= 4 {
		lines = append(lines, "")
	}
	for _, l := range draw.Wrap(t.notice.Text, t.w-2*indent) {
		lines = append(lines, draw.Space(indent)+t.th.Tone(t.notice.Tone).Render(l))
	}
	for _, l := range draw.Wrap(t.notice.Hint, t.w-2*indent) {
		lines = append(lines, draw.Space(indent)+t.th.Dim.Render(l))
	}
	return draw.Lay(lines, t.w, min(len(lines), h))
}

func (t *Table) drawFoot(n int) string {
	at, s := "", "" // the number that changes with each key is plain: fewer bytes
	if n > 0 {
		at, s = format.Count(t.at+1), " of "+format.Count(n)
	}
	if len(t.marks.order) > 0 {
		s += " " + t.th.Signs.Sep + " " + format.Count(len(t.marks.order)) + " marked"
	}
	if t.note != "" {
		return draw.Lay([]string{draw.Spread(t.th.Warn.Render(t.note), at+t.th.Dim.Render(s), t.w)}, t.w, 1)[0]
	}
	return draw.Lay([]string{at + t.th.Dim.Render(s)}, t.w, 1)[0]
}

// pen joins neighbours of the same style into one sequence.
type pen struct {
	b   *strings.Builder
	now theme.Style
}

func (p *pen) write(s theme.Style, t string) {
	if t == "" {
		return
	}
	if s != p.now {
		p.end()
		p.b.WriteString(s.Open())
		p.now = s
	}
	p.b.WriteString(t)
}

func (p *pen) end() {
	if p.now != (theme.Style{}) {
		p.b.WriteString(p.now.Shut())
		p.now = theme.Style{}
	}
}
