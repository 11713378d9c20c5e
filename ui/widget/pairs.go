package widget

import (
	"slices"
	"strings"

	"opdeck/internal/present"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
)

// Pair is a label with its value, both safe text. A Pair with an empty Label is
// a heading (Value) or, empty too, a blank line.
type Pair struct {
	Label, Value string
	Tone         theme.Tone
	Long         bool // the value may take several lines; else it is cut
	Link         Link // what the cursor of a page is on here; without an id: it passes by
}

// heads reports whether the pair is a heading.
func (p Pair) heads() bool { return p.Label == "" && p.Value != "" }

// Pairs lays a detail view out: labels dim, values after them, in two columns
// of groups when w is wide enough. A group begins at a heading, and its pairs are Indent to the right of that.
// The result has as many lines as it needs, each of at most w cells.
func Pairs(th *theme.Theme, list []Pair, w int) []string {
	lines, _ := PairsAt(th, list, w, 0, false, "")
	return lines
}

// PairsAt is Pairs with the cursor on the link at; line is where that begins, -1: it is
// not here. Where pairs have links there is room for the cursor's sign before each label. Values
// begin behind at least label cells, so that lists below each other have them in one column. headed: they are below a
// heading that is not in list.
func PairsAt(th *theme.Theme, list []Pair, w, label int, headed bool, at string) (lines []string, line int) {
	const wide, id = 100, 36
	if th.Linear {
		return Sentences(list), -1
	}
	groups := starts(list)
	c := cursor{th: th, at: at, label: label,
		linked: slices.ContainsFunc(list, func(p Pair) bool { return p.Link.ID != "" }),
		headed: (headed || slices.ContainsFunc(list, Pair.heads)) && Indent(th, w) > 0}
	if w < wide || len(groups) < 2 {
		return c.column(list, w)
	}
	for _, p := range list {
		label = max(label, draw.Width(p.Label))
	}
	half := max((w-3)/2, draw.Width(c.sign(false))+min(label, 16)+2+id) // an id is not broken behind its label
	// Fill the left column until it holds half of the lines.
	total := len(list) + len(groups)
	cut := 0
	for cut < len(groups)-1 && (groups[cut]+groups[cut+1])/2+cut < total/2 {
		cut++
	}
	left, on := c.column(list[:groups[cut]], half)
	right, beside := c.column(list[groups[cut]:], w-half-3)
	return Beside(left, right, half), max(on, beside)
}

// Beside puts right to the right of left, which takes w cells; three are between them.
func Beside(left, right []string, w int) []string {
	out := make([]string, max(len(left), len(right)))
	for i := range out {
		var l, r string
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		out[i] = draw.Pad(l, w) + "   " + r
	}
	return out
}

// starts is where the groups begin.
func starts(list []Pair) []int {
	var out []int
	for i, p := range list {
		if i == 0 || p.heads() {
			out = append(out, i)
		}
	}
	return out
}

// column draws pairs below each other, and returns the line of the cursor.
func (c cursor) column(list []Pair, w int) (out []string, line int) {
	label, value := c.label, 0
	for _, p := range list {
		label = max(label, draw.Width(p.Label))
		if p.Label != "" {
			value = max(value, draw.Width(p.Value))
		}
	}
	// all of it where the values leave room
	in := draw.Width(c.sign(false))
	label = min(label, max((w-in)/3, min(16, 2*w/5), w-in-2-value, 4))
	line = -1
	for i, p := range list {
		switch {
		case p.Label == "" && p.Value == "":
			out = append(out, "")
		case p.Label == "":
			if i > 0 && len(out) > 0 && out[len(out)-1] != "" {
				out = append(out, "")
			}
			out = append(out, c.th.Title.Render(draw.Cut(p.Value, w)))
		default:
			if c.on(p.Link) {
				line = len(out)
			}
			out = append(out, c.pair(p, label, w)...)
		}
	}
	return out, line
}

// pair draws one pair, all of its lines in the look of the cursor when that is on it.
func (c cursor) pair(p Pair, label, w int) []string {
	style, on := c.th.Tone, c.on(p.Link)
	if wide := draw.Width(p.Label); wide > label && draw.Width(c.sign(on))+wide+2+draw.Width(p.Value) <= w {
		label = wide // nothing is cut beside empty space
	}
	if on {
		style = c.th.Selected
	}
	sign := c.sign(on)
	head := style(theme.Dim).Render(draw.Fit(p.Label, max(min(label, w-draw.Width(sign)), 0)))
	room := w - draw.Width(sign) - label - 2
	if room <= 0 {
		return []string{sign + head}
	}
	lines := []string{p.Value}
	if p.Long {
		lines = draw.Wrap(p.Value, room)
	}
	for i, l := range lines {
		if i > 0 {
			sign, head = c.sign(false), style(theme.Plain).Render(draw.Space(label))
		}
		if l = draw.Cut(l, room); on {
			lines[i] = sign + head + style(p.Tone).Render("  "+draw.Pad(l, room))
		} else {
			lines[i] = sign + head + "  " + style(p.Tone).Render(l)
		}
	}
	return lines
}

// Step is one line of a Checklist; its texts are safe.
type Step struct {
	Text string
	Sign present.Sign
	Word string // where the step is: "done"
	Tone theme.Tone
	Note string // dim, behind
}

// Checklist draws steps with sign, word and colour, one line each.
func Checklist(th *theme.Theme, steps []Step, w int) []string {
	out := make([]string, 0, len(steps))
	for _, s := range steps {
		if th.Linear {
			out = append(out, strings.TrimSpace(s.Text)+": "+s.Word+". "+s.Note)
			continue
		}
		sign, word := th.SignOf(s.Sign), max(8, draw.Width(s.Word))
		head := th.Tone(s.Tone).Render(sign+" "+draw.Fit(s.Word, word)) + " "
		room := w - word - 3
		if room <= 0 {
			out = append(out, draw.Cut(sign+" "+s.Text, w))
			continue
		}
		line := draw.Cut(s.Text, room)
		if note := room - draw.Width(line) - 2; s.Note != "" && note > 3 {
			line += "  " + th.Dim.Render(draw.Cut(s.Note, note))
		}
		out = append(out, head+line)
	}
	return out
}

// Gauge draws part of whole as a bar of w cells; tone is its meaning.
func Gauge(th *theme.Theme, part, whole, w int, tone theme.Tone) string {
	if w <= 0 {
		return ""
	}
	n := 0
	if whole > 0 {
		n = min(max(part, 0), whole) * w / whole
		if n == 0 && part > 0 {
			n = 1
		}
	}
	return th.Tone(tone).Render(strings.Repeat(th.Signs.Full, n)) + th.Dim.Render(strings.Repeat(th.Signs.Empty, w-n))
}

// Sparkline draws the last w values as columns of height one; negative values
// count as zero, the highest value fills the cell.
func Sparkline(th *theme.Theme, values []int, w int, tone theme.Tone) string {
	if len(values) > w {
		values = values[len(values)-max(w, 0):]
	}
	top := 0
	for _, v := range values {
		top = max(top, v)
	}
	var b strings.Builder
	for _, v := range values {
		level := 0
		if top > 0 {
			level = max(v, 0) * (len(th.Signs.Spark) - 1) / top
		}
		b.WriteString(th.Signs.Spark[level])
	}
	return th.Tone(tone).Render(b.String())
}
