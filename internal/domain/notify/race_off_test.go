//go:build !race

package notify_test

// raceOn reports whether the race detector runs, which makes simulations slow.
const raceOn = false
