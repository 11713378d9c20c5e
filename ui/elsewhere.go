package ui

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui/keymap"
)

// waitingKey is a key that the shell presses for the person once a screen has loaded.
// Any key that the person presses cancels it.
type waitingKey struct {
	at  screenID // 0: none
	key keymap.Key
}

// pressAt opens the place of a kind for the current object and presses a key there. If the
// person must choose the object first, it shows the key instead.
func (s *router) pressAt(kind string, k keymap.Key, direct bool) tea.Cmd {
	i := slices.Index(placeKinds, kind)
	cmd, _ := s.jump(s.keys.Global.Places()[i].Msg())
	top := s.top()
	switch {
	case top == nil || top.screen.Place().Kind != kind: // a dialog asks for an id or about typed text
		return cmd
	case direct:
		s.afterRead = waitingKey{top.id, k}
		return cmd
	}
	return tea.Batch(cmd, s.notify(Info, k.Help().Key+": "+k.Long+"."))
}

// pressPending presses the waiting key, unless the screen on top is still loading.
func (s *Shell) pressPending() tea.Cmd {
	top := s.top()
	switch {
	case s.afterRead.at == 0:
		return nil
	case top == nil || top.id != s.afterRead.at || len(s.overlays) > 0 || top.screen.Editing():
		s.afterRead = waitingKey{}
		return nil
	case top.screen.Source().Loading:
		return nil
	}
	k := s.afterRead.key
	s.afterRead = waitingKey{}
	return s.press(k.Msg())
}

// unwindThen closes all screens above stack[i] and then calls a function. It asks first
// if one of them has typed text.
func (s *router) unwindThen(i int, then func(*Shell) tea.Cmd) tea.Cmd {
	id := s.stack[i].id
	closing := func(s *Shell) tea.Cmd { return tea.Batch(s.closeAbove(id), then(s)) }
	for _, st := range s.stack[i+1:] {
		if what := unsaved(st); what != "" {
			return s.askDiscard(what, "", closing)
		}
	}
	return s.perform(nil, do(closing))
}

// RunCommand runs a command for the screen on top.
func (s *Shell) RunCommand(c Command) tea.Cmd {
	a, cmd := c.action()
	return tea.Batch(s.act(s.top(), a), cmd)
}

// setTheme changes the theme.
func (s *Shell) setTheme(name string) tea.Cmd {
	next := s.opt.Themes(name)
	if next == nil {
		return s.notify(Denied, "Unknown theme: "+safe(name)+".")
	}
	*s.th = *next // screens and widgets hold the same pointer
	s.hinted = [2]hinted{}
	return tea.Batch(s.keepTheme(next.Name, name), s.broadcast(DisplayChanged{}))
}

// switchContext exits the console to open it on another context. It waits for writes that
// were sent, and asks about typed text.
func (s *exit) switchContext(name string) tea.Cmd {
	leave := func(s *Shell) tea.Cmd {
		s.context = name
		return s.Leave()
	}
	for _, st := range s.stack {
		if what := unsaved(st); what != "" {
			return s.askDiscard(what, "The console opens "+safe(name)+".", leave)
		}
	}
	return s.perform(nil, do(leave))
}

// NextContext returns the context to open after the console has exited; "" for none.
func (s *exit) NextContext() string { return s.context }
