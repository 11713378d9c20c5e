package session

import (
	"time"

	"golang.org/x/sys/unix"
)

// Steady is CLOCK_BOOTTIME: it counts while the machine sleeps (rule G1).
func (systemClock) Steady() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return processTime()
	}
	return time.Duration(ts.Nano())
}
