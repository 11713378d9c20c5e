package widget

import (
	"strings"

	"opdeck/ui/draw"
)

// widen makes room for the numbers of the rows on screen, so that each is shown
// in full: a number is never cut. It leaves the columns that are never dropped
// their Min; others give way while such a number is on screen, except that one
// wider than the column's Cap leaves Firm columns where they are.
func (t *Table) widen(rows []Row) {
	never := t.w - t.gutter() + gap // what is left beside columns that are never dropped
	firm := never                   // and beside Firm ones too
	for _, c := range t.columns {
		if c.HidePriority == 0 {
			never -= max(c.Min, 1) + gap
		}
		if c.HidePriority == 0 || c.KeepWidth {
			firm -= max(c.Min, 1) + gap
		}
	}
	changed := false
	for i, c := range t.columns {
		if c.Align == Left {
			continue
		}
		limit := t.w
		if c.HidePriority == 0 {
			limit = min(limit, max(c.Min, 1)+max(never, 0))
		}
		if c.MaxNumberWidth > 0 {
			limit = min(limit, max(c.MaxNumberWidth, c.Min+firm))
		}
		if c.Max > 0 {
			limit = min(limit, c.Max)
		}
		want := 0
		for _, r := range rows {
			s := cellOf(r, i)
			if n := draw.Width(s); n <= limit {
				want = max(want, n)
			} else {
				want = max(want, draw.Width(tooWide(s, limit))) // its words; there is no sense in more room
			}
		}
		want = max(want, c.Min)
		if more := want - max(c.Min, 1); more > 0 && (c.HidePriority == 0 || c.KeepWidth) { // the next number has that much less
			firm -= more
			if c.HidePriority == 0 {
				never -= more
			}
		}
		if want != t.wide[i] {
			t.wide[i] = want
			changed = true
		}
	}
	if changed {
		t.shown = t.layout()
	}
}

// numbers fits the column's numbers to its width. Points stand in one line when
// byPoint is set; one that does not fit must not move the others.
func (c *keptColumn) numbers(byPoint bool) {
	var at draw.Points
	if byPoint {
		at = draw.PointsOf(c.in, c.width)
	}
	if c.drawn == nil || at != c.at || c.width != c.drawnFor || len(c.drawn) > keptNumbers {
		c.at, c.drawnFor, c.drawn = at, c.width, make(map[string]string, len(c.in))
	}
	c.out = c.out[:0]
	for _, s := range c.in {
		d, ok := c.drawn[s]
		if !ok {
			switch {
			case len(s) > c.width && draw.Width(s) > c.width:
				d = draw.PadLeft(tooWide(s, c.width), c.width)
			case byPoint:
				d = at.Put(s)
			default:
				d = draw.PadLeft(s, c.width)
			}
			c.drawn[s] = d
		}
		c.out = append(c.out, d)
	}
}

// keptNumbers bounds the numbers of a column that are kept as drawn.
const keptNumbers = 1000

// tooWide stands for a number that does not fit into w cells. It holds no digit:
// the beginning of a number with "…" behind it, or a rounded one, would be read
// as another amount, and so would one in exponent form by most people. The words
// say what is the matter; the currency is kept where it fits. In cells too few
// for the words it is the "###" that spreadsheets have for this.
func tooWide(s string, w int) string {
	const words = "too wide"
	if i := strings.LastIndexByte(s, ' '); i >= 0 && !strings.ContainsAny(s[i:], "0123456789") {
		if t := words + s[i:]; draw.Width(t) <= w {
			return t
		}
	}
	if len(words) <= w {
		return words
	}
	return strings.Repeat("#", max(w, 0))
}
