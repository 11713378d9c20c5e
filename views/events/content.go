package events

import "opdeck/ui"

// Content implements ui.Contenter.
func (s *Screen) Content() ui.Content {
	switch {
	case s.page != nil:
		return ui.Content{Lines: s.page.fill(1000), Doing: s.doing}
	case s.bar != nil:
		return ui.Content{Table: s.table, Filter: s.bar}
	case s.inited && s.err == nil && s.rows.Len() == 0 && s.text == "" && s.cfg.Listen == "" && len(s.troubles()) == 0:
		return ui.Content{Lines: append([]string{"No event has come."}, s.switchOn(1000)...)}
	}
	return ui.Content{Lines: s.above(), Table: s.table, Doing: s.doing}
}

// Select implements ui.Selecter.
func (s *Screen) Select(id string) bool {
	ok := s.table.Select(id)
	s.switchKeys()
	return ok
}
