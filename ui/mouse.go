package ui

import (
	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui/keymap"
)

// Pointer is for screens with rows that a click reaches: Point puts the cursor on the one
// at line y of the screen and returns its id; ok is false when none is there.
type Pointer interface {
	Point(y int) (id string, cmd tea.Cmd, ok bool)
}

// clicked is where the last click put a cursor; a key forgets it.
type clicked struct {
	screen screenID
	row    string // its id
}

// wheelLines is how far one notch of the wheel goes.
const wheelLines = 3

// mouse moves by the wheel, and selects and opens rows by clicks. Nothing that asks
// something hears it: no question, form or explanation is answered by the mouse.
func (s *Shell) mouse(m tea.MouseMsg) tea.Cmd {
	if !s.visible() || s.leaving {
		return nil
	}
	s.lock.lastKey = s.now()
	e := tea.MouseEvent(m)
	switch {
	case e.Button == tea.MouseButtonWheelUp:
		return s.wheel(s.keys.Nav.Up, s.keys.Menu.Up)
	case e.Button == tea.MouseButtonWheelDown:
		return s.wheel(s.keys.Nav.Down, s.keys.Menu.Down)
	case e.Button == tea.MouseButtonLeft && e.Action == tea.MouseActionPress:
		return s.click(e.Y)
	}
	return nil
}

// wheel moves what is on top: a text, a menu, or the screen.
func (s *Shell) wheel(line, choice keymap.Key) tea.Cmd {
	s.clicked = clicked{}
	var cmds []tea.Cmd
	for range wheelLines {
		if n := len(s.overlays); n > 0 {
			switch o := s.overlays[n-1].(type) {
			case *pager:
				cmds = append(cmds, s.overlayKey(o, line.Msg()))
			case *menu:
				cmds = append(cmds, s.overlayKey(o, choice.Msg()))
			}
		} else if top := s.top(); top != nil && !top.screen.Editing() {
			cmds = append(cmds, s.deliver(top, line.Msg()))
		}
	}
	return tea.Batch(cmds...)
}

// click selects the row at a line of the window; a second click on it opens it.
func (s *Shell) click(y int) tea.Cmd {
	top := s.top()
	if top == nil || len(s.overlays) > 0 || top.screen.Editing() {
		return nil
	}
	screen, ok := top.screen.(Pointer)
	body := y - 2 - s.guided
	if _, h := s.body(); !ok || body < 0 || body >= h {
		return nil
	}
	before := s.clicked
	id, cmd, ok := screen.Point(body)
	if !ok {
		return nil
	}
	if s.clicked = (clicked{top.id, id}); s.clicked == before && before.row != "" {
		s.clicked = clicked{}
		return tea.Batch(cmd, s.press(s.keys.List.Open.Msg()))
	}
	return cmd
}
