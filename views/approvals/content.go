package approvals

import "opdeck/ui"

// Content implements ui.Contenter.
func (s *Screen) Content() ui.Content {
	s.switchKeys() // time alone can end a request
	if s.page == nil {
		return ui.Content{Lines: s.above(), Table: s.table, Doing: s.doing}
	}
	c := ui.Content{Doing: s.doing, Lines: []string{"This request is not among the newest any more."}}
	if r, ok := s.rows.request(s.page.id); ok {
		c.Lines = s.lines(r, 1000)
	}
	return c
}

// Select implements ui.Selecter.
func (s *Screen) Select(id string) bool {
	ok := s.table.Select(id)
	s.switchKeys()
	return ok
}
