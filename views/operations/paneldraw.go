package operations

import (
	"strings"

	"opdeck/internal/format"
	"opdeck/ui/draw"
	"opdeck/ui/widget"
)

// panelHeight is how many lines the totals take of h.
func (s totalsPanel) panelHeight(h int) int {
	if !s.panel.open() {
		return 0
	}
	needs := 6 // all that is drawn beside the rows
	if g := s.panel.grid; g != nil {
		needs += len(g.rows)
		if g.currencies != nil { // the cell under the cursor is said below
			needs++
		}
	}
	most := h * 3 / 5
	if s.panel.focus && h < 20 {
		most = h - 3
	}
	return max(min(max(needs, h/3), most), 0)
}

// panelLines draws the panel in h lines.
func (s totalsPanel) panelLines(w, h int) []string {
	p, th := &s.panel, s.env.Theme
	if !p.open() || h < 2 {
		return nil
	}
	var out []string
	if h >= smallPanel {
		out = append(out, th.Rule.Render(strings.Repeat(th.Signs.Light, max(w, 0))))
	}
	out = append(out, s.tabLine(w, h))
	switch {
	case p.err != nil:
		return draw.Lay(append(out, th.Bad.Render(th.Signs.Bad+" The totals could not be computed.")), w, h)
	case !p.ready:
		return draw.Lay(append(out, th.Dim.Render("Computing the totals …")), w, h)
	case p.grid.all.Count == 0:
		return draw.Lay(append(out, th.Dim.Render("No operations to total.")), w, h)
	}
	head := s.panelHead(h)
	room := h - head
	said := p.focus && room > 3 && p.grid.needsDetail(p.table)
	if said {
		room--
	}
	p.table.Blur(!p.focus)
	p.grid.lay(p.table, w, room, p.focus)
	if out[len(out)-1] = s.tabLine(w, h); h >= smallPanel { // it says how many currencies have no room
		out = append(out, s.summedLine(w), chart(th, p.line, w))
	}
	out = append(out, p.table.Lines()...)
	if said {
		out = append(out, th.Accent.Render(draw.Cut(p.grid.detail(p.table), w)))
	}
	return draw.Lay(out, w, h)
}

// panelHead is how many of the h lines of the panel are above its table.
func (s totalsPanel) panelHead(h int) int {
	if h < smallPanel {
		return 1
	}
	return 4 // a rule, the pages, what is summed, the chart
}

// tabLine is the line of the pages; a narrow window has only the open one, and a low one also what is summed.
func (s totalsPanel) tabLine(w, h int) string {
	p, th := &s.panel, s.env.Theme
	if h >= smallPanel && w >= 60 {
		return widget.Tabs(th, tabs, p.page-1, w)
	}
	line := th.Title.Render(tabs[p.page-1])
	if h >= smallPanel {
		return line
	}
	if s.lacking() {
		line += th.Warn.Render("  " + th.Signs.Warn + " not complete")
	} else {
		line += th.Dim.Render("  amount paid")
	}
	if more := s.moreCurrencies(); more != "" {
		line += th.Accent.Render("  " + more)
	}
	return line
}

// lacking reports whether the sums lack what the index has not read yet.
func (s totalsPanel) lacking() bool { return s.panel.marked == 0 && s.heading().readSoFar() != "" }

// summed says what the sums are of.
func (s totalsPanel) summed() string {
	return s.summedOf("Sums of the amount paid", ", each split by ")
}

// summedOf is that sentence with its words for what is summed and for a second grouping.
func (s totalsPanel) summedOf(out, split string) string {
	p := &s.panel
	switch {
	case p.marked > 0:
		out += ", " + format.Plural(p.marked, "marked operation", "marked operations")
	case s.Filter.Shown.Empty():
		out += ", all statuses and types"
	default:
		out += ", every status and type that the filter shows"
	}
	if p.within != "" {
		out += split + string(p.within)
	}
	return out
}

// summedLine is what the sums are of in w cells, with what is missing in them or has no room.
func (s totalsPanel) summedLine(w int) string {
	th := s.env.Theme
	style, more, room := th.Dim, s.moreCurrencies(), w
	if more != "" {
		room = max(w-draw.Width(more)-2, 0)
		more = "  " + th.Accent.Render(more)
	}
	lines := []string{s.summed(), s.summedOf("Amount paid", ", split by ")}
	if s.lacking() {
		style = th.Warn
		for i, l := range lines {
			lines[i] = th.Signs.Warn + " " + s.heading().readSoFar() + ". " + l
		}
	} else if s.Filter.Shown.Empty() && more == "" {
		lines = append([]string{lines[0] + " (" + s.env.Keys.List.Filter.Help().Key + " narrows)"}, lines...)
	}
	return style.Render(draw.Fitting(room, lines...)) + more
}

// moreCurrencies is how many currencies have no room, with the keys that show them; "" for none.
func (s totalsPanel) moreCurrencies() string {
	p, k := &s.panel, s.env.Keys
	if p.grid == nil {
		return ""
	}
	n, keys := p.grid.hidden(p.table), k.Totals.Right.Help().Key
	if n == 0 {
		return ""
	}
	if !p.focus {
		keys = k.Global.Pane.Help().Key + " " + keys
	}
	return format.Plural(n, "more currency", "more currencies") + ": " + keys
}
