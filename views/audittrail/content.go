package audittrail

import "opdeck/ui"

// Content implements ui.Contenter.
func (s *Screen) Content() ui.Content {
	if s.page != nil {
		return ui.Content{Lines: append([]string{s.page.title + "."}, s.page.fill(1000)...), Doing: s.doing}
	}
	c := ui.Content{Table: s.table, Doing: s.doing, Filter: s.bar}
	if s.bar == nil {
		c.Lines = s.above()
	}
	return c
}

// Select implements ui.Selecter.
func (s *Screen) Select(id string) bool { return s.table.Select(id) }
