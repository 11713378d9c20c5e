//go:build !linux

package session

import "time"

// Steady is Go's monotonic clock, which may stand still while the machine
// sleeps: rule G4's comparison with the wall clock notices that.
func (systemClock) Steady() time.Duration { return processTime() }
