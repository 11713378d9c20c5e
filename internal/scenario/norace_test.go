//go:build unix && !race

package scenario

const raceEnabled = false
