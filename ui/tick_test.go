package ui_test

import (
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui"
	"opdeck/ui/uitest"
)

// ticking is a screen that changes at one time.
type ticking struct {
	*fake
	at    time.Time
	ticks []time.Time
}

func (s *ticking) NextTick(now time.Time) time.Time {
	if now.Before(s.at) {
		return s.at
	}
	return time.Time{}
}

func (s *ticking) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if _, ok := msg.(ui.Tick); ok {
		s.ticks = append(s.ticks, s.clock.Now())
	}
	_, cmd := s.fake.Update(msg)
	return s, cmd
}

// TestAScreenIsToldOfItsOwnTime: a screen is told when it changes, a second later at most, and not when only the header
// does; what changes within a second is one wake-up.
func TestAScreenIsToldOfItsOwnTime(t *testing.T) {
	w := newWorld()
	o := w.options(ui.Sandbox)
	var s *ticking
	o.Make = func(env *ui.Env, p ui.Place) ui.Screen {
		s = &ticking{fake: w.make(env, p).(*fake), at: w.clock.Now().Add(70 * time.Second)}
		return s
	}
	r := uitest.Drive(t, ui.New(o), uitest.Size(80, 24))
	r.Send(ui.SessionFacts{State: "live", AccessUntil: w.clock.Now().Add(10 * time.Minute)})
	for range 90 { // the header counts the minutes
		r.Send(w.clock.Wait(time.Second))
	}
	if late := func() time.Duration { return s.ticks[0].Sub(s.at) }; len(s.ticks) != 1 || late() < 0 || late() > time.Second {
		t.Errorf("told at %v, want once, at %s", s.ticks, s.at)
	}
}
