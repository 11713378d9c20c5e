package ui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// tickMsg wakes the shell because something on screen changes by time alone.
type tickMsg struct{ seq uint64 }

// The soonest that the shell and that a screen may ask to be woken: a mistake
// in a Counter must not become a busy loop.
const (
	soonest       = 10 * time.Millisecond
	soonestScreen = 250 * time.Millisecond
)

// next is when anything on screen changes by time alone; zero when nothing does.
func (s *Shell) next(now time.Time) time.Time {
	if s.gone || s.w < MinWidth || s.h < MinHeight {
		return s.shown.revealed
	}
	at := Sooner(s.headerNext(now), s.notice.until, s.shown.revealed)
	for _, o := range s.overlays {
		at = Sooner(at, o.counts(s, now))
	}
	if top := s.top(); top != nil {
		if c, ok := top.screen.(Counter); ok {
			if t := c.Counts(now); !t.IsZero() {
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

// schedule asks for one wake-up at the next change, unless one at least as early
// is under way already.
func (s *Shell) schedule() tea.Cmd {
	now := s.now()
	at := s.next(now)
	if at.IsZero() || !s.tickAt.IsZero() && !at.Before(s.tickAt) {
		return nil
	}
	s.tickAt = at
	s.tickSeq++
	seq := s.tickSeq
	return s.opt.Tick(at.Sub(now), func(time.Time) tea.Msg { return tickMsg{seq} })
}

// ticked handles a wake-up; those that an earlier one has replaced do nothing.
func (s *Shell) ticked(msg tickMsg) tea.Cmd {
	if msg.seq != s.tickSeq {
		return nil
	}
	s.tickAt = time.Time{}
	now := s.now()
	s.notice.expire(now)
	return s.cover(now)
}
