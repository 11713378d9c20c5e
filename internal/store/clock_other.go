//go:build !linux && !darwin && !windows

package store

import "time"

// bootClock falls back to the time of day where no clock is common to all
// processes of a machine and goes on through sleep: rule G3 bounds the harm of
// setting it.
func bootClock() (steady func() time.Duration, boot string, err error) {
	return func() time.Duration { return time.Duration(time.Now().UnixNano()) }, "time of day", nil
}
