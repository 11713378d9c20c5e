//go:build race

package main

// raceEnabled tells that this test binary looks for races.
const raceEnabled = true
