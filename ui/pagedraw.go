package ui

import (
	"cmp"
	"slices"

	"opdeck/ui/widget"
)

// besideFrom is the width from which sections are beside each other.
const besideFrom = 140 - Margins

// Widths returns the cells of the left and the right part of the page; right is 0 in a
// window that is too narrow for both.
func (p *Page) Widths() (left, right int) {
	if p.W < besideFrom || p.env.Theme.Linear {
		return p.W, 0
	}
	right = p.W * 2 / 5
	return p.W - right - 3, right
}

// Layout lays out the lines again.
func (p *Page) Layout() {
	p.screen.Refresh()
	c := p.screen.Content()
	p.problem = c.Problem
	p.follow(c.Links())
	var lines []string
	lines, p.line = p.draw(c)
	p.view.SetLines(lines)
	p.view.SetSize(p.W, p.H)
}

// Draw lays content out in W cells without a cursor, for the preview beside a list.
func (p *Page) Draw(c Content) []string {
	p.links = nil
	lines, _ := p.draw(c)
	return lines
}

// draw lays content out: its lines, then its sections, and those with Beside to the right of
// the others if there is room. line is the line of the cursor.
func (p *Page) draw(c Content) (out []string, line int) {
	var main, side []Section
	left, right := p.Widths()
	for _, s := range c.Sections {
		if s.Beside && right > 0 {
			side = append(side, s)
		} else {
			main = append(main, s)
		}
	}
	if len(side) == 0 {
		out, line = p.sections(main, p.W)
	} else {
		l, on := p.sections(main, left)
		r, beside := p.sections(side, right)
		out, line = widget.Beside(l, r, left), max(on, beside)
	}
	if len(c.Lines) == 0 && len(out) > 0 && out[0] == "" { // no empty line above the first heading
		out, line = out[1:], max(line-1, -1)
	}
	if line >= 0 {
		line += len(c.Lines)
	}
	return append(slices.Clip(c.Lines), out...), line
}

// sections draws sections of w cells below each other. Consecutive sections of facts are
// in two columns if there is room.
func (p *Page) sections(list []Section, w int) (out []string, line int) {
	th := p.env.Theme
	line = -1
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
		add(widget.PairsAt(th, list, w, p.Link().ID))
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
		out = append(out, "", head)
		pairs(s.Facts)
		add(widget.LinesAt(th, s.Lines, s.Links, w, s.Hang, p.Link().ID))
	}
	flush()
	return out, line
}
