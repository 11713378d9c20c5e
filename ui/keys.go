package ui

import (
	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// key takes what was typed: one key, or several in a burst.
func (s *Shell) key(msg tea.KeyMsg) tea.Cmd {
	if s.touch() {
		return nil
	}
	if isBurst(msg) {
		return s.burst(msg)
	}
	return s.press(msg)
}

// press takes one key: the top dialog, else global keys unless text is typed,
// else the top screen.
func (s *Shell) press(msg tea.KeyMsg) tea.Cmd {
	if s.keys.Global.Leave.Match(msg) {
		return s.interrupt()
	}
	if s.leaving {
		return nil
	}
	if n := len(s.overlays); n > 0 {
		return s.overlayKey(s.overlays[n-1], msg)
	}
	top := s.top()
	if top == nil { // the first screen could not be made
		if s.keys.Global.Quit.Match(msg) || s.keys.Global.Back.Match(msg) {
			return s.askLeave()
		}
		cmd, _ := s.jump(msg)
		return cmd
	}
	if top.screen.Editing() {
		return s.give(top, msg)
	}
	if widget.IsPaste(msg) {
		return s.tell(Refused, "Pasted text does nothing here.")
	}
	if cmd, ok := s.globalKey(top, msg); ok {
		return cmd
	}
	k, known := s.known(top, msg)
	if why := k.Why(); why != "" {
		told := s.tell(Refused, why)
		if k.Barred() && s.opt.OnBarred != nil {
			return tea.Batch(told, s.opt.OnBarred(k.Name, top.screen.Place()))
		}
		return told
	}
	a, cmd := top.screen.Update(msg)
	if a == nil && cmd == nil && !known {
		return s.tell(Told, keymap.Name(msg)+" does nothing here; ? shows the keys.")
	}
	return tea.Batch(s.act(top, a), cmd)
}

// known looks a key up among those that a screen declares. The key tells when it
// is off; one that is on anywhere is not off.
func (s *Shell) known(top *seat, msg tea.KeyMsg) (off keymap.Key, known bool) {
	for _, k := range s.screenKeys(top) {
		if !k.Pressed(msg) {
			continue
		}
		if k.Enabled() {
			return keymap.Key{}, true
		}
		if !known {
			off = k
		}
		known = true
	}
	if !known {
		for _, k := range keymap.Join(s.keys.Nav, s.keys.Global) {
			if k.Pressed(msg) {
				return keymap.Key{}, true
			}
		}
	}
	return off, known
}

func (s *Shell) screenKeys(st *seat) []keymap.Key {
	if h, ok := st.screen.Help().(interface{ Keys() []keymap.Key }); ok {
		return h.Keys()
	}
	return nil
}

// globalKey does what is the same on every screen.
func (s *Shell) globalKey(top *seat, msg tea.KeyMsg) (tea.Cmd, bool) {
	g := &s.keys.Global
	switch {
	case g.Back.Match(msg), g.Quit.Match(msg):
		// The screen goes first: it may have something to close of its own.
		a, cmd := top.screen.Update(msg)
		if a != nil || cmd != nil {
			return tea.Batch(s.act(top, a), cmd), true
		}
		return s.back(top), true
	case g.Help.Match(msg):
		s.push(newHelp(s, top))
	case g.Palette.Match(msg):
		s.push(newPalette(s, top))
	case g.OpenID.Match(msg):
		s.askID(KindOperation)
	case g.Activity.Match(msg):
		s.push(newActivity(s))
	case g.Zone.Match(msg):
		return s.toggleZone(), true
	case g.Reveal.Match(msg):
		return s.reveal(), true
	default:
		return s.jump(msg)
	}
	return nil, true
}

// jump goes to one of the eight places.
func (s *Shell) jump(msg tea.KeyMsg) (tea.Cmd, bool) {
	g := &s.keys.Global
	for _, r := range []struct {
		k    keymap.Key
		kind string
	}{
		{g.Operations, KindOperations}, {g.Operation, KindOperation}, {g.Documents, KindDocuments}, {g.Compliance, KindCompliance},
		{g.Limits, KindLimits}, {g.Session, KindSession}, {g.Events, KindEvents}, {g.Audit, KindAudit},
	} {
		if !r.k.Match(msg) {
			continue
		}
		p := Place{Kind: r.kind}
		switch r.kind {
		case KindOperation, KindDocuments:
			if p.ID = s.about(KindOperation); p.ID == "" {
				s.askID(r.kind)
				return nil, true
			}
		case KindCompliance: // the customer, and from there all customers
			if top := s.top(); top == nil || top.screen.Place().Kind != KindCompliance || top.screen.Place().ID == "" {
				p.ID = s.about(KindCompliance)
			}
		}
		return s.visit(p), true
	}
	return nil, false
}

// visit opens a place by its number. A place beside the work (limits, session,
// events, audit) that was come to in the same way gives way: looking around
// leaves no trail.
func (s *Shell) visit(p Place) tea.Cmd {
	top := s.top()
	if top != nil && top.visited && len(s.stack) > 1 && aside(top.screen.Place().Kind) && !s.isOpen(p) {
		cmd := s.replace(top, p)
		s.top().visited = true
		return cmd
	}
	n := s.lastID
	cmd := s.open(p)
	if top = s.top(); top != nil && top.id > n {
		top.visited = true
	}
	return cmd
}

func aside(kind string) bool {
	return kind == KindLimits || kind == KindSession || kind == KindEvents || kind == KindAudit
}
