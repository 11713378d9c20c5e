package store

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// bootClock is CLOCK_BOOTTIME, which runs during suspend.
func bootClock() (steady func() time.Duration, boot string, err error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return nil, "", err
	}
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return nil, "", os.NewSyscallError("clock_gettime", err)
	}
	return func() time.Duration {
		var ts unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) // it worked before
		return time.Duration(ts.Nano())
	}, strings.TrimSpace(string(id)), nil
}
