//go:build !race

package session

// hoursByDefault is how many hours of faults are played unless told otherwise.
const hoursByDefault = 100
