package ui

import (
	"slices"
	"strings"

	"opdeck/ui/draw"
	"opdeck/ui/keymap"
)

// hintBar is the last line: the keys that have an effect now.
type hintBar struct {
	win     *window
	stack   *screenStack
	dialogs *dialogStack
	status  *statusLine
	hinted  [2]hinted // the drawn one, and the next
}

// line returns the last line: the keys that have an effect here.
func (s *hintBar) line() string {
	if s.win.chrome() == 3 {
		if line := s.status.noticeLine(s.win.w); line != "" {
			return line
		}
	}
	if o := s.dialogs.top(); o != nil {
		return s.hintLine(o.keys(), nil)
	}
	top := s.stack.top()
	if top == nil {
		return ""
	}
	if top.screen.Editing() { // the other keys are text now
		return s.hintLine(top.screen.Keys(), nil)
	}
	last := []keymap.Key{s.win.keys.Global.Help, s.win.keys.Global.Palette}
	if src := top.screen.Source(); src.Class != "" {
		k := s.win.keys.Global.Reload
		k.SetHelp("r", "reload ("+safe(src.Class)+")")
		last = append(last, k)
	}
	return s.hintLine(s.win.offered(top.screen.Keys()), last)
}

// offered returns the keys of a screen that are on: first the one that opens,
// then in the order of the screen, which begins with its main act.
func (s *window) offered(keys []keymap.Key) []keymap.Key {
	at := slices.IndexFunc(keys, func(k keymap.Key) bool { return k.Name == s.keys.List.Open.Name })
	if at <= 0 {
		return keys
	}
	out := make([]keymap.Key, 0, len(keys))
	out = append(append(out, keys[at]), keys[:at]...)
	return append(out, keys[at+1:]...)
}

// label is one key in the hint line.
type label struct{ key, does string }

// hinted is the last drawn hint line with its inputs, so that a press that
// changes no key does not draw it again.
type hinted struct {
	left, right []label
	width       int
	line        string
	names       []string // of the keys, while they are collected
}

// hintLine draws as many keys as fit completely; last are at the right
// edge.
func (s *hintBar) hintLine(keys, last []keymap.Key) string {
	was, now := &s.hinted[0], &s.hinted[1]
	now.width, now.left, now.right, now.names = s.win.w, now.left[:0], now.right[:0], now.names[:0]
	for i := range last {
		h := last[i].Help()
		now.right, now.names = append(now.right, label{h.Key, h.Desc}), append(now.names, last[i].Name)
	}
	for i := range keys {
		if k := &keys[i]; !k.Extra && k.Enabled() && !slices.Contains(now.names, k.Name) {
			h := k.Help()
			now.left, now.names = append(now.left, label{h.Key, h.Desc}), append(now.names, k.Name)
		}
	}
	if was.width == now.width && slices.Equal(was.left, now.left) && slices.Equal(was.right, now.right) {
		return was.line
	}
	now.line = s.drawHints(now.left, now.right)
	s.hinted[0], s.hinted[1] = s.hinted[1], s.hinted[0]
	return s.hinted[0].line
}

// drawHints draws as many keys as fit completely. It gives room alternately to the keys at the
// right edge, the most important first, and to the others. Both
// margins stay empty.
func (s *hintBar) drawHints(keys, last []label) string {
	room := s.win.w // a margin on each side, and no gap after the last one
	fits := func(list []label, i int) bool {
		if i >= len(list) {
			return false
		}
		cells := draw.Width(list[i].key) + 1 + draw.Width(list[i].does) + 2
		if cells > room {
			return false
		}
		room -= cells
		return true
	}
	l, r, lmore, rmore := 0, 0, true, true
	for lmore || rmore {
		if rmore = rmore && fits(last, r); rmore {
			r++
		}
		if lmore = lmore && fits(keys, l); lmore {
			l++
		}
	}
	right := append(last[min(r, 2):r:r], last[:min(r, 2)]...) // in reading order: reload, help, commands
	return draw.Spread(" "+s.labels(keys[:l]), s.labels(right), s.win.w-1)
}

// labels draws keys on one line.
func (s *hintBar) labels(list []label) string {
	out := make([]string, len(list))
	for i, l := range list {
		out[i] = s.win.th.Key.Render(l.key) + " " + s.win.th.Dim.Render(l.does)
	}
	return strings.Join(out, "  ")
}
