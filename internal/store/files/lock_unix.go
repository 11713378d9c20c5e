//go:build unix

package files

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Lock takes a kernel lock on f, which is released with the open file, even if its process is killed. Without wait it
// returns false if another lock conflicts.
func Lock(f *os.File, exclusive, wait bool) (bool, error) {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	if !wait {
		how |= unix.LOCK_NB
	}
	for {
		err := unix.Flock(int(f.Fd()), how)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		default:
			return false, os.NewSyscallError("flock", err)
		}
	}
}

// Unlock releases the lock and keeps the file open.
func Unlock(f *os.File) error {
	return os.NewSyscallError("flock", unix.Flock(int(f.Fd()), unix.LOCK_UN))
}
