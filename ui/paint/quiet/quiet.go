// Package quiet sets TERM to "dumb" while the packages of the program are
// initialised.
//
// It is needed because Bubble Tea 1.3 asks the terminal for its background colour
// in an init function. Without this package every command, even one that only
// prints a list, would write OSC 11 and CSI 6n, wait up to five seconds for a
// terminal that does not answer, and lose what was typed ahead. A terminal called
// dumb is not asked.
//
// It works because Go initialises packages in the order of their import paths, each
// as soon as its own imports are done. This package imports only os and its path
// sorts before os/exec, os/signal and regexp, which Bubble Tea imports: it is
// initialised first. Package paint restores TERM in its own init, which runs after
// Bubble Tea's. Bubble Tea 2 does not ask; then this package goes.
package quiet

import "os"

var term, set = os.LookupEnv("TERM")

func init() {
	if set {
		_ = os.Setenv("TERM", "dumb")
	}
}

// Restore sets TERM back; package paint calls it once in its init.
func Restore() {
	if set && os.Getenv("TERM") == "dumb" {
		_ = os.Setenv("TERM", term)
	}
}
