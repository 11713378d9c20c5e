package operations

import (
	"opdeck/ui"
)

// Content implements ui.Contenter.
func (s *Screen) Content() ui.Content {
	c := s.List.Content()
	if c.Filter == nil {
		c.Lines = s.heading().summaries()
	}
	c.Sections = s.sums().panelSections()
	if p := &s.panel; p.focus && p.ready && p.err == nil {
		p.grid.whole(p.table)
		c.Table, c.Sections = p.table, nil
	}
	return c
}

// summaries say what is shown, and how fresh that is.
func (s heading) summaries() []string {
	line := s.summary()
	if s.known() {
		line = s.whole()
	}
	if some := s.readSoFar(); some != "" {
		line += ", attention: " + some
	}
	if name := s.saves().viewName(); name != "" {
		line += ", view " + name
	}
	if !s.Filter.Shown.Empty() {
		line += ", filter " + s.Filter.Shown.String()
	}
	out := []string{line + ", sorted by " + s.sort.Field + ", " + direction(s.order()) + "."}
	if s.mixed() {
		out[0] += " Mixed currencies: sorted by number only."
	}
	if p := s.progress(); p != "" && s.readSoFar() == "" {
		out = append(out, p)
	}
	if s.lacks.Rows > 0 {
		out = append(out, s.lacks.String())
	}
	if s.Err != nil && s.rows.total > 0 {
		out = append(out, "attention: "+s.Err.Public)
	}
	return out
}
