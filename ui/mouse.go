package ui

import (
	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui/keymap"
)

// Pointer is implemented by screens that handle the mouse.
type Pointer interface {
	// Click handles a click at a cell of the screen: it puts the cursor on that row and
	// returns its id, or performs another function of the cell; ok is false if there is none.
	Click(x, y int) (row string, a Action, cmd tea.Cmd, ok bool)
	// Wheel scrolls the pane at a cell by lines; false if there is none beside the rows.
	Wheel(x, y, by int) bool
}

// clicked is the row of the last click; a key clears it.
type clicked struct {
	screen screenID
	row    string // its id
}

// wheelLines is the number of lines for one notch of the wheel.
const wheelLines = 3

// mouse scrolls by the wheel, and selects and opens rows by clicks. It ignores events while a
// question, form or explanation is open: the mouse never answers one.
func (s *Shell) mouse(m tea.MouseMsg) tea.Cmd {
	if !s.visible() || s.sent.leaving {
		return nil
	}
	s.lock.lastKey = s.win.now()
	e := tea.MouseEvent(m)
	switch {
	case e.Button == tea.MouseButtonWheelUp:
		return s.wheel(e, -wheelLines, s.win.keys.Nav.Up, s.win.keys.Menu.Up)
	case e.Button == tea.MouseButtonWheelDown:
		return s.wheel(e, wheelLines, s.win.keys.Nav.Down, s.win.keys.Menu.Down)
	case e.Button == tea.MouseButtonLeft && e.Action == tea.MouseActionPress:
		return s.click(e)
	}
	return nil
}

// pointed returns the screen that handles the mouse and its line at a line of the
// window; nil for none.
func (s *router) pointed(y int) (p Pointer, line int) {
	top := s.stack.top()
	if top == nil || len(s.dialogs.overlays) > 0 || top.screen.Editing() {
		return nil, 0
	}
	line = y - s.win.headed()
	if _, h := s.win.body(); line < 0 || line >= h {
		return nil, 0
	}
	p, _ = top.screen.(Pointer)
	return p, line
}

// wheel scrolls the text or menu on top, the pane under the pointer, or the screen.
func (s *Shell) wheel(e tea.MouseEvent, by int, line, choice keymap.Key) tea.Cmd {
	s.clicked = clicked{}
	if p, y := s.route.pointed(e.Y); p != nil && p.Wheel(e.X-s.win.margin(), y, by) {
		return nil
	}
	var cmds []tea.Cmd
	for range wheelLines {
		switch o := s.dialogs.top().(type) {
		case nil:
			if top := s.stack.top(); top != nil && !top.screen.Editing() {
				cmds = append(cmds, s.route.deliver(top, line.Msg()))
			}
		case *pager:
			cmds = append(cmds, s.overlayKey(o, line.Msg()))
		case *menu:
			cmds = append(cmds, s.overlayKey(o, choice.Msg()))
		}
	}
	return tea.Batch(cmds...)
}

// click selects the row at a cell of the window, and a second click opens it; or it
// performs another function of the screen at that cell.
func (s *Shell) click(e tea.MouseEvent) tea.Cmd {
	p, y := s.route.pointed(e.Y)
	if p == nil {
		return nil
	}
	top, before := s.stack.top(), s.clicked
	row, a, cmd, ok := p.Click(e.X-s.win.margin(), y)
	if !ok {
		return nil
	}
	cmd = tea.Batch(cmd, s.act(top, a))
	if s.clicked = (clicked{top.id, row}); s.clicked == before && row != "" {
		s.clicked = clicked{}
		return tea.Batch(cmd, s.press(s.win.keys.List.Open.Msg()))
	}
	return cmd
}
