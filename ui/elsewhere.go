package ui

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui/keymap"
)

// waitingKey is a key that is pressed for the person once a screen has read what it shows.
// Any key that they press themselves takes its place.
type waitingKey struct {
	at  screenID // 0: none
	key keymap.Key
}

// pressAt goes to the place of a kind, of the object at hand, and presses a key there;
// or names the key, when what it is about must be chosen first.
func (s *router) pressAt(kind string, k keymap.Key, direct bool) tea.Cmd {
	i := slices.Index(placeKinds, kind)
	cmd, _ := s.jump(s.keys.Global.Places()[i].Msg())
	top := s.top()
	switch {
	case top == nil || top.screen.Place().Kind != kind: // an id is asked for, or typed text holds it up
		return cmd
	case direct:
		s.afterRead = waitingKey{top.id, k}
		return cmd
	}
	return tea.Batch(cmd, s.notify(Info, k.Help().Key+": "+k.Long+"."))
}

// pressPending presses the key that waits for the screen on top, unless that still reads.
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

// unwindThen closes all screens above stack[i] and then does something; it asks first
// when one of them holds typed text.
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

// RunCommand does a command for the screen on top.
func (s *Shell) RunCommand(c Command) tea.Cmd {
	a, cmd := c.action()
	return tea.Batch(s.act(s.top(), a), cmd)
}

// setTheme draws in another theme from now on.
func (s *Shell) setTheme(name string) tea.Cmd {
	next := s.opt.Themes(name)
	if next == nil {
		return s.notify(Denied, "Unknown theme: "+safe(name)+".")
	}
	*s.th = *next // screens and widgets hold the same pointer
	s.hinted = [2]hinted{}
	return tea.Batch(s.notify(Info, "Theme "+next.Name+
		" until you quit. To keep it, set [ui] theme in the config."), s.broadcast(DisplayChanged{}))
}

// switchContext leaves the console to open it on another context: what was sent is
// awaited, typed text is asked about.
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

// NextContext names the context to open after the console was left; empty: none.
func (s *exit) NextContext() string { return s.context }
