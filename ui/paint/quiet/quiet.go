// Package quiet keeps the program from talking to the terminal before it has
// begun.
//
// Bubble Tea asks the terminal for its background colour in an init function:
// every program that links it writes OSC 11 and CSI 6n at its start, waits up to
// five seconds for a terminal that does not answer, and swallows what was typed
// ahead, even when it only prints a list. It does not ask a dumb terminal. So
// TERM is "dumb" while packages are initialised, and itself again before main.
//
// This rests on the language: of the packages whose imports are initialised, the
// first by import path is next. This package needs nothing but os and sorts
// before os/exec, os/signal and regexp, which Bubble Tea imports.
package quiet

import "os"

var term, set = os.LookupEnv("TERM")

func init() {
	if set {
		_ = os.Setenv("TERM", "dumb")
	}
}

// Restore sets TERM back. Package paint calls it once in its own init, which
// runs behind Bubble Tea's.
func Restore() {
	if set && os.Getenv("TERM") == "dumb" {
		_ = os.Setenv("TERM", term)
	}
}
