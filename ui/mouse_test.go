package ui_test

import (
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/uitest"
)

func clickAt(y int) tea.Msg {
	return tea.MouseMsg{X: 20, Y: y, Button: tea.MouseButtonLeft, Action: tea.MouseActionPress}
}

func notch(b tea.MouseButton) tea.Msg {
	return tea.MouseMsg{Y: 5, Button: b, Action: tea.MouseActionPress}
}

// A click selects the row that is drawn there, a second one on it opens it; a key or
// another row in between begins again, and what is no row does nothing.
func TestClicks(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(uitest.Size(100, 24))
	opened := 0
	w.top().extra = func(msg tea.Msg) (ui.Action, tea.Cmd, bool) {
		p, ok := msg.(keymap.Press)
		if ok && keymap.New().List.Open.Match(p) {
			opened++
			return ui.Handled{}, nil, true
		}
		return nil, nil, false
	}
	line := func(part string) int {
		for y, l := range strings.Split(r.View(), "\n") {
			if strings.Contains(l, part) {
				return y
			}
		}
		t.Fatalf("no %q in\n%s", part, r.View())
		return 0
	}
	third, second := line("cccc"), line("bbbb")
	r.Send(clickAt(third))
	if got := w.top().table.Cursor.At(); got != 2 || opened != 0 {
		t.Errorf("the cursor is on %d, %d opened", got, opened)
	}
	r.Send(clickAt(second), clickAt(third), uitest.Key("G"), clickAt(third))
	if opened != 0 {
		t.Error("one click opened")
	}
	r.Send(clickAt(third))
	if opened != 1 {
		t.Errorf("%d opened by the second click", opened)
	}
	for _, y := range []int{0, 1, 2, third + 1, 22, 23, 500, -1} {
		r.Send(clickAt(y), clickAt(y))
	}
	if got := w.top().table.Cursor.At(); got != 2 || opened != 1 {
		t.Errorf("beside the rows: the cursor is on %d, %d opened", got, opened)
	}
	r.Send(notch(tea.MouseButtonWheelUp))
	if got := w.top().table.Cursor.At(); got != 0 {
		t.Errorf("the wheel moves to %d", got)
	}
	r.Send(tea.MouseMsg{X: 90, Y: 5, Button: tea.MouseButtonWheelDown, Action: tea.MouseActionPress})
	if got := w.top().table.Cursor.At(); got != 0 || w.top().pane != 3 {
		t.Errorf("over the pane the wheel moves to %d and scrolls by %d", got, w.top().pane)
	}
}

// The mouse answers nothing: a question stays as it was drawn under any click and wheel,
// as do explanations, forms and what is typed. Texts and menus scroll.
func TestTheMouseAnswersNothing(t *testing.T) {
	for _, open := range []string{"x", "o", "/"} {
		w := newWorld()
		r := w.start(t, w.options(ui.Production)).Send(uitest.Key(open), w.clock.Wait(armed))
		before := r.View()
		for y := range 24 {
			for _, b := range []tea.MouseButton{tea.MouseButtonLeft, tea.MouseButtonRight, tea.MouseButtonMiddle, tea.MouseButtonWheelUp, tea.MouseButtonWheelDown} {
				for x := 0; x < 80; x += 7 {
					r.Send(tea.MouseMsg{X: x, Y: y, Button: b, Action: tea.MouseActionPress}, tea.MouseMsg{X: x, Y: y, Button: b, Action: tea.MouseActionRelease})
				}
			}
		}
		if r.View() != before || len(w.removed) > 0 || r.Quit {
			t.Errorf("after %s the mouse did something:\n%s\nbefore:\n%s", open, r.View(), before)
		}
	}
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(uitest.Key("?"))
	before := r.View()
	if r.Send(notch(tea.MouseButtonWheelDown)); r.View() == before {
		t.Error("the wheel does not scroll the help")
	}
	if r.Send(notch(tea.MouseButtonWheelUp)); r.View() != before {
		t.Error("nor back")
	}
}
