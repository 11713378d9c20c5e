package ui

import (
	"strings"

	"opdeck/ui/keymap"
	"opdeck/ui/text"
)

// status is the line of notices. In production it is a heavy line otherwise.
func (s *Shell) status() string {
	line := s.noticeLine(s.w - 4)
	if s.opt.About.Ground != Production {
		if line == "" {
			return ""
		}
		return " " + line
	}
	sign, style := s.frame()
	if line == "" {
		return style.Render(strings.Repeat(sign, s.w))
	}
	rest := s.w - 4 - text.Width(line)
	return style.Render(strings.Repeat(sign, 2)) + " " + line + " " + style.Render(strings.Repeat(sign, max(rest, 0)))
}

func (s *Shell) noticeLine(w int) string {
	if s.leaving {
		return s.th.Warn.Render(text.Cut(s.th.Signs.Wait+" Leaving as soon as it is answered: "+strings.Join(s.writeNames(), ", "), w))
	}
	if s.notice.text == "" {
		return ""
	}
	sign, _, tone := s.notice.kind.look(s.th)
	return s.th.Tone(tone).Render(text.Cut(sign+" "+s.notice.text, w))
}

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
	keys := s.screenKeys(top)
	if src := top.screen.Source(); src.Class != "" {
		k := s.keys.Global.Reload
		k.SetHelp("r", "reload ("+safe(src.Class)+")")
		keys = append(keys[:len(keys):len(keys)], k)
	}
	return s.hintLine(keys, []keymap.Key{s.keys.Global.Help, s.keys.Global.Palette})
}

// hintLine writes as many keys as fit; last is kept at the right edge.
func (s *Shell) hintLine(keys, last []keymap.Key) string {
	one := func(k keymap.Key) (string, int) {
		h := k.Binding.Help()
		return s.th.Key.Render(h.Key) + " " + s.th.Dim.Render(h.Desc), text.Width(h.Key) + 1 + text.Width(h.Desc)
	}
	var right []string
	rw := 0
	for _, k := range last {
		t, n := one(k)
		if rw+n+2 > s.w-1 {
			break
		}
		right = append(right, t)
		rw += n + 2
	}
	out, used := " ", 1
	seen := map[string]bool{}
	for _, k := range keys {
		if k.Extra || !k.Enabled() || seen[k.Name] {
			continue
		}
		seen[k.Name] = true
		t, n := one(k)
		if used+n+2+rw > s.w {
			break
		}
		out += t + "  "
		used += n + 2
	}
	return text.Spread(out, strings.Join(right, "  "), s.w-1)
}
