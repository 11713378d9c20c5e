package ui

import (
	"strings"
	"time"

	"opdeck/internal/format"
	"opdeck/ui/draw"
)

// Cell is one cell of a choice that is a row of a table. A narrow menu has no room for the last columns.
type Cell struct {
	Text   string    // safe; a text may be cut
	Number bool      // Text is a number, perhaps with a unit: aligned by its decimal point and never cut
	Whole  bool      // Text is never cut, and long names leave room for it
	Day    time.Time // in the place of Text: its day in the person's time zone
}

// leastCell is the width to which a text is cut at most; a shorter one is never cut.
const leastCell = 12

// choices returns found objects as choices.
func (s *window) choices(list []Found) []Choice {
	out := make([]Choice, len(list))
	for i, f := range list {
		out[i] = Choice{Text: f.Text, About: f.About}
		for _, c := range f.Cells {
			if !c.Day.IsZero() {
				c.Text = format.Date(c.Day, s.shown.zone)
			}
			out[i].Cells = append(out[i].Cells, c)
		}
	}
	return out
}

// said returns the cells in one line, for the filter and for plain mode.
func (c Choice) said() string {
	var out []string
	for _, one := range c.Cells {
		if one.Text != "" {
			out = append(out, one.Text)
		}
	}
	return strings.Join(out, "  ")
}

// wholeCells is the width of the columns whose texts are never cut.
func wholeCells(list []Choice) int {
	var widths []int
	for _, c := range list {
		for k, one := range c.Cells {
			if k >= len(widths) {
				widths = append(widths, 0)
			}
			if one.Whole && one.Text != "" {
				widths[k] = max(widths[k], draw.Width(one.Text)+columnGap)
			}
		}
	}
	all := 0
	for _, w := range widths {
		all += w
	}
	return all
}

// tabled returns choices with their cells as one aligned text in About, at most w cells wide behind the
// widest name of all of them.
func tabled(list []Choice, w int) []Choice {
	out, columns, name := make([]Choice, len(list)), 0, 0
	for i, c := range list {
		if out[i] = c; len(c.Cells) > 0 {
			columns, name = max(columns, len(c.Cells)), max(name, draw.Width(c.Text))
		}
	}
	name = max(min(name, w-wholeCells(list)), min(name, leastName))
	room, full := w-name, false
	for k := range columns {
		column, number, whole := make([]string, len(list)), false, false
		for i, c := range list {
			if k < len(c.Cells) {
				column[i], number, whole = c.Cells[k].Text, number || c.Cells[k].Number, whole || c.Cells[k].Whole
			}
		}
		if number {
			column = draw.Align(column)
		}
		widest := 0
		for _, s := range column {
			widest = max(widest, draw.Width(s))
		}
		least := min(widest, leastCell)
		if number || whole {
			least = widest
		}
		full = full || least+columnGap > room
		if widest == 0 || full {
			continue
		}
		width := min(widest, room-columnGap)
		room -= width + columnGap
		for i, c := range list {
			switch {
			case len(c.Cells) == 0:
			case out[i].About == "":
				out[i].Text, out[i].About = draw.Pad(draw.Middle(c.Text, name), name), draw.Fit(column[i], width)
			default:
				out[i].About += draw.Space(columnGap) + draw.Fit(column[i], width)
			}
		}
	}
	return out
}
