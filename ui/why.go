package ui

import "opdeck/internal/present"

// mostReasons is the maximum of conclusions that are explained at once, newest first.
const mostReasons = 12

// why explains the conclusions about the object of a place, or what is wrong and all conclusions if it has
// none, with the evidence of each.
func (s *Shell) why(at Place) Action {
	said := s.concluded.About(at.ID)
	var lines []string
	if at.ID == "" {
		lines = present.Evidence(s.win.verdictOptions(), s.win.shown.found.at(s.win.now()))
	}
	for _, c := range said[:min(len(said), mostReasons)] {
		lines = append(lines, safe(c.Line(s.win.shown.zone)))
	}
	if len(lines) == 0 {
		lines = []string{"No conclusions yet. This page lists what was done, refused or found complete, " +
			"with the read that shows it."}
	}
	return Explain{Title: "Evidence", Lines: lines}
}
