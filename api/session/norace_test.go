//go:build !race

package session

// hoursByDefault is how many hours of faults run by default.
const hoursByDefault = 50
