package ui

import (
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"opdeck/internal/format"
	"opdeck/ui/draw"
)

// idleLock is the state of the blank screen of an absent person: the time of the last key,
// and the events since the screen went blank.
type idleLock struct {
	lastKey     time.Time
	on          bool
	ignoreUntil time.Time // keys until then are dropped: they were typed with the unlocking key
	missed      int       // notices while the screen was blank
	lapsed      int       // open questions that it closed
}

// idleGuard blanks the screen and shows it again.
type idleGuard struct{ *router }

// onKey drops the key that unlocks the screen, and those that were typed with it.
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

// idle reports whether there was no key for the time of the lock. It uses both clocks, because
// one of them stops while the machine sleeps.
func (s *statusLine) idle(now time.Time) bool {
	d := max(now.Sub(s.lock.lastKey), now.Round(0).Sub(s.lock.lastKey.Round(0)))
	return s.opt.IdleLock > 0 && d >= s.opt.IdleLock
}

// lockWhenIdle blanks the screen when the time is over. It closes open questions, so that no
// other person can answer them.
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

// unlock shows the screen again and reports what happened in the meantime.
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

// hold stores a notice while the screen is blank; it keeps only the most important one.
func (v *idleLock) hold(old *notice, n notice) {
	v.missed++
	n.until = time.Time{}
	if old.text == "" || n.kind.weight() >= old.kind.weight() {
		*old = n
	}
}

// weight orders levels by importance.
func (k Level) weight() int { return map[Level]int{Success: 1, Denied: 1, Warning: 2, Error: 3}[k] }

// lockAt is the time when the screen goes blank; zero for never.
func (s *statusLine) lockAt() time.Time {
	if s.opt.IdleLock <= 0 || s.lock.on || s.leaving {
		return time.Time{}
	}
	return s.lock.lastKey.Add(s.opt.IdleLock)
}

// blank returns the blank frame: it shows the connection, but no data.
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
