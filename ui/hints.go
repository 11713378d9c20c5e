package ui

import (
	"strings"

	"opdeck/ui/keymap"
	"opdeck/ui/text"
)

// hints is the last line: what can be pressed here.
func (s *Shell) hints() string {
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
		return s.hintLine(s.screenKeys(top), nil)
	}
	last := []keymap.Key{s.keys.Global.Help, s.keys.Global.Palette}
	if src := top.screen.Source(); src.Class != "" {
		k := s.keys.Global.Reload
		k.SetHelp("r", "reload ("+safe(src.Class)+")")
		last = append(last, k)
	}
	return s.hintLine(s.offered(s.screenKeys(top)), last)
}

// offered are the keys of a screen that can be pressed now: the one that opens
// first, then in the order of the screen, which begins with its main act.
func (s *Shell) offered(keys []keymap.Key) []keymap.Key {
	var out []keymap.Key
	for _, k := range keys {
		if k.Name == s.keys.List.Open.Name {
			out = append([]keymap.Key{k}, out...)
		} else {
			out = append(out, k)
		}
	}
	return out
}

// hint is one key as drawn.
type hint struct {
	text  string
	cells int
}

func (s *Shell) hint(k keymap.Key) hint {
	h := k.Binding.Help()
	return hint{s.th.Key.Render(h.Key) + " " + s.th.Dim.Render(h.Desc), text.Width(h.Key) + 1 + text.Width(h.Desc) + 2}
}

// hintLine writes as many keys as fit, each whole. last are kept at the right
// edge, the most important one first: where there is little room it stays, then
// the first of keys, and so on in turn.
func (s *Shell) hintLine(keys, last []keymap.Key) string {
	var left, right []hint
	seen := map[string]bool{}
	for _, k := range last {
		seen[k.Name] = true
		right = append(right, s.hint(k))
	}
	for _, k := range keys {
		if k.Extra || !k.Enabled() || seen[k.Name] {
			continue
		}
		seen[k.Name] = true
		left = append(left, s.hint(k))
	}
	room := s.w
	fits := func(list []hint, i int) bool {
		if i >= len(list) || list[i].cells > room-1 {
			return false
		}
		room -= list[i].cells
		return true
	}
	l, r, lmore, rmore := 0, 0, true, true
	for lmore || rmore {
		if rmore = rmore && fits(right, r); rmore {
			r++
		}
		if lmore = lmore && fits(left, l); lmore {
			l++
		}
	}
	var end []string
	for _, h := range append(right[min(r, 2):r:r], right[:min(r, 2)]...) { // as one reads: reload, help, commands
		end = append(end, h.text)
	}
	out := " "
	for _, h := range left[:l] {
		out += h.text + "  "
	}
	return text.Spread(out, strings.Join(end, "  "), s.w-1)
}
