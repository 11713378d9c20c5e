package ui

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"
)

// trail is where the person was, the oldest place first.
type trail struct {
	places []Place
	at     int // into places: where the person is
	to     int // where travel leads; -1: nowhere
}

// maxTrail is how many places are remembered.
const maxTrail = 50

// arrive notes that the person is at a place. Going somewhere else after going back
// forgets what lay ahead.
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

// travel goes to the place where the person was before (-1), or forward again (1).
func (s *router) travel(by int) tea.Cmd {
	t := &s.trail
	to := t.at + by
	switch {
	case to < 0:
		return s.hint(Info, "No earlier place.")
	case to >= len(t.places):
		return s.hint(Info, "Nothing to go forward to; "+s.keys.Global.Before.Help().Key+" goes back.")
	}
	p, top := t.places[to], s.top()
	var cmd tea.Cmd
	if at := top.screen.Place(); at.Kind == p.Kind && at.ID != "" && len(s.stack) > 1 && s.indexOf(p) < 0 {
		cmd = s.replace(top, p) // from object to object, as it was gone
	} else {
		cmd = s.visit(p)
	}
	t.to = to // when typed text holds it up, the answer to that question decides
	return cmd
}
