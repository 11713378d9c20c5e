//go:build race

package session

// hoursByDefault is fewer under the race detector, which takes five times as long.
const hoursByDefault = 40
