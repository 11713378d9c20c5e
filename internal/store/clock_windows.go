package store

import (
	"strconv"
	"time"

	"golang.org/x/sys/windows"
)

// bootClock is the time since the start of the system, including sleep.
func bootClock() (steady func() time.Duration, boot string, err error) {
	began := time.Now().Add(-windows.DurationSinceBoot())
	return windows.DurationSinceBoot, beganAt + strconv.FormatInt(began.Unix(), 10), nil
}
