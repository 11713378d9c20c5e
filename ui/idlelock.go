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
	after       time.Duration // without a key; 0: never
	lastKey     time.Time
	on          bool
	ignoreUntil time.Time // keys until then are dropped: they were typed with the unlocking key
	missed      int       // notices while the screen was blank
	lapsed      int       // open questions that it closed
}

// drops reports whether a key was typed with the one that unlocked the screen.
func (v *idleLock) drops(now time.Time) bool {
	v.lastKey = now
	if !now.Before(v.ignoreUntil) {
		return false
	}
	v.ignoreUntil = now.Add(quiet)
	return true
}

// idle reports whether there was no key for the time of the lock. It uses both clocks, because
// one of them stops while the machine sleeps.
func (v *idleLock) idle(now time.Time) bool {
	d := max(now.Sub(v.lastKey), now.Round(0).Sub(v.lastKey.Round(0)))
	return v.after > 0 && d >= v.after
}

// lockWhenIdle blanks the screen when the time is over. It closes open questions, so that no
// other person can answer them.
func (s *Shell) lockWhenIdle(now time.Time) tea.Cmd {
	if s.lock.on || s.sent.leaving || s.sent.gone || !s.lock.idle(now) {
		return nil
	}
	var cmds []tea.Cmd
	open := s.dialogs.questions()
	for _, q := range open {
		s.dialogs.remove(q)
		if st := s.stack.find(q.screen); st != nil && q.c.No != nil {
			cmds = append(cmds, s.route.perform(st, q.c.No()))
		}
	}
	s.status.notice = notice{}
	s.lock.on, s.lock.missed, s.lock.lapsed = true, 0, len(open)
	if !s.win.shown.revealed.IsZero() {
		s.win.shown.revealed = time.Time{}
		cmds = append(cmds, s.route.broadcast(DisplayChanged{}))
	}
	return tea.Batch(cmds...)
}

// unlock shows the screen again and reports what happened in the meantime.
func (s *Shell) unlock(now time.Time) {
	was := *s.lock
	*s.lock = idleLock{after: was.after, lastKey: now, ignoreUntil: now.Add(quiet)}
	defer s.status.expireNotice(now)
	if top := s.stack.top(); top != nil {
		s.route.deliver(top, Tick{})
	}
	if was.lapsed > 0 {
		line := "The question expired while the screen was blank: nothing was done."
		if was.missed == 0 {
			s.status.notify(Warning, line)
			return
		}
		s.activity.note(now, Warning, line)
		s.status.notice.text += " " + line
	}
	if was.missed == 0 {
		return
	}
	if was.missed > 1 {
		s.status.notice.text += " (" + format.Plural(was.missed-1, "notice", "notices") + " more: !)"
	}
	s.status.notice.until = now.Add(noticeLong)
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

// lockAt is the time when the screen goes blank; zero for never, as while the person is leaving.
func (v *idleLock) lockAt(leaving bool) time.Time {
	if v.after <= 0 || v.on || leaving {
		return time.Time{}
	}
	return v.lastKey.Add(v.after)
}

// blank returns the blank frame: it shows the connection, but no data. waits: a write has no
// answer yet.
func (s *window) blank(waits bool) []string {
	head := s.badges()
	if room := s.w - draw.Width(head) - 1; room >= 3 {
		head += " " + s.th.Strong.Render(draw.Cut(safe(s.opt.About.Context), min(room, 24)))
	}
	say := "No key pressed for " + format.Duration(s.opt.IdleLock) + "."
	if waits {
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
	page := lipgloss.JoinVertical(lipgloss.Center, lines...)
	page = lipgloss.Place(s.w, room, lipgloss.Center, lipgloss.Center, page)
	return append(top, strings.Split(page, "\n")...)
}
