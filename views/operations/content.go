package operations

import (
	"cmp"
	"strings"

	"opdeck/internal/domain/index"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/list"
)

// Content implements ui.Contenter.
func (s *Screen) Content() ui.Content {
	c := s.List.Content()
	if c.Filter == nil {
		c.Lines = s.summaries()
	}
	if s.panel.open() && s.panel.ready {
		title := tabs[s.panel.page-1]
		if n := s.panel.marked; n > 0 {
			title += " of " + draw.Count(n) + " marked"
		}
		c.Sections = []ui.Section{{Title: title, Lines: append(s.panel.sentences(), s.env.Keys.Operations.Totals.Help().Key+" says: "+s.panel.next())}}
	}
	return c
}

// summaries say what is shown, and how fresh that is.
func (s *Screen) summaries() []string {
	line := s.summary()
	if !s.Filter.Empty() {
		line += ", filter " + s.Filter.String()
	}
	out := []string{line + ", sorted by " + s.sort.Field + ", " + list.Direction(s.order()) + "."}
	if s.mixed() {
		out[0] += " Currencies are mixed: the number alone counts."
	}
	if s.cfg.Progress != nil {
		if p, ok := s.cfg.Progress(); ok {
			out = append(out, p)
		}
	}
	if s.Err != nil && s.rows.total > 0 {
		out = append(out, "attention: "+s.Err.Public)
	}
	return out
}

// sentences are the page of totals that is open.
func (p panel) sentences() []string {
	var out []string
	sums := func(list []index.Sum) string {
		var parts []string
		for _, s := range list {
			parts = append(parts, draw.Money(money{s.Currency, s.Amount}))
		}
		return strings.Join(parts, ", ")
	}
	if p.err != nil {
		out = append(out, "The totals could not be computed.")
	}
	for _, s := range p.sums {
		line := sums([]index.Sum{s}) + " in " + draw.Plural(int(s.Count), "operation", "operations")
		if s.Bad > 0 {
			line += ", attention: " + draw.Count(int(s.Bad)) + " without a usable amount"
		}
		out = append(out, line)
	}
	for _, g := range p.groups {
		name := cmp.Or(g.Name.Line(60), g.Key.Line(40), "(none)")
		out = append(out, name+": "+draw.Count(int(g.Count))+", "+sums(g.Sums))
	}
	return out
}
