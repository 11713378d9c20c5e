package ui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/domain/mask"
	"opdeck/internal/format"
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
	wide  int    // maximum width in cells
	raw   []byte // the JSON that it shows and y copies, with the current masking; nil: none
	w, h  int
	rows  int  // of low: its lines
	copy  Copy // Text empty: nothing to copy
	hides bool // raw is masked in lines and copy
	low   bool // its height is that of its lines, which fit its width
	k     keymap.Viewer
	shows keymap.Key // reveals masked values
}

func newPager(s *window, owner screenID, title string, lines func(*Shell) []string) *pager {
	return &pager{dialog: dialog{owner}, title: title, lines: lines, wide: pagerWidth,
		view: widget.NewViewer(s.th, s.keys), k: s.keys.Viewer, shows: s.keys.Global.Reveal}
}

// newRaw returns a pager with JSON, masked while masking is on.
func newRaw(s *window, owner screenID, a Raw) *pager {
	p := newPager(s, owner, a.Title, nil)
	p.raw = a.JSON
	p.readRaw(s)
	return p
}

// readRaw makes lines and copy from raw.
func (p *pager) readRaw(s *window) {
	p.hides = s.shown.hides()
	is := mask.JSONIf(p.raw, p.hides)
	lines, whole := format.JSON(is, maxRawLines)
	if !whole {
		lines = append(lines, "… cut here: "+format.Size(int64(len(is)))+
			" in total; the command with -o json shows all of it")
	}
	p.lines, p.copy = func(*Shell) []string { return lines }, Copy{Text: string(is), What: "the JSON"}
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
	out := []keymap.Key{p.k.Search, p.k.Next, p.k.Copy}
	if p.raw != nil && p.hides {
		show := p.shows
		show.SetHelp(show.Help().Key, "show masked values")
		show.Extra = false
		out = append(out, show)
	}
	return append(out, p.k.Close)
}

func (p *pager) key(s *Shell, msg keymap.Press) (Action, tea.Cmd, bool) {
	switch {
	case p.view.Searching():
		p.view.Update(msg)
	case msg.IsText():
	case p.k.Close.Match(msg):
		return nil, nil, !p.view.Clear()
	case p.copy.Text != "" && p.k.Copy.Match(msg):
		return p.copy, nil, false
	case p.raw != nil && p.shows.Match(msg):
		return do(func(s *Shell) tea.Cmd { return s.reveal() }), nil, false
	default:
		p.view.Update(msg)
	}
	return nil, nil, false
}

const pagerWidth = 120

// layout sets size and lines of the viewer. It uses the full height, so that no edge of the
// screen below distracts.
func (p *pager) layout(s *Shell) {
	_, h := s.win.area()
	w := p.room(s)
	again := p.raw != nil && p.hides != s.win.shown.hides()
	if again {
		p.readRaw(s.win)
	}
	p.h = max(h-2, 1)
	if again || p.live != nil || w != p.w {
		lines := p.lines(s)
		if p.view.SetLines(lines); p.low {
			p.rows = len(lines)
		}
	}
	if p.w = w; p.low && !p.view.Seeking() { // the line of a search takes the place of none
		p.h = max(min(p.h, p.rows), 1)
	}
	p.view.SetSize(p.w, p.h)
}

// room is the width of its lines.
func (p *pager) room(s *Shell) int {
	w, _ := s.win.area()
	return max(min(w, p.wide)-4, 1)
}

func (p *pager) panel(*Shell, int, int, time.Time) panel {
	return panel{title: p.title, tail: p.view.Lines(), foot: p.view.Further(), width: p.wide, tone: theme.Accent}
}
