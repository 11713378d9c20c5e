package store

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// bootClock is CLOCK_MONOTONIC, which runs during sleep on this system.
func bootClock() (steady func() time.Duration, boot string, err error) {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return nil, "", os.NewSyscallError("sysctl", err)
	}
	return func() time.Duration {
		var ts unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // fails only for unknown clocks
		return time.Duration(ts.Nano())
	}, id, nil
}
