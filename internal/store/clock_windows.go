package store

import (
	"time"

	"golang.org/x/sys/windows"
)

// bootClock is the time since the start of the system, sleep included.
func bootClock() (steady func() time.Duration, boot string, err error) {
	return windows.DurationSinceBoot, bootAt(time.Now().Add(-windows.DurationSinceBoot())), nil
}
