//go:build race

package racedetector

// Enabled reports whether this binary was built with the race detector, which
// makes tests about ten times slower.
const Enabled = true
