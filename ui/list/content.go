package list

import (
	"strings"

	"opdeck/ui"
	"opdeck/ui/widget"
)

// Content implements ui.Contenter.
func (l *List[T]) Content() ui.Content {
	if l.Page != nil {
		return ui.Content{Lines: l.Page.fill(ui.PlainWidth), Doing: l.Doing}
	}
	c := ui.Content{Table: l.Table, Doing: l.Doing, Filter: l.Filter.bar}
	if !l.Filter.Typing() {
		c.Lines = l.over()
	}
	if l.spec.Detail != nil {
		c.Detail = l.spec.Detail()
	}
	return c
}

const detailFrom = 14 // lines of the screen from which the detail fits

// Below implements Screen: it draws Spec.Detail if there is room.
func (l *List[T]) Below() []string {
	if l.spec.Detail == nil || l.h < detailFrom || l.preview.w > 0 {
		return nil
	}
	pairs := l.spec.Detail()
	if len(pairs) == 0 {
		return nil
	}
	th := l.Env.Theme
	return append([]string{th.Rule.Render(strings.Repeat(th.Signs.Light, max(l.w, 0)))},
		widget.Pairs(th, pairs, min(l.w, 99))...)
}

// Select implements ui.Selecter. If the row is not read yet, the cursor goes to it
// after the read.
func (l *List[T]) Select(id string) bool {
	ok := l.Table.Select(id)
	if !ok && !l.Loaded {
		l.wanted = id
	}
	l.refresh()
	return ok
}
