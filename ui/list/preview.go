package list

import (
	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/format"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/widget"
)

const (
	previewFrom = 140 - ui.Margins // cells of the screen from which there is a preview at all
	previewLess = 40               // its least width
	previewMost = 56               // and its greatest: an id with its label
	previewGap  = 3                // cells between the rows and it

	// previewed is the lowest HidePriority of columns whose room the preview takes: it says of the row under the
	// cursor what they do. The others tell rows apart, and stay.
	previewed = 8
)

// preview is the row under the cursor, drawn beside the rows.
type preview struct {
	env   *ui.Env
	table *widget.Table        // the rows
	draw  func(w int) []string // the row under the cursor in w cells; nil: there is no preview
	w     int                  // its width in cells; 0: hidden
	row   string               // the id of its row
	top   int                  // the first visible line
	lines []string
}

// fit sets the width of the preview in a window of w cells: 0 if it has no room, is switched off
// or has no content.
func (p *preview) fit(w int, rows bool) {
	p.w = 0
	if p.draw != nil && rows && w >= p.from() && !p.env.Theme.Linear && p.env.Preview() {
		p.w = min(w-p.need()-previewGap, previewMost)
	}
}

// need is the width of the rows with all columns that tell them apart.
func (p *preview) need() int { return p.table.Cursor.Columns.Needs(previewed - 1) }

// from is the width of the screen from which it has room for the preview.
func (p *preview) from() int { return max(previewFrom, p.need()+previewGap+previewLess) }

// beside returns the width of the rows in a window of w cells.
func (p *preview) beside(w int) int {
	if p.w == 0 {
		return w
	}
	return w - p.w - previewGap
}

// lay draws the row under the cursor in h lines, once per message.
func (p *preview) lay(row string, h int) {
	if p.lines = nil; p.w == 0 {
		return
	}
	lines := p.draw(p.w)
	if row != p.row {
		p.row, p.top = row, 0
	}
	p.top = max(min(p.top, len(lines)-h), 0)
	if lines = lines[p.top:]; len(lines) > h && h > 1 {
		th := p.env.Theme
		more := len(lines) - h + 1
		lines = append(lines[:h-1:h-1], th.Dim.Render(th.Signs.More+" "+format.Plural(more, "line", "lines")+" more, "+
			p.env.Keys.List.Open.Help().Key+" opens it"))
	}
	p.lines = draw.Lay(lines, p.w, h)
}

// join adds the preview to the lines of the table.
func (p *preview) join(rows []string, w int, side string) []string {
	if p.w == 0 || len(p.lines) < len(rows) {
		return rows
	}
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = draw.Pad(row, w) + side + p.lines[i]
	}
	return out
}

// switchOver shows or hides the preview; it shows a notice if a window of w cells has no room for it.
func (p *preview) switchOver(w int) ui.Action {
	on := !p.env.Preview()
	act := p.env.SwitchPreview()
	if from := p.from(); on && w < from {
		return ui.Many{act, ui.Notify{Level: ui.Info, Text: "The preview is on. It needs " +
			format.Count(from+ui.Margins) + " columns; this window has " + format.Count(w+ui.Margins) + "."}}
	}
	return act
}

// Page is a text that covers the list: a record, a report.
type Page struct {
	ID   string // of the page's record; "": none
	View *widget.Viewer

	layer ui.Layer
	fill  func(w int) []string
}

// Open opens a page above the list: of the record id, "" for none. crumb is its short name, and fill draws its lines
// for a width, again after each message.
func (l *List[T]) Open(id, crumb string, fill func(w int) []string) {
	l.Page = &Page{ID: id, layer: ui.Layer{Crumb: crumb}, fill: fill,
		View: widget.NewViewer(l.Env.Theme, l.Env.Keys).Footed()}
}

// Layer implements ui.Layered: the page.
func (l *List[T]) Layer() *ui.Layer {
	if l.Page == nil {
		return nil
	}
	return &l.Page.layer
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
	return l.Table.Cursor.SelectedID()
}

// Step implements ui.Stepper: the page shows the record that is by rows further
// down. It has no effect at an end of the list, or on a page without a record.
func (l *List[T]) Step(by int) (ui.Action, tea.Cmd, bool) {
	if l.Page == nil || l.Page.ID == "" {
		return nil, nil, false
	}
	nav, before := l.Env.Keys.Nav, l.Page.ID
	l.Table.Cursor.Select(before)
	move := nav.Down
	if by < 0 {
		move = nav.Up
	}
	l.Page = nil
	_, moved := l.take(move.Msg())
	if l.Table.Cursor.SelectedID() == before {
		by = 0
	}
	action, opened := l.take(l.Env.Keys.List.Open.Msg())
	if by == 0 {
		action = ui.Many{action, ui.Notify{Level: ui.Info, Text: "End of the list."}}
	}
	return action, tea.Batch(moved, opened), true
}

// Click implements ui.Pointer: a click on a row selects it, a click on a column's title sorts by
// that column.
func (l *List[T]) Click(x, y int) (row string, a ui.Action, cmd tea.Cmd, ok bool) {
	y -= len(l.above)
	switch {
	case l.Filter.Typing(), l.Page != nil, x >= l.preview.beside(l.W):
		return "", nil, nil, false
	case l.Sort.orders.Take != nil && l.Table.PointColumn(x, y):
		a, cmd = l.key(l.Env.Keys.List.Sort.Msg())
		l.Table.Cursor.Columns.LeaveColumn()
		l.refresh()
		return "", a, cmd, true
	case l.Table.Point(y):
		cmd = l.screen.ReadOn()
		l.refresh()
		return l.Table.Cursor.SelectedID(), nil, cmd, true
	}
	return "", nil, nil, false
}

// Wheel implements ui.Pointer: it scrolls the preview if the pointer is over it.
func (l *List[T]) Wheel(x, y, by int) bool {
	p := &l.preview
	if l.Page != nil || p.w == 0 || x < l.preview.beside(l.W) || y < len(l.above) || y >= l.H-len(l.below) {
		return false
	}
	p.top = max(p.top+by, 0)
	l.refresh()
	return true
}
