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
	dialog
	title string
	lines func(*Shell) []string
	live  func(*Shell, time.Time) time.Time // nil: the lines do not change
	view  *widget.Viewer
	w, h  int
	copy  Copy // Text empty: nothing to copy
	k     keymap.Viewer
}

func newPager(s *Shell, owner screenID, title string, lines func(*Shell) []string) *pager {
	return &pager{dialog: dialog{owner}, title: title, lines: lines, view: widget.NewViewer(s.th, s.keys), k: s.keys.Viewer}
}

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

func (p *pager) key(_ *Shell, msg keymap.Press) (Action, tea.Cmd, bool) {
	switch {
	case p.view.Searching():
		p.view.Update(msg)
	case msg.IsText():
	case p.k.Close.Match(msg):
		return nil, nil, !p.view.Clear()
	case p.copy.Text != "" && p.k.Copy.Match(msg):
		return p.copy, nil, false
	default:
		p.view.Update(msg)
	}
	return nil, nil, false
}

const pagerWidth = 120

// layout gives the viewer its size and lines; it is called after each message. All
// the height is used: an edge of what lies behind would only be in the way.
func (p *pager) layout(s *Shell) {
	w, h := s.stage()
	w = max(min(w, pagerWidth)-4, 1)
	if p.live != nil || w != p.w {
		p.view.SetLines(p.lines(s))
	}
	p.w, p.h = w, max(h-2, 1)
	p.view.SetSize(p.w, p.h)
}

func (p *pager) panel(*Shell, int, int, time.Time) panel {
	return panel{title: p.title, tail: p.view.Lines(), foot: p.view.Further(), width: pagerWidth, tone: theme.Accent}
}

// newHelp is the help of a screen, made from its keys.
func newHelp(s *Shell, top *openScreen) *pager {
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
		for _, k := range top.screen.Keys() {
			if !seen[k.Name] {
				own = append(own, k)
			}
		}
		global := keymap.All(s.keys.Global)
		section("This screen", own)
		section("Anywhere", global[places:])
		section("Places", global[:places])
		section("Moving", keymap.All(s.keys.Nav))
		if g, ok := top.screen.(HelpTopic); ok {
			title, lines := g.HelpTopic()
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
