package list

import "opdeck/ui"

// Content implements ui.Contenter.
func (l *List[T]) Content() ui.Content {
	if l.Page != nil {
		return ui.Content{Lines: l.Page.fill(ui.PlainWidth), Doing: l.Doing}
	}
	c := ui.Content{Table: l.Table, Doing: l.Doing, Filter: l.bar}
	if l.bar == nil {
		c.Lines = l.screen.Above()
	}
	return c
}

// Select implements ui.Selecter.
func (l *List[T]) Select(id string) bool {
	ok := l.Table.Select(id)
	l.refresh()
	return ok
}
