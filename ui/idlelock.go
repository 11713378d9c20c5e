package ui

import (
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"opdeck/internal/format"
	"opdeck/ui/draw"
)

// idleLock blanks the screen of a person who went away. It knows when the last key
// came and what happened since the screen was blanked.
type idleLock struct {
	lastKey     time.Time
	on          bool
	ignoreUntil time.Time // keys are dropped until then: they came with the one that unlocked
	missed      int       // notices that came while it was on
	lapsed      int       // questions that were open when it came on
}

// idleGuard blanks the screen and brings it back.
type idleGuard struct{ *router }

// onKey swallows the key that unlocks the screen, and those that were typed with it.
func (s *idleGuard) onKey() (taken bool) {
	now := s.now()
	s.lock.lastKey = now
	switch {
	case s.lock.on:
		s.unlock(now)
		return true
	case now.Before(s.lock.ignoreUntil):
		s.lock.ignoreUntil = now.Add(quiet)
		return true
	}
	return false
}

// idle reports whether no key came for long. Both clocks count: a machine that was
// asleep stops one of them.
func (s *statusLine) idle(now time.Time) bool {
	d := max(now.Sub(s.lock.lastKey), now.Round(0).Sub(s.lock.lastKey.Round(0)))
	return s.opt.IdleLock > 0 && d >= s.opt.IdleLock
}

// lockWhenIdle blanks the screen when it is time. Open questions lapse: nobody may
// answer one that somebody else opened.
func (s *idleGuard) lockWhenIdle(now time.Time) tea.Cmd {
	if s.lock.on || s.leaving || s.gone || !s.idle(now) {
		return nil
	}
	var cmds []tea.Cmd
	open := s.questions()
	for _, q := range open {
		s.remove(q)
		if st := s.find(q.screen); st != nil && q.c.No != nil {
			cmds = append(cmds, s.perform(st, q.c.No()))
		}
	}
	s.notice = notice{}
	s.lock.on, s.lock.missed, s.lock.lapsed = true, 0, len(open)
	if !s.shown.revealed.IsZero() {
		s.shown.revealed = time.Time{}
		cmds = append(cmds, s.broadcast(DisplayChanged{}))
	}
	return tea.Batch(cmds...)
}

// unlock brings the screen back as it was and says what happened meanwhile.
func (s *idleGuard) unlock(now time.Time) {
	was := s.lock
	s.lock = idleLock{lastKey: now, ignoreUntil: now.Add(quiet)}
	defer s.expireNotice(now)
	if top := s.top(); top != nil {
		s.deliver(top, Tick{})
	}
	if was.lapsed > 0 {
		line := "The question expired while the screen was blank: nothing was done."
		if was.missed == 0 {
			s.notify(Warning, line)
			return
		}
		s.activity.note(now, Warning, line)
		s.notice.text += " " + line
	}
	if was.missed == 0 {
		return
	}
	if was.missed > 1 {
		s.notice.text += " (" + format.Plural(was.missed-1, "notice", "notices") + " more: !)"
	}
	s.notice.until = now.Add(noticeLong)
}

// hold stores a notice that nobody can see now: the weightiest stays.
func (v *idleLock) hold(old *notice, n notice) {
	v.missed++
	n.until = time.Time{}
	if old.text == "" || n.kind.weight() >= old.kind.weight() {
		*old = n
	}
}

// weight orders kinds by how much it matters that a notice is seen.
func (k Level) weight() int { return map[Level]int{Success: 1, Denied: 1, Warning: 2, Error: 3}[k] }

// lockAt is when the screen goes blank; zero when never.
func (s *statusLine) lockAt() time.Time {
	if s.opt.IdleLock <= 0 || s.lock.on || s.leaving {
		return time.Time{}
	}
	return s.lock.lastKey.Add(s.opt.IdleLock)
}

// blank is the frame behind which nothing is seen: where one is connected stays,
// what is looked at does not.
func (s *statusLine) blank() []string {
	head := s.badges()
	if room := s.w - draw.Width(head) - 1; room >= 3 {
		head += " " + s.th.Strong.Render(draw.Cut(safe(s.opt.About.Context), min(room, 24)))
	}
	say := "No key pressed for " + format.Duration(s.opt.IdleLock) + "."
	if len(s.writes) > 0 {
		say += "\nStill waiting for answers to sent requests."
	}
	var lines []string
	for _, l := range strings.Split(say, "\n") {
		for _, part := range draw.Wrap(l, max(s.w-2, 1)) {
			lines = append(lines, s.th.Dim.Render(part))
		}
	}
	for _, part := range draw.Wrap("Press any key to continue.", max(s.w-2, 1)) {
		lines = append(lines, s.th.Strong.Render(part))
	}
	top := []string{head}
	if s.w >= compactBelow {
		sign, style := s.frame()
		top = append(top, style.Render(strings.Repeat(sign, s.w)))
	}
	room := s.h - len(top)
	lines = lines[max(len(lines)-room, 0):] // the last line matters most
	page := lipgloss.Place(s.w, room, lipgloss.Center, lipgloss.Center, lipgloss.JoinVertical(lipgloss.Center, lines...))
	return append(top, strings.Split(page, "\n")...)
}
