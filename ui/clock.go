package ui

import (
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// tickMsg wakes the shell because something on screen changes by time alone.
type tickMsg struct{ seq uint64 }

// The soonest that the shell and that a screen may ask to be woken: a mistake
// in a Ticker must not become a busy loop.
const (
	soonest       = 10 * time.Millisecond
	soonestScreen = 250 * time.Millisecond
)

// next is when anything on screen changes by time alone; zero when nothing does.
func (s *Shell) next(now time.Time) time.Time {
	switch {
	case s.lock.on: // nothing is seen
		return time.Time{}
	case !s.visible():
		return Sooner(s.shown.revealed, s.lockAt())
	}
	at := Sooner(s.headerNext(now), s.notice.until, s.shown.revealed, s.lockAt())
	for _, o := range s.overlays {
		at = Sooner(at, o.counts(s, now))
	}
	if top := s.top(); top != nil {
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

// tick is a wake-up that was asked for.
type tick struct {
	seq uint64
	at  time.Time
}

// schedule asks for one wake-up at the next change, unless one at least as early
// is under way already. A later one that is under way stays: it is used when its
// time comes, so that there is never a second one for the same far time.
func (s *Shell) schedule() tea.Cmd {
	now := s.now()
	at := s.next(now)
	if at.IsZero() {
		return nil
	}
	for _, t := range s.ticks {
		if !t.at.After(at) {
			return nil
		}
	}
	s.tickSeq++
	seq := s.tickSeq
	s.ticks = append(s.ticks, tick{seq, at})
	return s.opt.Tick(at.Sub(now), func(time.Time) tea.Msg { return tickMsg{seq} })
}

// ticked handles a wake-up: what has run out goes, and the screen on top lays out
// again what it shows.
func (s *Shell) ticked(msg tickMsg) tea.Cmd {
	i := slices.IndexFunc(s.ticks, func(t tick) bool { return t.seq == msg.seq })
	if i < 0 {
		return nil
	}
	s.ticks = slices.Delete(s.ticks, i, i+1)
	now := s.now()
	s.expireNotice(now)
	cmd := s.maskAgain(now)
	if top := s.top(); top != nil && s.visible() {
		return tea.Batch(cmd, s.deliver(top, Tick{}))
	}
	return cmd
}
