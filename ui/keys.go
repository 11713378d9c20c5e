package ui

import (
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui/keymap"
)

// key takes the keys of one read. If there are several, it presses each of them marked as a
// burst: a burst moves the cursor and types text, but answers no question
// (docs/decisions/0006).
func (s *Shell) key(p keymap.Press) tea.Cmd {
	s.route.afterRead, s.clicked = waitingKey{}, clicked{}
	switch now := s.win.now(); {
	case s.lock.on:
		s.unlock(now)
		return nil
	case s.lock.drops(now):
		return nil
	}
	if p.Pasted || len(p.Runes) < 2 {
		return s.press(p)
	}
	var cmds []tea.Cmd
	for i, one := range p.Each() {
		if s.sent.gone {
			break
		}
		if s.route.editing() { // the rest is text: a filter need not run for each character
			return tea.Batch(append(cmds, s.press(keymap.Press{Runes: p.Runes[i:], Burst: true}))...)
		}
		cmds = append(cmds, s.press(one))
	}
	return tea.Batch(cmds...)
}

// editing reports whether the screen on top takes text.
func (s *router) editing() bool {
	top := s.stack.top()
	return len(s.dialogs.overlays) == 0 && top != nil && top.screen.Editing()
}

// press passes one key to the top dialog, else to the global keys unless the screen takes text,
// else to the top screen.
func (s *Shell) press(p keymap.Press) tea.Cmd {
	if s.win.keys.Global.Leave.Match(p) {
		return s.interrupt()
	}
	if s.sent.leaving || !s.win.fits() { // the person does not see the screen
		return nil
	}
	if o := s.dialogs.top(); o != nil {
		return s.overlayKey(o, p)
	}
	top := s.stack.top()
	if top == nil { // the first screen could not be made
		if s.win.keys.Global.Quit.Match(p) {
			return s.Back()
		}
		cmd, _ := s.route.jump(p)
		return cmd
	}
	if top.screen.Editing() {
		return s.route.deliver(top, p)
	}
	if p.IsText() {
		return s.status.hint(Denied, "Pasted text does nothing here.")
	}
	p = p.Placed()
	if cmd, ok := s.globalKey(top, p); ok {
		return cmd
	}
	k, known := s.win.known(top, p)
	if k.Why() != "" {
		return s.refuse(k)
	}
	a, cmd := Update(top.screen, p)
	if a == nil && cmd == nil && !known {
		return s.status.hint(Info, p.Label()+" does nothing here; ? shows the keys.")
	}
	return tea.Batch(s.act(top, a), cmd)
}

// held is the longest interval between two events of a key that is held down.
const held = 500 * time.Millisecond

// refuse shows why a key is off. If read-only mode or the role bars it, refuse calls OnBarred,
// once for a key that is held down.
func (s *Shell) refuse(k keymap.Key) tea.Cmd {
	if !k.Barred() || k.Act == nil || s.win.opt.OnBarred == nil {
		return s.status.hint(Denied, k.Why())
	}
	again := s.barred.name == k.Name && s.win.now().Sub(s.barred.at) < held
	s.barred = barred{k.Name, s.win.now()}
	if again {
		return s.status.hint(Denied, k.Why())
	}
	at := s.win.opt.Start
	if top := s.stack.top(); top != nil {
		at = top.screen.Place()
	}
	return tea.Batch(s.status.notify(Denied, k.Why()), s.win.opt.OnBarred(k.Act, at))
}

// barred is the last key that read-only mode or the role refused.
type barred struct {
	name string
	at   time.Time
}

// known finds a key among those of the screen, then among the global ones.
// The key says whether it is off; one that is on in a list is not off.
func (s *window) known(top *openScreen, p keymap.Press) (off keymap.Key, known bool) {
	own := top.screen.Keys()
	for i := range own {
		switch k := &own[i]; {
		case !k.Pressed(p):
		case k.Enabled():
			return keymap.Key{}, true
		case !known:
			off, known = *k, true
		}
	}
	if known {
		return off, true
	}
	for _, k := range s.keys.Shared() {
		switch {
		case !k.Pressed(p):
		case k.Enabled():
			return keymap.Key{}, true
		case !known:
			off, known = *k, true
		}
	}
	return off, known
}

