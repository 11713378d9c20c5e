// Package widget holds the parts screens are drawn from: one table, one form,
// one viewer, panels, gauges. Widgets are values in a screen; they draw strings
// of a given size, know nothing of the shell and never start anything.
//
// Every function takes widths in cells and gives lines no wider than asked.
// Text is safe text (opdeck/ui/draw); what came from outside is cleaned before.
package widget

import (
	"errors"
	"strings"

	"rsc.io/qr"

	"opdeck/ui/draw"
	"opdeck/ui/theme"
)

// Plot draws values as columns in h lines of at most w cells, the newest at the right edge of what is drawn; top fills
// a column. usual is the tone of a column, full that of one that reaches top.
func Plot(th *theme.Theme, values []int, top, w, h int, usual, full theme.Tone) []string {
	if w <= 0 || h <= 0 || top <= 0 {
		return make([]string, max(h, 0))
	}
	values = values[max(len(values)-w, 0):]
	levels := len(th.Signs.Spark)
	out := make([]string, h)
	for line := range out {
		below := (h - 1 - line) * levels // what the lines below show of a column
		for _, v := range values {
			style, level := th.Tone(usual), min(max(v, 0), top)*h*levels/top
			if v >= top {
				style = th.Tone(full)
			}
			if level == 0 && v > 0 {
				level = 1
			}
			switch over := level - below; {
			case over > 0:
				out[line] += style.Render(th.Signs.Spark[min(over, levels)-1])
			case line == h-1:
				out[line] += th.Dim.Render(th.Signs.Light)
			default:
				out[line] += " "
			}
		}
	}
	return out
}

// QR draws text as a QR code with a quiet border, two rows of modules a line.
// It draws the light modules: theme.Code gives them a dark ground.
func QR(s string) ([]string, error) {
	code, err := qr.Encode(s, qr.L)
	if err != nil {
		return nil, errors.New("the text is too long for a QR code")
	}
	var out []string
	for y := -2; y < code.Size+2; y += 2 {
		var b strings.Builder
		for x := -2; x < code.Size+2; x++ {
			b.WriteString(half(code.Black(x, y), code.Black(x, y+1)))
		}
		out = append(out, b.String())
	}
	return out, nil
}

func half(top, bottom bool) string {
	switch {
	case !top && !bottom:
		return "█"
	case !top:
		return "▀"
	case !bottom:
		return "▄"
	}
	return " "
}

// Box draws lines in a frame of exactly w by h cells with a title in its upper
// edge and a foot (keys) in its lower one. tone colours the frame. Lines beyond
// the frame are cut. Too small for a frame, it draws the lines alone.
func Box(th *theme.Theme, title string, lines []string, foot string, w, h int, tone theme.Tone) []string {
	if w < 8 || h < 3 {
		return draw.Lay(append([]string{th.Title.Render(draw.Cut(title, w))}, lines...), w, h)
	}
	s, frame := th.Signs, th.Tone(tone)
	in := w - 4
	out := make([]string, 0, h)
	out = append(out, edge(th, s.TopLeft, th.Title, title, s.TopRight, w, frame))
	for _, l := range draw.Lay(lines, in, h-2) {
		out = append(out, frame.Render(s.Side)+" "+draw.Pad(l, in)+" "+frame.Render(s.Side))
	}
	return append(out, edge(th, s.BottomLeft, th.Dim, foot, s.BottomRight, w, frame))
}

func edge(th *theme.Theme, left string, style theme.Style, label, right string, w int, frame theme.Style) string {
	label = draw.Cut(label, w-6)
	if label == "" {
		return frame.Render(left + strings.Repeat(th.Signs.Light, w-2) + right)
	}
	rest := w - 5 - draw.Width(label)
	return frame.Render(left+th.Signs.Light) + " " + style.Render(label) + " " +
		frame.Render(strings.Repeat(th.Signs.Light, rest)+right)
}

// Tabs draws names on one line of at most w cells with the active one marked by
// sign and style.
func Tabs(th *theme.Theme, names []string, active, w int) string {
	all := -2
	for _, n := range names {
		all += 2 + draw.Width(n) + 2
	}
	between := "  "
	if all > w { // the names matter more than the room between them
		between = " "
	}
	parts := make([]string, 0, len(names))
	used := 0
	for i, n := range names {
		sign := "  "
		style := th.Dim
		if i == active {
			sign, style = th.Signs.Cursor+" ", th.Title
		}
		n = sign + n
		if used+draw.Width(n) > w && i != active {
			continue
		}
		used += draw.Width(n) + len(between)
		parts = append(parts, style.Render(n))
	}
	return draw.Lay([]string{strings.Join(parts, between)}, w, 1)[0]
}

// Sentences are pairs one a line, label and value with a colon between them.
func Sentences(list []Pair) []string {
	out := make([]string, 0, len(list))
	for _, p := range list {
		if s := p.Sentence(); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// Sentence is the pair as it is said: "status: PENDING".
func (p Pair) Sentence() string {
	switch {
	case p.Label == "":
		return p.Value
	case p.Value == "", p.Value == "–":
		return strings.TrimSpace(p.Label) + ": none"
	}
	return strings.TrimSpace(p.Label) + ": " + p.Value
}

// Titles are the names of the columns.
func (t *tableColumns) Titles() []string {
	out := make([]string, len(t.columns))
	for i, c := range t.columns {
		out[i] = c.Title
	}
	return out
}

// Len is the number of rows, Row the one at i.
func (t *tableCursor) Len() int      { return t.source.Len() }
func (t *tableCursor) Row(i int) Row { return t.source.Row(i) }

// Empty is what is in the place of rows while there are none.
func (t *Table) Empty() Notice { return t.notice }

// Paged makes a page of n rows whatever its size, for a table that is not drawn.
func (t *Table) Paged(n int) {
	t.Cursor.Columns.paged = n
	t.Cursor.settle()
}

// Said is the filter's mistake as a sentence, "" when it is right.
func (b *FilterBar) Said() string { return b.what }
