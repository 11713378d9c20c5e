package ui

import (
	"context"
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
	cmd, _ := s.jump(s.win.keys.Global.Places()[i].Msg())
	top := s.stack.top()
	switch {
	case top == nil || top.screen.Place().Kind != kind: // a dialog asks for an id or about typed text
		return cmd
	case direct:
		s.afterRead = waitingKey{top.id, k}
		return cmd
	}
	return tea.Batch(cmd, s.status.notify(Info, k.Help().Key+": "+k.Long+"."))
}

// pressPending presses the waiting key, unless the screen on top is still loading.
func (s *Shell) pressPending() tea.Cmd {
	top := s.stack.top()
	switch {
	case s.route.afterRead.at == 0:
		return nil
	case top == nil || top.id != s.route.afterRead.at || len(s.dialogs.overlays) > 0 || top.screen.Editing():
		s.route.afterRead = waitingKey{}
		return nil
	case top.screen.Source().Loading:
		return nil
	}
	k := s.route.afterRead.key
	s.route.afterRead = waitingKey{}
	return s.press(k.Msg())
}

// unwindThen closes all screens above stack[i] and then calls a function. It asks first
// if one of them has typed text.
func (s *router) unwindThen(i int, then func(*Shell) tea.Cmd) tea.Cmd {
	id := s.stack.stack[i].id
	return s.closing(s.stack.stack[i+1:], "", func(sh *Shell) tea.Cmd { return tea.Batch(s.closeAbove(id), then(sh)) })
}

// RunCommand runs a command for the screen on top.
func (s *Shell) RunCommand(c Command) tea.Cmd {
	a, cmd := c.action()
	return tea.Batch(s.act(s.stack.top(), a), cmd)
}

// setTheme changes the theme, saves the choice for the person and says so.
func (s *Shell) setTheme(name string) tea.Cmd {
	next := s.win.opt.Themes(name)
	if next == nil {
		return s.status.notify(Denied, "Unknown theme: "+safe(name)+".")
	}
	*s.win.th = *next // screens and widgets hold the same pointer
	s.hints.hinted = [2]hinted{}
	keep, ctx, shown := s.win.opt.KeepTheme, context.WithoutCancel(s.win.root), next.Name
	kept := func() tea.Msg { return themeKept{shown, keep(ctx, name)} }
	if keep == nil {
		kept = s.status.notify(Info, "Theme "+shown+" until you quit. To keep it, set [ui] theme in the config.")
	}
	return tea.Batch(kept, s.route.broadcast(DisplayChanged{}))
}

// switchContext exits the console to open it on another context. It waits for writes that
// were sent, and asks about typed text.
func (s *Shell) switchContext(name string) tea.Cmd {
	return s.route.closing(s.stack.stack, "The console opens "+safe(name)+".", func(s *Shell) tea.Cmd {
		s.nextContext = name
		return s.Leave()
	})
}

// NextContext returns the context to open after the console has exited; "" for none.
func (s *Shell) NextContext() string { return s.nextContext }
