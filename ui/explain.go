package ui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// explain is a page of sentences. Any key that closes closes it; while it is
// new, keys meant for what was there before do not.
type explain struct {
	screen screenID
	e      Explain
	armed  time.Time
	scroll int
	k      keymap.Dialog
	nav    keymap.Nav
}

func newExplain(s *Shell, owner screenID, e Explain) *explain {
	e.Title, e.Facts = safe(e.Title), safeFacts(e.Facts)
	lines := make([]string, len(e.Lines))
	for i, l := range e.Lines {
		lines[i] = safe(l)
	}
	e.Lines = lines
	return &explain{screen: owner, e: e, armed: s.now().Add(quiet), k: s.keys.Dialog, nav: s.keys.Nav}
}

func (x *explain) owner() screenID                    { return x.screen }
func (x *explain) counts(*Shell, time.Time) time.Time { return time.Time{} }
func (x *explain) keys() []keymap.Key {
	k := x.k.Answer
	k.SetHelp("enter", "close")
	return []keymap.Key{k}
}

func (x *explain) key(s *Shell, msg tea.KeyMsg) (result, bool) {
	if s.now().Before(x.armed) || widget.IsPaste(msg) {
		return result{}, false
	}
	switch {
	case x.nav.Down.Match(msg), x.nav.PageDown.Match(msg):
		x.scroll++
	case x.nav.Up.Match(msg), x.nav.PageUp.Match(msg):
		x.scroll = max(x.scroll-1, 0)
	case x.k.Answer.Match(msg), x.k.No.Match(msg), x.k.Close.Match(msg):
		return result{}, true
	}
	return result{}, false
}

func (x *explain) box(s *Shell, w, h int, _ time.Time) []string {
	bw := min(w, 76)
	in := max(bw-4, 1)
	var lines []string
	for _, l := range x.e.Lines {
		lines = append(lines, draw.Wrap(l, in)...)
	}
	if len(x.e.Facts) > 0 {
		lines = append(append(lines, ""), widget.Pairs(s.th, x.e.Facts, min(in, 90))...)
	}
	room := max(h-2, 1)
	foot := ""
	if len(lines) > room {
		x.scroll = min(x.scroll, len(lines)-room)
		lines = lines[x.scroll:]
		foot = "arrows scroll"
	}
	box := widget.Box(s.th, x.e.Title, lines, foot, bw, min(len(lines)+2, h), theme.Warn)
	for i := range box {
		box[i] = draw.Pad(box[i], bw)
	}
	return box
}
