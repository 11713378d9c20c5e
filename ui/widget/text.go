package widget

import (
	"opdeck/internal/format"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
)

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
