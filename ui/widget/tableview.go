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
// looks as before is the string of before. The slice is valid until the next call.
func (t *Table) Lines() []string {
	if t.h == 0 || t.w == 0 {
		return make([]string, t.h)
	}
	if t.keep.theme != t.th.Name {
		t.keep, t.measured = keep{theme: t.th.Name}, false
	}
	lines := t.keep.lines[:0]
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
		t.align(rows)
		for i := range rows {
			lines = append(lines, t.line(rows[i], from+i))
		}
	}
	t.measured = false // rows may look otherwise by time when they are drawn next
	for len(lines) < t.h-t.foot() {
		lines = append(lines, "")
	}
	if t.foot() == 1 {
		lines = append(lines, t.footLine(n))
	}
	t.keep.lines = lines
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
		h.zone != t.zone || !slices.Equal(h.shown, t.shown) {
		*h = keptHead{t.w, t.sortBy, t.column, t.sortDown, t.zone, t.shown, t.drawHead()}
	}
	return h.line
}

func (t *Table) drawHead() string {
	var p pen
	left, right := t.hidden()
	zone := t.zone
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
		if zone != "" && d.Time && draw.Width(title)+1+draw.Width(zone)+t.headSigns(c.index) <= room {
			title, zone = title+" "+zone, "" // once
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
	return t.clip(string(p.b))
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

func (t *Table) drawRow(r Row, at int) string {
	p := pen{b: t.keep.buf[:0]}
	style := t.th.Tone
	if t.isCursor(at) {
		style = t.th.Selected
		p.write(style(theme.Accent), t.th.Signs.Cursor)
	} else {
		p.write(theme.Style{}, " ")
	}
	switch marked := t.marks.has[r.ID]; {
	case marked && r.Sign == "": // it does not touch the cell
		p.write(style(theme.Accent), t.th.Signs.Mark)
		p.write(style(theme.Plain), " ")
	case marked:
		t.drawSign(&p, r, style)
		p.write(style(theme.Accent), t.th.Signs.Mark)
	default:
		t.drawSign(&p, r, style)
		p.write(style(theme.Plain), " ")
	}
	for i, c := range t.shown {
		if i > 0 {
			p.write(style(theme.Plain), draw.Space(gap))
		}
		tone := theme.Plain
		if c.index < len(r.Tones) {
			tone = r.Tones[c.index]
		}
		if c.width > 0 {
			p.set(style(tone))
			p.b = t.appendCell(p.b, r, c)
		}
	}
	if t.isCursor(at) {
		p.write(style(theme.Plain), draw.Space(t.w-t.need()))
	}
	p.end()
	t.keep.buf = p.b
	return t.clip(t.keep.texts.of(p.b))
}

// drawSign writes the gutter cell of the row's sign.
func (t *Table) drawSign(p *pen, r Row, style func(theme.Tone) theme.Style) {
	if r.Sign == "" {
		p.write(style(theme.Plain), " ")
		return
	}
	p.set(style(r.Tone))
	p.b = draw.AppendFit(p.b, r.Sign, 1)
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

// keptFoot is the line below the rows and what it depends on.
type keptFoot struct {
	w, at, n, marked int
	blurred          bool
	note, line       string
}

// footLine is the line below n rows.
func (t *Table) footLine(n int) string {
	now := keptFoot{w: t.w, at: t.at, n: n, marked: len(t.marks.order), blurred: t.blurred, note: t.note}
	was := &t.keep.foot
	if now.line = was.line; now.line == "" || now != *was {
		now.line = t.drawFoot(n)
		*was = now
	}
	return was.line
}

func (t *Table) drawFoot(n int) string {
	p := pen{b: t.keep.buf[:0]} // the number that changes with each key is plain: fewer bytes
	switch {
	case n > 0 && t.blurred: // it has no cursor to count
		p.b = append(p.b, format.Plural(n, "row", "rows")...)
	case n > 0:
		p.b = format.AppendCount(p.b, t.at+1)
		p.write(t.th.Dim, " of ")
		p.b = format.AppendCount(p.b, n)
	}
	if marked := len(t.marks.order); marked > 0 {
		p.write(t.th.Dim, " ")
		p.write(t.th.Dim, t.th.Signs.Sep)
		p.write(t.th.Dim, " ")
		p.b = append(format.AppendCount(p.b, marked), " marked"...)
	}
	p.end()
	t.keep.buf = p.b
	line := t.keep.texts.of(p.b)
	if t.note != "" {
		line = draw.Spread(t.th.Warn.Render(t.note), line, t.w)
	}
	if draw.Width(line) > t.w {
		line = draw.Lay([]string{line}, t.w, 1)[0]
	}
	return line
}

// pen joins neighbours of the same style into one sequence.
type pen struct {
	b   []byte
	now theme.Style
}

func (p *pen) write(s theme.Style, t string) {
	if t != "" {
		p.set(s)
		p.b = append(p.b, t...)
	}
}

// set makes what follows have a style.
func (p *pen) set(s theme.Style) {
	if s != p.now {
		p.end()
		p.b = append(p.b, s.Open()...)
		p.now = s
	}
}

func (p *pen) end() {
	if p.now != (theme.Style{}) {
		p.b = append(p.b, p.now.Shut()...)
		p.now = theme.Style{}
	}
}
