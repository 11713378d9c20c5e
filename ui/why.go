package ui

import (
	"slices"

	"opdeck/ui/keymap"
)

// has reports whether a screen has a key of its own that is pressed with p.
func has(screen Screen, p keymap.Press) bool {
	return slices.ContainsFunc(screen.Keys(), func(k keymap.Key) bool { return !k.Yields && k.Pressed(p) })
}

// mostReasons is how many conclusions are explained at once, the newest first.
const mostReasons = 12

// why explains what was concluded about the object of a place, or where it is of none about
// all, and what each conclusion rests on.
func (s *Shell) why(at Place) Action {
	said := s.concluded.About(at.ID)
	lines := make([]string, 0, len(said))
	for _, c := range said[:min(len(said), mostReasons)] {
		lines = append(lines, safe(c.Line(s.shown.zone)))
	}
	if len(lines) == 0 {
		lines = []string{"Nothing was concluded here yet. What was done, refused or found complete is listed " +
			"here, with the read that showed it."}
	}
	return Explain{Title: "Evidence", Lines: lines}
}
