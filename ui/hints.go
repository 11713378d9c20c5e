package ui

import (
	"slices"
	"strings"

	"opdeck/ui/draw"
	"opdeck/ui/keymap"
)

// hintBar is the last line: the keys that can be pressed.
type hintBar struct {
	*statusLine
	hinted [2]hinted // as it was drawn, and the next
}

// hints is the last line: what can be pressed here.
func (s *hintBar) hints() string {
	if s.chrome() == 3 {
		if line := s.noticeLine(s.w); line != "" {
			return line
		}
	}
	if n := len(s.overlays); n > 0 {
		return s.hintLine(s.overlays[n-1].keys(), nil)
	}
	top := s.top()
	if top == nil {
		return ""
	}
	if top.screen.Editing() { // the others are letters now
		return s.hintLine(top.screen.Keys(), nil)
	}
	last := []keymap.Key{s.keys.Global.Help, s.keys.Global.Palette}
	if src := top.screen.Source(); src.Class != "" {
		k := s.keys.Global.Reload
		k.SetHelp("r", "reload ("+safe(src.Class)+")")
		last = append(last, k)
	}
	return s.hintLine(s.offered(top.screen.Keys()), last)
}

// offered are the keys of a screen that can be pressed now: the one that opens
// first, then in the order of the screen, which begins with its main act.
func (s *window) offered(keys []keymap.Key) []keymap.Key {
	at := slices.IndexFunc(keys, func(k keymap.Key) bool { return k.Name == s.keys.List.Open.Name })
	if at <= 0 {
		return keys
	}
	out := make([]keymap.Key, 0, len(keys))
	out = append(append(out, keys[at]), keys[:at]...)
	return append(out, keys[at+1:]...)
}

// label is one key as the hint line names it.
type label struct{ key, does string }

// hinted is the hint line that was drawn last and what from, so that a press that
// changes no key draws none.
type hinted struct {
	left, right []label
	width       int
	line        string
	names       []string // of the keys, while they are gathered
}

// hintLine writes as many keys as fit, each whole. last are kept at the right
// edge.
func (s *hintBar) hintLine(keys, last []keymap.Key) string {
	was, now := &s.hinted[0], &s.hinted[1]
	now.width, now.left, now.right, now.names = s.w, now.left[:0], now.right[:0], now.names[:0]
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

// drawHints writes as many as fit, each whole. Of those at the right edge the most
// important one is the first: where there is little room it stays, then the first
// of the others, and so on in turn. The edge stays free unless a key needs it.
func (s *hintBar) drawHints(keys, last []label) string {
	room := s.w + 1 // nothing is behind the last one
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
	right := append(last[min(r, 2):r:r], last[:min(r, 2)]...) // as one reads: reload, help, commands
	return draw.Spread(" "+s.labels(keys[:l]), s.labels(right), s.w-min(room, 1))
}

// labels draws keys on one line.
func (s *window) labels(list []label) string {
	out := make([]string, len(list))
	for i, l := range list {
		out[i] = s.th.Key.Render(l.key) + " " + s.th.Dim.Render(l.does)
	}
	return strings.Join(out, "  ")
}
