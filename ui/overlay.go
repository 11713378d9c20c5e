package ui

import (
	"cmp"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// overlay is a dialog above the screen. Only the top one gets keys.
type overlay interface {
	owner() screenID
	// key takes a key; done closes the dialog before the action is done.
	key(s *Shell, p keymap.Press) (a Action, cmd tea.Cmd, done bool)
	// panel returns its content for at most w by h cells.
	panel(s *Shell, w, h int, now time.Time) panel
	// counts is the time when its text changes next; zero: never.
	counts(s *Shell, now time.Time) time.Time
	// layout is called after each message and lays out the next frame.
	layout(s *Shell)
	keys() []keymap.Key
}

// dialogStack is the open dialogs, the one on top last.
type dialogStack struct {
	overlays []overlay
	frames   uint64 // numbers paint.AfterFrame
}

// dialog is the common part of all dialogs.
type dialog struct{ screen screenID }

func (d dialog) owner() screenID                    { return d.screen }
func (d dialog) counts(*Shell, time.Time) time.Time { return time.Time{} }
func (d dialog) layout(*Shell)                      {}

// dialogWidth is the default width of a dialog.
const dialogWidth = 76

// hangsAt is the line of the upper edge of a dialog that hangs.
const hangsAt = 1

// wideDialog is the maximum width of a dialog that lists sentences and objects, in a window
// of w cells. The palette and the opener always have this width, so that it does not change
// while the person types.
func wideDialog(w int) int { return max(96, 2*w/3) }

// panel is the content of a dialog: in a low window the body scrolls, and the
// tail stays.
type panel struct {
	title, foot string
	body, tail  []string
	scroll      int
	width       int // 0: dialogWidth
	tone        theme.Tone
	more        string // how to see the hidden lines; empty: the key of the next page
	bare        bool   // no frame; it uses the full height
	hangs       bool   // its upper edge has a fixed line at any height
}

// hidden is the number of lines of the body that do not fit into h lines; in a frame the
// line with this number takes one more.
func (p panel) hidden(h int) int {
	if p.bare {
		return max(len(p.body)-max(h-len(p.tail), 0), 0)
	}
	if over := len(p.body) - max(h-2-len(p.tail), 1); over > 0 {
		return over + 1
	}
	return 0
}

// fitted returns the panel for h lines, without empty lines if text would be hidden.
func (p panel) fitted(h int) panel {
	if p.bare || p.hidden(h) == 0 {
		return p
	}
	return p.filled()
}

// filled returns the panel without empty lines.
func (p panel) filled() panel {
	full := func(lines []string) []string {
		return slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return strings.TrimSpace(l) == "" })
	}
	p.body, p.tail = full(p.body), full(p.tail)
	return p
}

func (p panel) draw(th *theme.Theme, w, h int) []string {
	p = p.fitted(h)
	if p.width == 0 {
		p.width = dialogWidth
	}
	w = min(w, p.width)
	hidden := p.hidden(h)
	at := min(p.scroll, hidden)
	lines := slices.Clone(p.body[at : len(p.body)-hidden+at])
	switch {
	case p.bare:
		lines = draw.Lay(lines, w, max(h-len(p.tail), 0))
	case hidden > 0:
		lines = append(lines, th.Dim.Render(draw.Cut(p.more, max(w-4, 1))))
	}
	lines = append(lines, p.tail...)
	if !p.bare {
		lines = widget.Box(th, p.title, lines, p.foot, w, min(len(lines)+2, max(h, 1)), p.tone)
	}
	for i := range lines {
		lines[i] = draw.Pad(lines[i], w)
	}
	return lines
}

// scrolled returns the position of a dialog after scrolling by some lines.
func (s *Shell) scrolled(o overlay, by int) int {
	w, h := s.win.area()
	p := o.panel(s, w, h, s.win.now()).fitted(h)
	return max(min(p.scroll+by, p.hidden(h)), 0)
}

// turned is scrolled by whole pages of what is visible.
func turned(s *Shell, o overlay, pages int) int {
	w, h := s.win.area()
	p := o.panel(s, w, h, s.win.now()).fitted(h)
	return s.scrolled(o, pages*max(len(p.body)-p.hidden(h), 1))
}

// do is an Action of the shell itself.
type do func(*Shell) tea.Cmd

func (do) isAction() {}

// top returns the dialog on top; nil: none is open.
func (s *dialogStack) top() overlay {
	if len(s.overlays) == 0 {
		return nil
	}
	return s.overlays[len(s.overlays)-1]
}

func (s *dialogStack) push(o overlay) { s.overlays = append(s.overlays, o) }

// overlayKey passes a key to the top dialog.
func (s *Shell) overlayKey(o overlay, p keymap.Press) tea.Cmd {
	a, cmd, done := o.key(s, p)
	if done {
		s.dialogs.remove(o)
	}
	return s.finish(o, a, cmd)
}

// asker returns the screen of a dialog: its owner, else the one on top.
func (s *Shell) asker(o overlay) *openScreen {
	if st := s.stack.find(o.owner()); st != nil {
		return st
	}
	return s.stack.top()
}

// finish performs the remaining action of a closed dialog.
func (s *Shell) finish(o overlay, a Action, cmd tea.Cmd) tea.Cmd {
	return tea.Batch(s.act(s.asker(o), a), cmd)
}

func (s *dialogStack) remove(o overlay) {
	if m, ok := o.(*menu); ok && m.reads.cancel != nil {
		m.reads.cancel()
	}
	s.overlays = slices.DeleteFunc(slices.Clone(s.overlays), func(other overlay) bool { return other == o })
}

// questions returns the open questions, oldest first.
func (s *dialogStack) questions() []*question {
	var out []*question
	for _, o := range s.overlays {
		if q, ok := o.(*question); ok {
			out = append(out, q)
		}
	}
	return out
}

// cover draws a dialog over the lines below it and dims them. Beside it nothing is drawn: lines that end at its
// edges would end within words.
func (s *Shell) cover(o overlay, below []string, now time.Time) []string {
	w, h := s.win.area()
	p := o.panel(s, w, h, now)
	p.more = cmp.Or(p.more, s.win.keys.Nav.PageDown.Help().Key+" shows more")
	box := p.draw(s.win.th, w, h)
	if len(box) == 0 {
		return below
	}
	bw := min(draw.Width(box[0]), w)
	x, y := (w-bw)/2, max((h-len(box))/3, 0)
	if p.hangs {
		y = min(hangsAt, max(h-len(box), 0))
	}
	out := make([]string, h)
	for i := range out {
		if i < y || i >= y+len(box) {
			out[i] = s.win.th.Dim.Render(draw.Unstyled(below[i]))
			continue
		}
		out[i] = draw.Space(x) + box[i-y]
	}
	return out
}