// globalKey handles the keys that are the same on every screen.
func (s *Shell) globalKey(top *openScreen, p keymap.Press) (tea.Cmd, bool) {
	g := &s.win.keys.Global
	switch {
	case g.Back.Match(p), g.Quit.Match(p):
		// The screen gets the key first: it may have a filter or page to close.
		a, cmd := Update(top.screen, p)
		if a != nil || cmd != nil {
			return tea.Batch(s.act(top, a), cmd), true
		}
		if s.stack.root() && g.Back.Match(p) {
			return s.status.hint(Info, "Nothing to go back to; "+g.Quit.Help().Key+" leaves."), true
		}
		return s.Back(), true
	case g.Help.Match(p):
		s.dialogs.push(newHelp(s, top))
	case g.Palette.Match(p):
		return s.openPalette(top), true
	case g.OpenID.Match(p):
		return s.AskID(KindOperation), true
	case g.Activity.Match(p):
		s.dialogs.push(newActivity(s))
	case g.Why.Match(p):
		return s.act(top, s.why(top.screen.Place())), true
	case g.Zone.Match(p):
		return s.showUTC(s.win.shown.zone != time.UTC), true
	case g.Reveal.Match(p):
		return s.reveal(), true
	case g.Before.Match(p):
		return s.route.travel(-1), true
	case g.After.Match(p):
		return s.route.travel(1), true
	case g.OnCall.Match(p):
		return s.route.visit(Place{Kind: KindOnCall}), true
	case g.Previous.Match(p):
		return s.route.step(top, g.Previous, -1), true
	case g.Next.Match(p):
		return s.route.step(top, g.Next, 1), true
	default:
		return s.route.jump(p)
	}
	return nil, true
}

// placeKinds are the places of the first global keys, in their order.
var placeKinds = []string{KindOperations, KindOperation, KindDocuments, KindCompliance, KindLimits, KindSession,
	KindEvents, KindAudit}

// places is the number of global keys that open a place.
var places = len(placeKinds)

// jump opens the place of a number key.
func (s *router) jump(p keymap.Press) (tea.Cmd, bool) {
	all := s.win.keys.Global.Places()
	i := slices.IndexFunc(all[:], func(k *keymap.Key) bool { return k.Match(p) })
	if i < 0 {
		return nil, false
	}
	to := Place{Kind: placeKinds[i]}
	switch to.Kind {
	case KindOperation, KindDocuments:
		if to.ID = s.stack.about(KindOperation); to.ID == "" {
			return s.perform(nil, do(func(s *Shell) tea.Cmd { return s.AskID(to.Kind) })), true
		}
	case KindCompliance: // the customer, and with a second press all customers
		if top := s.stack.top(); top == nil || top.screen.Place().Kind != KindCompliance || top.screen.Place().ID == "" {
			to.ID = s.stack.about(KindCompliance)
		}
	}
	return s.visit(to), true
}

// visit opens a place by its number. Side screens opened by number replace each
// other instead of stacking.
func (s *router) visit(p Place) tea.Cmd {
	top := s.stack.top()
	if top != nil && top.visited && !s.stack.root() && isSide(top.screen.Place().Kind) && s.stack.indexOf(p) < 0 {
		cmd := s.replace(top, p)
		s.stack.top().visited = true
		return cmd
	}
	n := s.stack.lastID
	cmd := s.open(p)
	if top = s.stack.top(); top != nil && top.id > n {
		top.visited = true
	}
	return cmd
}

// isSide reports whether a place is a side screen.
func isSide(kind string) bool { return kind == KindOnCall || slices.Contains(placeKinds[4:], kind) }
