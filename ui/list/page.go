package list

import (
	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui"
	"opdeck/ui/widget"
)

// Page is a text that covers the list: a record, a report.
type Page struct {
	ID   string // of the page's record; "": none
	View *widget.Viewer

	crumb string
	fill  func(w int) []string
}

// Crumb implements ui.Layer: the short name of the page.
func (p *Page) Crumb() string { return p.crumb }

// Open opens a page above the list: of the record id, "" for none. crumb is its short name, and fill draws its lines
// for a width, again after each message.
func (l *List[T]) Open(id, crumb string, fill func(w int) []string) {
	l.Page = &Page{ID: id, crumb: crumb, fill: fill, View: widget.NewViewer(l.Env.Theme, l.Env.Keys).Footed()}
}

// Close goes back to the list.
func (l *List[T]) Close() { l.Page = nil }

// Layer implements ui.Layered: the page.
func (l *List[T]) Layer() ui.Layer {
	if l.Page == nil {
		return nil
	}
	return l.Page
}

func (p *Page) lay(w, h int) {
	p.View.SetSize(w, h)
	p.View.SetLines(p.fill(w))
}

// Seeking reports whether there is a search in the page, which then gets the screen's
// keys. It works on a nil page.
func (p *Page) Seeking() bool { return p != nil && p.View.Seeking() }

// searching reports whether the person is typing the search text.
func (p *Page) searching() bool { return p != nil && p.View.Searching() }

// ItemID returns the id of the page's record, else of the row under the cursor.
func (l *List[T]) ItemID() string {
	if l.Page != nil {
		return l.Page.ID
	}
	return l.Table.SelectedID()
}

// Step implements ui.Stepper: the page shows the record that is by rows further
// down. It has no effect at an end of the list, or on a page without a record.
func (l *List[T]) Step(by int) (ui.Action, tea.Cmd, bool) {
	if l.Page == nil || l.Page.ID == "" {
		return nil, nil, false
	}
	nav, before := l.Env.Keys.Nav, l.Page.ID
	l.Table.Select(before)
	move := nav.Down
	if by < 0 {
		move = nav.Up
	}
	l.Close()
	_, moved := l.take(move.Msg())
	if l.Table.SelectedID() == before {
		by = 0
	}
	action, opened := l.take(l.Env.Keys.List.Open.Msg())
	if by == 0 {
		action = ui.Many{action, ui.Notify{Level: ui.Info, Text: "End of the list."}}
	}
	return action, tea.Batch(moved, opened), true
}
