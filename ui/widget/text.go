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
}

// NewText begins a page of w cells.
func NewText(th *theme.Theme, w int) *Text { return &Text{th: th, w: max(w, 1)} }

// Title writes a heading on one line; a blank line is before all but the first.
func (t *Text) Title(s string) {
	if len(t.Lines) > 0 {
		t.Gap()
	}
	t.Add(t.th.Title.Render(draw.Cut(s, t.w)))
}

// Gap writes a blank line.
func (t *Text) Gap() { t.Add("") }

// Add writes lines as they are.
func (t *Text) Add(lines ...string) { t.Lines = append(t.Lines, lines...) }

// Say writes a sentence in as many lines as it takes.
func (t *Text) Say(tone theme.Tone, s string) { t.under(0, tone, s) }

// Under is Say two cells to the right.
func (t *Text) Under(tone theme.Tone, s string) { t.under(2, tone, s) }

func (t *Text) under(by int, tone theme.Tone, s string) {
	for _, l := range draw.Wrap(s, max(t.w-by, 1)) {
		t.Add(draw.Space(by) + t.th.Tone(tone).Render(l))
	}
}

// Cut writes a sentence on one line.
func (t *Text) Cut(tone theme.Tone, s string) { t.Add(t.th.Tone(tone).Render(draw.Cut(s, t.w))) }

// Pairs writes labels with their values.
func (t *Text) Pairs(list []Pair) { t.Add(Pairs(t.th, list, t.w)...) }

// JSON writes a body, by cells to the right and in at most that many lines; more is said
// when it is longer.
func (t *Text) JSON(body []byte, by, most int, more string) {
	lines, whole := format.JSON(body, most)
	for _, l := range lines {
		t.Add(draw.Space(by) + l)
	}
	if !whole {
		t.Add(draw.Space(by) + t.th.Warn.Render("… "+more))
	}
}
