package ui

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"
)

// trail holds the visited places, oldest first.
type trail struct {
	places []Place
	at     int // index of the current place
	to     int // index of travel's destination; -1: none
}

// maxTrail is the maximum of stored places.
const maxTrail = 50

// arrive records that the person is at a place. A new place after going back removes the
// forward places.
func (t *trail) arrive(p Place) {
	if len(t.places) > 0 && p == t.places[t.at] {
		return
	}
	to := t.to
	t.to = -1
	switch {
	case len(t.places) == 0:
		t.places, t.at = []Place{p}, 0
	case to >= 0 && to < len(t.places) && t.places[to] == p:
		t.at = to
	default:
		t.places = append(slices.Clip(t.places[:t.at+1]), p)
		if over := len(t.places) - maxTrail; over > 0 {
			t.places = t.places[over:]
		}
		t.at = len(t.places) - 1
	}
}

// travel goes to the previous place (-1), or forward again (1).
func (s *router) travel(by int) tea.Cmd {
	t := &s.stack.trail
	to := t.at + by
	switch {
	case to < 0:
		return s.status.hint(Info, "No previous screen.")
	case to >= len(t.places):
		return s.status.hint(Info, "No next screen; "+s.win.keys.Global.Before.Help().Key+" goes back.")
	}
	p, top := t.places[to], s.stack.top()
	var cmd tea.Cmd
	if at := top.screen.Place(); at.Kind == p.Kind && at.ID != "" && !s.stack.root() && s.stack.indexOf(p) < 0 {
		cmd = s.replace(top, p) // replace the object by the earlier one
	} else {
		cmd = s.visit(p)
	}
	t.to = to // if a question about typed text opens, its answer decides
	return cmd
}
