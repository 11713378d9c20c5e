package painttest

import "regexp"

// mapLine is the line that names the numbered screens, whichever one is marked.
var mapLine = regexp.MustCompile(`(?m)^.1 Op\w* +.2 Op\w* .*\b8 Audit.*$`)

// Content returns a screen without the line that names all screens: what waits for the name of a screen must not find
// it there.
func Content(screen string) string { return mapLine.ReplaceAllString(screen, "") }
