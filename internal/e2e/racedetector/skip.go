package racedetector

import "testing"

// Skip ends a test that goes through many cases, one after the other, if it runs under the race detector. It is the
// first statement of the test, so that .ci/run finds it and runs it without the detector.
func Skip(t testing.TB) {
	t.Helper()
	if Enabled {
		t.Skip("goes through many cases, one after the other: .ci/run runs it without the race detector")
	}
}
