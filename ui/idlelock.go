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
type idleGuard struct{ route *router }

// onKey drops the key that unlocks the screen, and those that were typed with it.
func (s *idleGuard) onKey() (taken bool) {
	now := s.route.win.now()
	s.route.status.lock.lastKey = now
	switch {
	case s.route.status.lock.on:
		s.unlock(now)
		return true
	case now.Before(s.route.status.lock.ignoreUntil):
		s.route.status.lock.ignoreUntil = now.Add(quiet)
		return true
	}
	return false
}

// idle reports whether there was no key for the time of the lock. It uses both clocks, because
// one of them stops while the machine sleeps.
func (s *statusLine) idle(now time.Time) bool {
	d := max(now.Sub(s.lock.lastKey), now.Round(0).Sub(s.lock.lastKey.Round(0)))
	return s.win.opt.IdleLock > 0 && d >= s.win.opt.IdleLock
}

// lockWhenIdle blanks the screen when the time is over. It closes open questions, so that no
// other person can answer them.
func (s *idleGuard) lockWhenIdle(now time.Time) tea.Cmd {
	if s.route.status.lock.on || s.route.sent.leaving || s.route.sent.gone || !s.route.status.idle(now) {
		return nil
	}
	var cmds []tea.Cmd
	open := s.route.dialogs.questions()
	for _, q := range open {
		s.route.dialogs.remove(q)
		if st := s.route.stack.find(q.screen); st != nil && q.c.No != nil {
			cmds = append(cmds, s.route.perform(st, q.c.No()))
		}
	}
	s.route.status.notice = notice{}
	s.route.status.lock.on, s.route.status.lock.missed, s.route.status.lock.lapsed = true, 0, len(open)
	if !s.route.win.shown.revealed.IsZero() {
		s.route.win.shown.revealed = time.Time{}
		cmds = append(cmds, s.route.broadcast(DisplayChanged{}))
	}
	return tea.Batch(cmds...)
}

// unlock shows the screen again and reports what happened in the meantime.
func (s *idleGuard) unlock(now time.Time) {
	was := s.route.status.lock
	s.route.status.lock = idleLock{lastKey: now, ignoreUntil: now.Add(quiet)}
	defer s.route.status.expireNotice(now)
	if top := s.route.stack.top(); top != nil {
		s.route.deliver(top, Tick{})
	}
	if was.lapsed > 0 {
		line := "The question expired while the screen was blank: nothing was done."
		if was.missed == 0 {
			s.route.status.notify(Warning, line)
			return
		}
		s.route.head.activity.note(now, Warning, line)
		s.route.status.notice.text += " " + line
	}
	if was.missed == 0 {
		return
	}
	if was.missed > 1 {
		s.route.status.notice.text += " (" + format.Plural(was.missed-1, "notice", "notices") + " more: !)"
	}
	s.route.status.notice.until = now.Add(noticeLong)
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
	if s.win.opt.IdleLock <= 0 || s.lock.on || s.sent.leaving {
		return time.Time{}
	}
	return s.lock.lastKey.Add(s.win.opt.IdleLock)
}

// blank returns the blank frame: it shows the connection, but no data.
func (s *statusLine) blank() []string {
	head := s.win.badges()
	if room := s.win.w - draw.Width(head) - 1; room >= 3 {
		head += " " + s.win.th.Strong.Render(draw.Cut(safe(s.win.opt.About.Context), min(room, 24)))
	}
	say := "No key pressed for " + format.Duration(s.win.opt.IdleLock) + "."
	if len(s.sent.writes) > 0 {
		say += "\nStill waiting for answers to sent requests."
	}
	var lines []string
	for _, l := range strings.Split(say, "\n") {
		for _, part := range draw.Wrap(l, max(s.win.w-2, 1)) {
			lines = append(lines, s.win.th.Dim.Render(part))
		}
	}
	for _, part := range draw.Wrap("Press any key to continue.", max(s.win.w-2, 1)) {
		lines = append(lines, s.win.th.Strong.Render(part))
	}
	top := []string{head}
	if s.win.w >= compactBelow {
		sign, style := s.win.frame()
		top = append(top, style.Render(strings.Repeat(sign, s.win.w)))
	}
	room := s.win.h - len(top)
	lines = lines[max(len(lines)-room, 0):] // the last line matters most
	page := lipgloss.Place(s.win.w, room, lipgloss.Center, lipgloss.Center,
		lipgloss.JoinVertical(lipgloss.Center, lines...))
	return append(top, strings.Split(page, "\n")...)
}
