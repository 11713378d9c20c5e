package widget

import (
	"slices"
	"strings"

	"opdeck/ui/draw"
	"opdeck/ui/theme"
)

const gap = 2 // cells between columns

func (t *Table) head() int { return btoi(t.h >= 3) }
func (t *Table) foot() int { return btoi(t.h >= 6) }
func (t *Table) page() int {
	if t.paged > 0 {
		return t.paged
	}
	return max(t.h-t.head()-t.foot(), 1)
}
func (t *Table) gutter() int { return 2 + btoi(t.w >= 40) + btoi(t.apart) }

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// layout chooses the columns that fit and their widths.
func (t *Table) layout() []shownColumn {
	room := t.w - t.gutter()
	in := make([]bool, len(t.columns))
	need := -gap
	for i := range t.columns {
		in[i] = true
		need += t.least(i) + gap
	}
	for need > room {
		worst := -1
		for i, c := range t.columns {
			if in[i] && c.HidePriority > 0 && (worst < 0 || c.HidePriority >= t.columns[worst].HidePriority) {
				worst = i
			}
		}
		if worst < 0 {
			break
		}
		in[worst] = false
		need -= t.least(worst) + gap
	}
	var out []shownColumn
	for i := range t.columns {
		if in[i] {
			out = append(out, shownColumn{i, t.least(i)})
		}
	}
	need = t.squeeze(out, need, room)
	t.grow(out, room-need)
	return out
}

// squeeze narrows columns of which not even those fit that are never dropped: texts
// first, which say that they are cut, then numbers, which show as "###" then.
func (t *Table) squeeze(cols []shownColumn, need, room int) int {
	for _, numbers := range []bool{false, true} {
		for i := len(cols) - 1; i >= 0 && need > room; i-- {
			least := 6
			if numbers {
				least = 1
			} else if t.columns[cols[i].index].Align != Left {
				continue
			}
			less := max(min(cols[i].width-least, need-room), 0)
			cols[i].width -= less
			need -= less
		}
	}
	return need
}

// least is the width below which column i is not drawn: its Min, or for numbers
// what the widest one seen takes.
func (t *Table) least(i int) int { return max(t.columns[i].Min, t.wide[i], 1) }

// grow shares spare cells out by Flex, up to Max.
func (t *Table) grow(cols []shownColumn, spare int) {
	for spare > 0 {
		shares := 0
		for _, c := range cols {
			if d := t.columns[c.index]; d.Flex > 0 && (d.Max == 0 || c.width < d.Max) {
				shares += d.Flex
			}
		}
		if shares == 0 {
			return
		}
		before := spare
		unit := max(spare/shares, 1)
		for i := range cols {
			d := t.columns[cols[i].index]
			if d.Flex == 0 || spare == 0 {
				continue
			}
			more := min(unit*d.Flex, spare)
			if d.Max > 0 {
				more = min(more, d.Max-cols[i].width)
			}
			if more > 0 {
				cols[i].width += more
				spare -= more
			}
		}
		if spare == before {
			return
		}
	}
}

// Lines draws the table: exactly the lines of SetSize, none wider. A row that
// looks as before is the string of before.
func (t *Table) Lines() []string {
	if t.h == 0 || t.w == 0 {
		return make([]string, t.h)
	}
	if t.keep.theme != t.th.Name {
		t.keep = keep{theme: t.th.Name}
	}
	lines := make([]string, 0, t.h)
	n := t.source.Len()
	from, rows := t.top, t.Measure()
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
	for len(lines) < t.h-t.foot() {
		lines = append(lines, "")
	}
	if t.foot() == 1 {
		lines = append(lines, t.drawFoot(n))
	}
	return lines
}

// Measure reads the rows on screen and gives columns of numbers the width that they
// take, as Lines does before it draws: Width and TooWide tell of them then.
func (t *Table) Measure() []Row {
	from, to := t.Visible()
	rows := t.keep.seen[:0]
	for i := from; i < to; i++ {
		rows = append(rows, t.source.Row(i))
	}
	t.keep.seen = rows
	t.widen(rows)
	return rows
}

// View is Lines in one string.
func (t *Table) View() string { return strings.Join(t.Lines(), "\n") }

// headLine is the line of titles.
func (t *Table) headLine() string {
	h := &t.keep.head
	if h.line == "" || h.w != t.w || h.sortBy != t.sortBy || h.sortDown != t.sortDown || !slices.Equal(h.shown, t.shown) {
		*h = keptHead{t.w, t.sortBy, t.sortDown, t.shown, t.drawHead()}
	}
	return h.line
}

func (t *Table) drawHead() string {
	var b strings.Builder
	p := pen{b: &b}
	p.write(t.th.Dim, draw.Space(min(t.gutter(), t.w)))
	for i, c := range t.shown {
		if i > 0 {
			p.write(t.th.Dim, draw.Space(gap))
		}
		d := t.columns[c.index]
		title, style := d.Title, t.th.Dim
		if c.index == t.sortBy {
			style = t.th.Accent
			sign := t.th.Signs.Up
			if t.sortDown {
				sign = t.th.Signs.Down
			}
			title = draw.Cut(title, c.width-2) + " " + sign
		}
		if d.Align == Left {
			title = draw.Fit(title, c.width)
		} else {
			title = draw.FitRight(title, c.width)
		}
		p.write(style, title)
	}
	p.end()
	return t.clip(b.String())
}

// clip cuts a line to the width: only when not even the columns that are never
// dropped fit.
func (t *Table) clip(line string) string {
	if t.need() <= t.w {
		return line
	}
	return draw.Lay([]string{line}, t.w, 1)[0]
}

func (t *Table) need() int {
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
	marked := t.marks[r.ID]
	if t.w < 40 {
		t.drawMark(&p, r, marked, style, marked)
	} else {
		t.drawMark(&p, r, marked, style, true)
		t.drawMark(&p, r, false, style, false)
	}
	if t.apart {
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

// drawNotice draws what stands in the place of rows, in at most h lines.
func (t *Table) drawNotice(h int) []string {
	lines := []string{}
	if h >= 4 {
		lines = append(lines, "")
	}
	for _, l := range draw.Wrap(t.notice.Text, t.w-4) {
		lines = append(lines, "  "+t.th.Tone(t.notice.Tone).Render(l))
	}
	for _, l := range draw.Wrap(t.notice.Hint, t.w-4) {
		lines = append(lines, "  "+t.th.Dim.Render(l))
	}
	return draw.Lay(lines, t.w, min(len(lines), h))
}

func (t *Table) drawFoot(n int) string {
	at, s := "", "" // the number that changes with each key is plain: fewer bytes
	if n > 0 {
		at, s = draw.Count(t.at+1), " of "+draw.Count(n)
	}
	if len(t.order) > 0 {
		s += " " + t.th.Signs.Sep + " " + draw.Count(len(t.order)) + " marked"
	}
	if t.note != "" {
		return draw.Lay([]string{draw.Spread("  "+t.th.Warn.Render(t.note), at+t.th.Dim.Render(s), t.w)}, t.w, 1)[0]
	}
	return draw.Lay([]string{"  " + at + t.th.Dim.Render(s)}, t.w, 1)[0]
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
