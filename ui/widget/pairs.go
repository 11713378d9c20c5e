package widget

import (
	"slices"
	"strings"

	"opdeck/internal/format"
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

// PairsAt is Pairs with the cursor on the link at, "" on a page without a cursor; line is where that begins, -1: it is
// not here. Where pairs have links there is room for the cursor's sign before each label. Values begin behind at least
// label cells, so that lists below each other have them in one column. headed: they are below a heading that is not
// in list.
func PairsAt(th *theme.Theme, list []Pair, w, label int, headed bool, at string) (lines []string, line int) {
	const wide, id = 100, 36
	if th.Linear {
		return Sentences(list), -1
	}
	groups := starts(list)
	c := cursor{th: th, at: at, label: label,
		linked: at != "" && slices.ContainsFunc(list, func(p Pair) bool { return p.Link.ID != "" }),
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
	in, wide := draw.Width(c.sign(on)), draw.Width(p.Label)
	fits := func(label int) bool { return in+label+2+draw.Width(p.Value) <= w }
	if (wide > label || !fits(label)) && fits(wide) {
		label = wide // nothing is cut or wrapped beside empty space
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

// Gauge draws part of whole as a bar of w cells, blanks for nothing; tone is its meaning.
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
	if n == 0 {
		return draw.Space(w)
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

// Text is the lines of a page while they are written. What it is given is safe text.
type Text struct {
	Lines []string

	th *theme.Theme
	w  int
	in int // cells to the right: below the heading of a section
}

// NewText begins a page of w cells.
func NewText(th *theme.Theme, w int) *Text { return &Text{th: th, w: max(w, 1)} }

// Title writes the heading of a page or of a group of sections on one line; a blank line is before all but the first.
func (t *Text) Title(s string) {
	if t.in = 0; len(t.Lines) > 0 {
		t.Gap()
	}
	t.Add(t.th.Title.Render(draw.Cut(s, t.w)))
}

// Section writes the heading of a section like Title; what follows is Indent to the right of it.
func (t *Text) Section(s string) {
	t.Title(s)
	t.in = Indent(t.th, t.w)
}

// Room is the width of the lines that are written now.
func (t *Text) Room() int { return max(t.w-t.in, 1) }

// Gap writes a blank line.
func (t *Text) Gap() { t.Add("") }

// Add writes drawn lines, each of at most Room cells.
func (t *Text) Add(lines ...string) {
	for _, l := range lines {
		if l != "" {
			l = draw.Space(t.in) + l
		}
		t.Lines = append(t.Lines, l)
	}
}

// Say writes a sentence in as many lines as it takes.
func (t *Text) Say(tone theme.Tone, s string) { t.under(0, tone, s) }

// Under is Say two cells to the right.
func (t *Text) Under(tone theme.Tone, s string) { t.under(2, tone, s) }

func (t *Text) under(by int, tone theme.Tone, s string) {
	for _, l := range draw.Wrap(s, max(t.Room()-by, 1)) {
		t.Add(draw.Space(by) + t.th.Tone(tone).Render(l))
	}
}

// Cut writes a sentence on one line.
func (t *Text) Cut(tone theme.Tone, s string) { t.Add(t.th.Tone(tone).Render(draw.Cut(s, t.Room()))) }

// Pairs writes labels with their values.
func (t *Text) Pairs(list []Pair) { t.Add(Pairs(t.th, list, t.Room())...) }

// JSON writes a body in at most that many lines; more is said when it is longer.
func (t *Text) JSON(body []byte, most int, more string) {
	lines, whole := format.JSON(body, most)
	t.Add(lines...)
	if !whole {
		t.Add(t.th.Warn.Render("… " + more))
	}
}

// Link is a target of the cursor of a page: a fact, or something to open. All its
// texts except Copy are safe.
type Link struct {
	ID    string // unique on the page; "": no link
	Copy  string // what is copied, exactly
	What  string // names that: "the account number"
	Opens bool   // something opens: the cursor goes from one of these to the next
}

// cursor draws what can be linked, and the sign of the link that it is on.
type cursor struct {
	th     *theme.Theme
	at     string
	label  int  // the least cells of labels
	linked bool // there is room for the sign before each line
	headed bool // the lines are below a heading
}

func (c cursor) on(l Link) bool { return l.ID != "" && l.ID == c.at }

// indent is the width of the cursor's sign with the gap after it.
const indent = 2

// Indent is how many cells to the right of its heading everything below it begins, on a page of w cells: the cursor's
// sign has room there. A narrow page has no cells to spare.
func Indent(th *theme.Theme, w int) int {
	if th.Linear || w < 50 {
		return 0
	}
	return indent
}

// sign is before a line.
func (c cursor) sign(on bool) string {
	switch {
	case on:
		return c.th.Selected(theme.Accent).Render(c.th.Signs.Cursor) + c.th.Selected(theme.Plain).Render(" ")
	case c.linked, c.headed:
		return draw.Space(indent)
	}
	return ""
}

// LinesAt is drawn lines of at most w cells, each with a link or none, with the cursor on
// the link at; line is where that is, -1: it is not here. A line that is too long continues
// below itself, in the column that its text begins in, hang cells from the left. headed: they are below a heading.
func LinesAt(th *theme.Theme, lines []string, links []Link, w, hang int, headed bool, at string) (out []string,
	line int) {
	c := cursor{th: th, at: at, linked: len(links) > 0 && !th.Linear, headed: headed && Indent(th, w) > 0}
	room := max(w-draw.Width(c.sign(false)), 1)
	line = -1
	for i, l := range lines {
		on := i < len(links) && c.on(links[i])
		if on {
			line = len(out)
		}
		for k, part := range draw.Hang(l, hang, room) {
			if on {
				part = th.Selected(theme.Plain).Render(draw.Pad(draw.Unstyled(part), room))
			}
			if part == "" && !on {
				out = append(out, "")
				continue
			}
			out = append(out, c.sign(on && k == 0)+part)
		}
	}
	return out, line
}
