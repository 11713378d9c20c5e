package ui

import (
	"cmp"
	"slices"

	"opdeck/ui/draw"
	"opdeck/ui/widget"
)

// The widths from which sections are beside each other: on most pages, and on those of which both columns are narrow.
const (
	besideFrom = 140 - Margins
	narrowFrom = 120 - Margins
)

// narrowColumn is the least width of the right column: a label and an id of 36 cells.
const narrowColumn = 57

// Widths returns the cells of the left and the right part of the page; right is 0 in a
// window that is too narrow for both.
func (p *Page) Widths() (left, right int) {
	from := besideFrom
	if p.Narrow {
		from = narrowFrom
	}
	if p.W < from || p.env.Theme.Linear {
		return p.W, 0
	}
	right = max(p.W*2/5, narrowColumn)
	return p.W - right - 3, right
}

// Inner returns how wide the lines of a section are in a column of w cells: they are below its heading.
func (p *Page) Inner(w int) int {
	return max(w-widget.Indent(p.env.Theme, w), 1)
}

// columns divides sections into the left and the right column, and those below both.
func (p *Page) columns(list []Section) (main, side, below []Section) {
	_, right := p.Widths()
	for _, s := range list {
		switch {
		case right == 0 || !s.Beside && !s.Below:
			main = append(main, s)
		case s.Beside:
			side = append(side, s)
		default:
			below = append(below, s)
		}
	}
	return main, side, below
}

// Layout lays out the lines again.
func (p *Page) Layout() {
	p.screen.Refresh()
	c := p.screen.Content()
	p.problem = c.Problem
	main, side, below := p.columns(c.Sections)
	p.cursor.follow(Content{Sections: slices.Concat(main, side, below)}.Links())
	var lines []string
	lines, p.cursor.line = p.draw(c)
	p.view.SetLines(lines)
	p.view.SetSize(p.W, p.H)
}

// Draw lays content out in W cells without a cursor, for the preview beside a list.
func (p *Page) Draw(c Content) []string {
	p.cursor.links = nil
	lines, _ := p.draw(c)
	return lines
}

// draw lays content out: its lines, then its sections, and those with Beside to the right of
// the others if there is room. line is the line of the cursor.
func (p *Page) draw(c Content) (out []string, line int) {
	main, side, below := p.columns(c.Sections)
	above := 0
	for _, l := range c.Lines {
		above += max(len(draw.Wrap(l, max(p.W, 2))), 1)
	}
	if left, right := p.Widths(); len(side) == 0 {
		out, line = p.sections(main, p.W, above)
	} else {
		l, on := p.sections(main, left, above)
		r, beside := p.sections(side, right, above)
		out, line = widget.Beside(l, r, left), max(on, beside)
	}
	if more, on := p.sections(below, p.W, above+len(out)); len(more) > 0 {
		if on >= 0 {
			line = len(out) + on
		}
		out = append(out, more...)
	}
	if len(c.Lines) == 0 && len(out) > 0 && out[0] == "" { // no empty line above the first heading
		out, line = out[1:], max(line-1, -1)
	}
	if line >= 0 {
		line += len(c.Lines)
	}
	return append(slices.Clip(c.Lines), out...), line
}

// Screenful is how many lines of the page are seen at once while there are more.
func (p *Page) Screenful() int { return max(p.H-1, 1) }

// toNext returns by how many lines n lines that begin at line at are moved so that a screenful shows all of them; 0 if
// one does already, or none can.
func (p *Page) toNext(at, n int) int {
	if on := at % p.Screenful(); on+n > p.Screenful() && n <= p.Screenful() {
		return p.Screenful() - on
	}
	return 0
}

// sections draws sections of w cells below each other; above is how many lines are above them. Consecutive sections of
// facts are in two columns if there is room.
func (p *Page) sections(list []Section, w, above int) (out []string, line int) {
	th := p.env.Theme
	line = -1
	label := 0 // the values of all sections are in one column
	for _, s := range list {
		for _, f := range s.Facts {
			label = max(label, draw.Width(f.Label))
		}
	}
	headed := slices.ContainsFunc(list, func(s Section) bool { return s.Title != "" })
	var facts []widget.Pair
	add := func(lines []string, at int) {
		if at >= 0 {
			line = len(out) + at
		}
		out = append(out, lines...)
	}
	pairs := func(list []widget.Pair) { // a page scrolls, so no value is cut
		list = slices.Clone(list)
		for i := range list {
			list[i].Long = true
		}
		add(widget.PairsAt(th, list, w, label, headed, p.cursor.link().ID))
	}
	flush := func() {
		if len(facts) > 0 {
			out = append(out, "")
			pairs(facts)
		}
		facts = nil
	}
	for _, s := range list {
		if len(s.Lines) == 0 && s.Hint == "" && !s.Apart {
			facts = append(append(facts, widget.Pair{Value: s.Title}), s.Facts...)
			continue
		}
		flush()
		head := th.Title.Render(cmp.Or(s.Drawn, s.Title))
		if s.Hint != "" {
			head += th.Dim.Render("  " + s.Hint)
		}
		if out = append(out, ""); cmp.Or(s.Drawn, s.Title) != "" {
			out = append(out, head)
		}
		pairs(s.Facts)
		if n := p.toNext(above+len(out), len(s.Lines)); s.Whole != "" && n > 0 {
			out = append(append(out, th.Dim.Render(s.Whole)), make([]string, n-1)...)
		}
		add(widget.LinesAt(th, s.Lines, s.Links, w, s.Hang, headed, p.cursor.link().ID))
	}
	flush()
	return out, line
}
