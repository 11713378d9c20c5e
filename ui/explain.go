package ui

import (
	"cmp"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// explain is a page of sentences. Any closing key closes it, except just after it opened,
// because the key may have been meant for the previous content: for an error as long as a
// question ignores keys, and while keys keep coming.
type explain struct {
	dialog
	e      Explain
	armed  time.Time
	scroll int
	k      keymap.Dialog
	copy   keymap.Key
	nav    keymap.Nav
}

func newExplain(s *window, owner screenID, e Explain) *explain {
	e.Title, e.Facts = safe(e.Title), safeFacts(e.Facts)
	x := &explain{dialog: dialog{owner}, e: e, armed: s.now().Add(quiet), k: s.keys.Dialog, nav: s.keys.Nav,
		copy: s.keys.Item.CopyID}
	if e.failed {
		x.armed = s.now().Add(armAfter)
	}
	return x
}

func (x *explain) keys() []keymap.Key {
	k := x.k.Answer
	k.SetHelp("enter", "close")
	if x.e.Copy.Text == "" {
		return []keymap.Key{k}
	}
	y := x.copy
	y.SetHelp(y.Help().Key, "copy "+x.e.Copy.What)
	return []keymap.Key{k, y}
}

func (x *explain) counts(_ *Shell, now time.Time) time.Time {
	if x.e.failed && now.Before(x.armed) {
		return x.armed
	}
	return time.Time{}
}

func (x *explain) key(s *Shell, p keymap.Press) (Action, tea.Cmd, bool) {
	switch now := s.win.now(); {
	case now.Before(x.armed) && x.e.failed:
		x.armed = later(x.armed, now.Add(quiet))
	case now.Before(x.armed) || p.IsText() || p.Burst:
	case x.e.Copy.Text != "" && x.copy.Match(p):
		return x.e.Copy, nil, false
	case x.nav.Down.Match(p), x.nav.PageDown.Match(p):
		x.scroll = s.scrolled(x, 1)
	case x.nav.Up.Match(p), x.nav.PageUp.Match(p):
		x.scroll = s.scrolled(x, -1)
	case x.k.Answer.Match(p), x.k.No.Match(p), x.k.Close.Match(p):
		return nil, nil, true
	}
	return nil, nil, false
}

func (x *explain) panel(s *Shell, w, _ int, now time.Time) panel {
	in := max(min(w, dialogWidth)-4, 1)
	p := panel{title: x.e.Title, scroll: x.scroll, tone: cmp.Or(x.e.Tone, theme.Warn)}
	if x.e.failed && now.Before(x.armed) {
		p.foot = s.win.th.Signs.Wait + " keys are ignored for a moment"
	}
	for _, l := range x.e.Lines {
		p.body = append(p.body, draw.Wrap(safe(l), in)...)
	}
	if len(x.e.Facts) > 0 {
		p.body = append(append(p.body, ""), widget.Pairs(s.win.th, x.e.Facts, in)...)
	}
	return p
}
