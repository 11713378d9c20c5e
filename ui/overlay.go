package ui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"opdeck/ui/draw"
	"opdeck/ui/keymap"
)

// overlay is a dialog above the screen. Only the top one gets keys.
type overlay interface {
	owner() screenID
	// key takes a key; done closes the dialog before the result is acted on.
	key(s *Shell, msg tea.KeyMsg) (result, bool)
	// box draws it in at most w by h cells; all lines are equally wide.
	box(s *Shell, w, h int, now time.Time) []string
	// counts is when it looks different by time alone.
	counts(s *Shell, now time.Time) time.Time
	keys() []keymap.Key
}

// result is what a dialog leaves to be done after a key.
type result struct {
	action Action
	cmd    tea.Cmd
	then   func(*Shell) tea.Cmd // the shell's own affairs
}

func (s *Shell) push(o overlay) { s.overlays = append(s.overlays, o) }

// overlayKey lets the top dialog have a key.
func (s *Shell) overlayKey(o overlay, msg tea.KeyMsg) tea.Cmd {
	r, done := o.key(s, msg)
	if done {
		s.remove(o)
	}
	return s.finish(o, r)
}

// finish does what a dialog left to be done.
func (s *Shell) finish(o overlay, r result) tea.Cmd {
	var cmds []tea.Cmd
	if r.then != nil {
		cmds = append(cmds, r.then(s))
	}
	if r.action != nil {
		st := s.find(o.owner())
		if st == nil {
			st = s.top()
		}
		if st != nil {
			cmds = append(cmds, s.act(st, r.action))
		}
	}
	return tea.Batch(append(cmds, r.cmd)...)
}

func (s *Shell) remove(o overlay) {
	for i := range s.overlays {
		if s.overlays[i] == o {
			s.overlays = append(s.overlays[:i:i], s.overlays[i+1:]...)
			return
		}
	}
}

// lay puts a dialog over the lines below, which turn dim.
func lay(s *Shell, o overlay, below []string, now time.Time) []string {
	w, h := s.stage()
	box := o.box(s, w, h, now)
	if len(box) == 0 {
		return below
	}
	bw := min(draw.Width(box[0]), w)
	x, y := (w-bw)/2, max((h-len(box))/3, 0)
	out := make([]string, h)
	for i := range out {
		plain := ansi.Strip(below[i])
		if i < y || i >= y+len(box) {
			out[i] = s.th.Dim.Render(plain)
			continue
		}
		left := draw.Pad(ansi.Truncate(plain, x, ""), x)
		right := ""
		if draw.Width(plain) > x+bw {
			right = ansi.TruncateLeft(plain, x+bw, "")
			if over := x + bw + draw.Width(right) - w; over > 0 {
				right = ansi.TruncateLeft(plain, x+bw+over, "")
			}
		}
		out[i] = s.th.Dim.Render(left) + box[i-y] + s.th.Dim.Render(right)
	}
	return out
}
