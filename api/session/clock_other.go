//go:build !linux

package session

import "time"

// Steady is Go's monotonic clock, which may stop while the machine sleeps: rule G4's comparison with the wall clock
// detects that.
func (systemClock) Steady() time.Duration { return processTime() }
