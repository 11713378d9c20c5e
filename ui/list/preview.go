package list

import (
	"opdeck/internal/format"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/widget"
)

const (
	previewFrom = 140 - ui.Margins // cells of the screen from which there is a preview at all
	previewLess = 40               // its least width
	previewMost = 56               // and its greatest: an id with its label
	previewGap  = 3                // cells between the rows and it

	// previewed is the lowest HidePriority of columns whose room the preview takes: it says of the row under the
	// cursor what they do. The others tell rows apart, and stay.
	previewed = 8
)

// preview is the row under the cursor, drawn beside the rows.
type preview struct {
	env   *ui.Env
	table *widget.Table        // the rows
	draw  func(w int) []string // the row under the cursor in w cells; nil: there is no preview
	w     int                  // its width in cells; 0: hidden
	row   string               // the id of its row
	top   int                  // the first visible line
	lines []string
	keep  *joined
}

// joined holds the lines of the last frame; unchanged lines are the same strings.
type joined struct {
	w                int    // of the rows
	side             string // between them
	left, right, out []string
}

// fit sets the width of the preview in a window of w cells: 0 if it has no room, is switched off
// or has no content.
func (p *preview) fit(w int, rows bool) {
	p.w = 0
	if p.draw != nil && rows && w >= p.from() && !p.env.Theme.Linear && p.env.Preview() {
		p.w = min(w-p.need()-previewGap, previewMost)
	}
}

// need is the width of the rows with all columns that tell them apart.
func (p *preview) need() int { return p.table.Needs(previewed - 1) }

// from is the width of the screen from which it has room for the preview.
func (p *preview) from() int { return max(previewFrom, p.need()+previewGap+previewLess) }

// beside returns the width of the rows in a window of w cells.
func (p *preview) beside(w int) int {
	if p.w == 0 {
		return w
	}
	return w - p.w - previewGap
}

// lay draws the row under the cursor in h lines, once per message.
func (p *preview) lay(row string, h int) {
	if p.lines = nil; p.w == 0 {
		return
	}
	lines := p.draw(p.w)
	if row != p.row {
		p.row, p.top = row, 0
	}
	p.top = max(min(p.top, len(lines)-h), 0)
	if lines = lines[p.top:]; len(lines) > h && h > 1 {
		th := p.env.Theme
		more := len(lines) - h + 1
		lines = append(lines[:h-1:h-1], th.Dim.Render(th.Signs.More+" "+format.Plural(more, "line", "lines")+" more, "+
			p.env.Keys.List.Open.Help().Key+" opens it"))
	}
	p.lines = draw.Lay(lines, p.w, h)
}

// join adds the preview to the lines of the table.
func (p *preview) join(rows []string, w int, side string) []string {
	if p.w == 0 || len(p.lines) < len(rows) {
		return rows
	}
	k := p.keep
	out := make([]string, len(rows))
	for i, row := range rows {
		if w == k.w && side == k.side && i < len(k.out) && k.left[i] == row && k.right[i] == p.lines[i] {
			out[i] = k.out[i]
			continue
		}
		out[i] = draw.Pad(row, w) + side + p.lines[i]
	}
	k.w, k.side, k.left, k.right, k.out = w, side, append(k.left[:0], rows...), p.lines, out
	return out
}

// switchOver shows or hides the preview; it shows a notice if a window of w cells has no room for it.
func (p *preview) switchOver(w int) ui.Action {
	on := !p.env.Preview()
	act := p.env.SwitchPreview()
	if from := p.from(); on && w < from {
		return ui.Many{act, ui.Notify{Level: ui.Info, Text: "The preview is on. It needs " +
			format.Count(from+ui.Margins) + " columns; this window has " + format.Count(w+ui.Margins) + "."}}
	}
	return act
}
