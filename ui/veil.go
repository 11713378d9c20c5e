package ui

import (
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui/draw"
)

// veil blanks the screen of who went away. It knows when the last key came and
// what happened since the screen was blanked.
type veil struct {
	last   time.Time // the last key
	down   bool
	deaf   time.Time // keys are dropped until then: they came with the one that lifted it
	missed int       // notices that came behind it
	lapsed int       // questions that were open when it came down
}

// touch takes a key in the veil's stead: the one that lifts it does nothing else,
// nor do those that were typed with it.
func (s *Shell) touch() (taken bool) {
	now := s.now()
	s.veil.last = now
	switch {
	case s.veil.down:
		s.lift(now)
		return true
	case now.Before(s.veil.deaf):
		s.veil.deaf = now.Add(quiet)
		return true
	}
	return false
}

// idle tells whether no key came for long. Both clocks count: a machine that was
// asleep stops one of them.
func (s *Shell) idle(now time.Time) bool {
	d := max(now.Sub(s.veil.last), now.Round(0).Sub(s.veil.last.Round(0)))
	return s.opt.Veil > 0 && d >= s.opt.Veil
}

// drawVeil blanks the screen when it is time. Open questions lapse: nobody may
// answer one that somebody else opened.
func (s *Shell) drawVeil(now time.Time) tea.Cmd {
	if s.veil.down || s.leaving || s.gone || !s.idle(now) {
		return nil
	}
	var cmds []tea.Cmd
	lapsed := 0
	for _, o := range append([]overlay(nil), s.overlays...) {
		q, ok := o.(*question)
		if !ok {
			continue
		}
		lapsed++
		s.remove(q)
		if st := s.find(q.screen); st != nil && q.c.No != nil {
			cmds = append(cmds, s.act(st, q.c.No()))
		}
	}
	s.notice = notice{}
	s.veil.down, s.veil.missed, s.veil.lapsed = true, 0, lapsed
	if !s.shown.revealed.IsZero() {
		s.shown.revealed = time.Time{}
		cmds = append(cmds, s.news(DisplayChanged{}))
	}
	return tea.Batch(cmds...)
}

// lift brings the screen back as it was and tells what happened meanwhile.
func (s *Shell) lift(now time.Time) {
	v := s.veil
	s.veil = veil{last: now, deaf: now.Add(quiet)}
	if v.lapsed > 0 {
		line := "The question lapsed while the screen was blank: nothing was done."
		if v.missed == 0 {
			s.tell(Warned, line)
			return
		}
		s.activity.note(now, Warned, line)
		s.notice.text += " " + line
	}
	if v.missed == 0 {
		return
	}
	if v.missed > 1 {
		s.notice.text += " (" + draw.Plural(v.missed-1, "notice", "notices") + " more: !)"
	}
	s.notice.until = now.Add(noticeLong)
}

// keep stores a notice that nobody can see now: the weightiest stays.
func (v *veil) keep(old *notice, n notice) {
	v.missed++
	n.until = time.Time{}
	if old.text == "" || n.kind.weight() >= old.kind.weight() {
		*old = n
	}
}

// weight orders kinds by how much it matters that a notice is seen.
func (k Kind) weight() int {
	switch k {
	case Failed:
		return 3
	case Warned:
		return 2
	case Done, Refused:
		return 1
	}
	return 0
}

// veilNext is when the screen goes blank; zero when never.
func (s *Shell) veilNext() time.Time {
	if s.opt.Veil <= 0 || s.veil.down || s.leaving {
		return time.Time{}
	}
	return s.veil.last.Add(s.opt.Veil)
}

// blank is the frame behind which nothing is seen: where one is connected stays,
// what is looked at does not.
func (s *Shell) blank() []string {
	head := s.badges()
	if room := s.w - draw.Width(head) - 1; room >= 3 {
		head += " " + s.th.Strong.Render(draw.Cut(safe(s.opt.About.Context), min(room, 24)))
	}
	lines := make([]string, s.h)
	lines[0] = head
	if s.w >= compactBelow {
		sign, style := s.frame()
		lines[1] = style.Render(strings.Repeat(sign, s.w))
	}
	say := []string{"Nobody has pressed a key for " + draw.Took(s.opt.Veil) + "."}
	if len(s.writes) > 0 {
		say = append(say, "What was sent is awaited.")
	}
	say = append(say, "Press any key to go on.")
	var out []string
	for i, l := range say {
		for _, part := range draw.Wrap(l, max(s.w-2, 1)) {
			part = draw.Space(max((s.w-draw.Width(part))/2, 0)) + part
			if i == len(say)-1 {
				part = s.th.Strong.Render(part)
			} else {
				part = s.th.Dim.Render(part)
			}
			out = append(out, part)
		}
	}
	out = out[max(len(out)-(s.h-1), 0):] // the last line matters most
	copy(lines[max((s.h-len(out))/2, 1):], out)
	return lines
}
