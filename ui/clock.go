package ui

import (
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// tickMsg wakes the shell when drawn text changes with time.
type tickMsg struct{ seq uint64 }

// The shortest intervals between wake-ups of the shell and of a screen, so that a mistake
// in a Ticker does not cause a busy loop.
const (
	soonest       = 10 * time.Millisecond
	soonestScreen = 250 * time.Millisecond
)

// next is the time when drawn text changes next; zero if none does.
func (s *Shell) next(now time.Time) time.Time {
	switch {
	case s.lock.on: // the screen is blank
		return time.Time{}
	case !s.visible():
		return Sooner(s.win.shown.revealed, s.lock.lockAt(s.sent.leaving))
	}
	at := Sooner(s.head.headerNext(now), s.status.notice.until, s.win.shown.revealed, s.lock.lockAt(s.sent.leaving))
	for _, o := range s.dialogs.overlays {
		at = Sooner(at, o.counts(s, now))
	}
	if top := s.stack.top(); top != nil {
		if c, ok := top.screen.(Ticker); ok {
			if t := c.NextTick(now); !t.IsZero() {
				at = Sooner(at, later(t, now.Add(soonestScreen)))
			}
		}
	}
	if !at.IsZero() {
		at = later(at, now.Add(soonest))
	}
	return at
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// wakes holds the scheduled wake-ups.
type wakes struct {
	ticks []tick
	seq   uint64
}

// tick is a scheduled wake-up.
type tick struct {
	seq uint64
	at  time.Time
}

// schedule schedules a wake-up at the next change, unless there is already one that is at
// least as early. It keeps a later one for its own time, so that there are never two
// for the same time.
func (w *wakes) schedule(next func(now time.Time) time.Time, win *window) tea.Cmd {
	now := win.now()
	at := next(now)
	if at.IsZero() {
		return nil
	}
	for _, t := range w.ticks {
		if !t.at.After(at) {
			return nil
		}
	}
	w.seq++
	seq := w.seq
	w.ticks = append(w.ticks, tick{seq, at})
	return win.opt.Tick(at.Sub(now), func(time.Time) tea.Msg { return tickMsg{seq} })
}

// ticked handles a wake-up: it removes what has expired and lays out the screen on top
// again.
func (s *Shell) ticked(msg tickMsg) tea.Cmd {
	n := len(s.wakes.ticks)
	s.wakes.ticks = slices.DeleteFunc(s.wakes.ticks, func(t tick) bool { return t.seq == msg.seq })
	if len(s.wakes.ticks) == n {
		return nil
	}
	now := s.win.now()
	s.status.expireNotice(now)
	cmd := s.maskAgain(now)
	if top := s.stack.top(); top != nil && s.visible() {
		return tea.Batch(cmd, s.route.deliver(top, Tick{}))
	}
	return cmd
}
