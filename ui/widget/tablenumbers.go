package widget

import (
	"strings"

	"opdeck/ui/text"
)

// widen makes room for the numbers of the rows on screen, so that each is shown
// in full: a number is never cut. It leaves the columns that are never dropped
// their Min; others give way while such a number is on screen, except that one
// wider than the column's Cap leaves Firm columns where they are.
func (t *Table) widen(rows []Row) {
	never := t.w - t.gutter() + gap // what is left beside columns that are never dropped
	firm := never                   // and beside Firm ones too
	for _, c := range t.columns {
		if c.Drop == 0 {
			never -= max(c.Min, 1) + gap
		}
		if c.Drop == 0 || c.Firm {
			firm -= max(c.Min, 1) + gap
		}
	}
	changed := false
	for i, c := range t.columns {
		if c.Align == Left {
			continue
		}
		limit := t.w
		if c.Drop == 0 {
			limit = min(limit, max(c.Min, 1)+max(never, 0))
		}
		if c.Cap > 0 {
			limit = min(limit, max(c.Cap, c.Min+firm))
		}
		if c.Max > 0 {
			limit = min(limit, c.Max)
		}
		want := 0
		for _, r := range rows {
			s := cellOf(r, i)
			if n := text.Width(s); n <= limit {
				want = max(want, n)
			} else {
				want = max(want, text.Width(tooWide(s, limit))) // its words; there is no sense in more room
			}
		}
		want = max(want, c.Min)
		if more := want - max(c.Min, 1); more > 0 && (c.Drop == 0 || c.Firm) { // the next number has that much less
			firm -= more
			if c.Drop == 0 {
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

// numbers fits a column of numbers to w cells, in place. Points stand in one line
// when byPoint is set.
func numbers(col []string, w int, byPoint bool) {
	var lost map[int]string
	for i, s := range col {
		if text.Width(s) > w {
			if lost == nil {
				lost = map[int]string{}
			}
			lost[i], col[i] = tooWide(s, w), "" // it must not move the others
		}
	}
	if byPoint {
		copy(col, text.AlignTo(col, w))
	}
	for i, s := range col {
		if lost[i] != "" {
			s = lost[i]
		}
		col[i] = text.PadLeft(s, w)
	}
}

// tooWide stands for a number that does not fit into w cells. It holds no digit:
// the beginning of a number with "…" behind it, or a rounded one, would be read
// as another amount, and so would one in exponent form by most people. The words
// say what is the matter; the currency is kept where it fits. In cells too few
// for the words it is the "###" that spreadsheets have for this.
func tooWide(s string, w int) string {
	const words = "too wide"
	if i := strings.LastIndexByte(s, ' '); i >= 0 && !strings.ContainsAny(s[i:], "0123456789") {
		if t := words + s[i:]; text.Width(t) <= w {
			return t
		}
	}
	if len(words) <= w {
		return words
	}
	return strings.Repeat("#", max(w, 0))
}
