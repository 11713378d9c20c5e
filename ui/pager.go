package ui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// pager is a large dialog with a viewer: raw JSON, help, activity.
type pager struct {
	screen screenID
	title  string
	lines  func(*Shell) []string
	live   func(*Shell, time.Time) time.Time // nil: the lines do not change
	view   *widget.Viewer
	filled bool
	copy   Copy // Text empty: nothing to copy
	k      keymap.Viewer
}

func newPager(s *Shell, owner screenID, title string, lines func(*Shell) []string) *pager {
	return &pager{screen: owner, title: title, lines: lines, view: widget.NewViewer(s.th, s.keys), k: s.keys.Viewer}
}

func (p *pager) owner() screenID { return p.screen }

func (p *pager) counts(s *Shell, now time.Time) time.Time {
	if p.live == nil {
		return time.Time{}
	}
	return p.live(s, now)
}

func (p *pager) keys() []keymap.Key {
	if hits := p.view.Hints(); hits != nil {
		return hits
	}
	if p.copy.Text == "" {
		return []keymap.Key{p.k.Search, p.k.Next, p.k.Close}
	}
	return []keymap.Key{p.k.Search, p.k.Next, p.k.Copy, p.k.Close}
}

func (p *pager) key(s *Shell, msg tea.KeyMsg) (result, bool) {
	if p.view.Searching() {
		p.view.Update(msg)
		return result{}, false
	}
	switch {
	case widget.IsPaste(msg):
	case p.k.Close.Match(msg):
		return result{}, !p.view.Clear()
	case p.copy.Text != "" && p.k.Copy.Match(msg):
		return result{action: p.copy}, false
	default:
		p.view.Update(msg)
	}
	return result{}, false
}

func (p *pager) box(s *Shell, w, h int, _ time.Time) []string {
	bw, bh := min(w, 120), h // all the height: an edge of what lies behind would only be in the way
	p.view.SetSize(max(bw-4, 1), max(h-2, 1))
	if !p.filled || p.live != nil {
		p.view.SetLines(p.lines(s))
		p.filled = true
	}
	if h < 3 || bw < 8 {
		p.view.SetSize(bw, h)
		out := p.view.Lines()
		for i := range out {
			out[i] = draw.Pad(out[i], bw)
		}
		return out
	}
	return widget.Box(s.th, p.title, p.view.Lines(), p.view.Further(), bw, bh, theme.Accent)
}

// newHelp is the help of a screen, made from its keys.
func newHelp(s *Shell, top *seat) *pager {
	return newPager(s, top.id, "Help "+s.th.Signs.Sep+" "+safe(top.screen.Title()), func(s *Shell) []string {
		var out []string
		section := func(title string, keys []keymap.Key) {
			if len(keys) == 0 {
				return
			}
			if len(out) > 0 {
				out = append(out, "")
			}
			out = append(out, s.th.Title.Render(title))
			for _, k := range keys {
				name := draw.Fit(k.Binding.Help().Key, 10)
				why := k.Why()
				long, style := draw.Wrap(k.Long, max(min(s.w, 120)-4-12, 8)), theme.Style{}
				if why == "" {
					name = s.th.Key.Render(name)
				} else {
					name, style = s.th.Dim.Render(name), s.th.Dim
				}
				for i, l := range long {
					if i > 0 {
						name = draw.Space(10)
					}
					out = append(out, "  "+name+style.Render(l))
				}
				if why != "" {
					out = append(out, draw.Space(12)+s.th.Warn.Render(s.th.Signs.Off+" off: "+why))
				}
			}
		}
		seen := map[string]bool{}
		for _, k := range keymap.Join(s.keys.Nav, s.keys.Global) {
			seen[k.Name] = true
		}
		var own []keymap.Key
		for _, k := range s.screenKeys(top) {
			if !seen[k.Name] {
				own = append(own, k)
			}
		}
		global := keymap.All(s.keys.Global)
		section("This screen", own)
		section("Anywhere", global[places:])
		section("Places", global[:places])
		section("Moving", keymap.All(s.keys.Nav))
		if g, ok := top.screen.(Guide); ok {
			title, lines := g.Guide()
			out = append(out, "", s.th.Title.Render(title))
			for _, l := range lines {
				out = append(out, "  "+l)
			}
		}
		out = append(out, "", s.th.Title.Render("Marks"),
			"  ·         stands for a character that must not be drawn; the raw view is exact",
			"            joined emoji and some Indic and Persian spellings show it too")
		return out
	})
}
