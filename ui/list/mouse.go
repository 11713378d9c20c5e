package list

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui"
	"opdeck/ui/keymap"
)

// Click implements ui.Pointer: a click on a row selects it, a click on a column's title sorts by
// that column.
func (l *List[T]) Click(x, y int) (row string, a ui.Action, cmd tea.Cmd, ok bool) {
	y -= len(l.above)
	switch {
	case l.Filter.Typing(), l.Page != nil, x >= l.preview.beside(l.w):
		return "", nil, nil, false
	case l.sorts() && l.Table.PointColumn(x, y):
		a, cmd = l.key(l.Env.Keys.List.Sort.Msg())
		l.Table.LeaveColumn()
		l.refresh()
		return "", a, cmd, true
	case l.Table.Point(y):
		cmd = l.screen.ReadOn()
		l.refresh()
		return l.Table.SelectedID(), nil, cmd, true
	}
	return "", nil, nil, false
}

// sorts reports whether the screen has the key that sorts.
func (l *List[T]) sorts() bool {
	return slices.ContainsFunc(l.screen.HelpKeys(), func(k keymap.Key) bool { return k.Name == l.Env.Keys.List.Sort.Name })
}

// Wheel implements ui.Pointer: it scrolls the preview if the pointer is over it.
func (l *List[T]) Wheel(x, y, by int) bool {
	p := &l.preview
	if l.Page != nil || p.w == 0 || x < l.preview.beside(l.w) || y < len(l.above) || y >= l.h-len(l.below) {
		return false
	}
	p.top = max(p.top+by, 0)
	l.refresh()
	return true
}
