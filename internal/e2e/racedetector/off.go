//go:build !race

// Package racedetector lets tests ask whether they run under the race detector.
package racedetector

// Enabled reports whether this binary was built with the race detector, which
// makes tests about ten times slower.
const Enabled = false
