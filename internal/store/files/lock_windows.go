package files

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// Lock takes a kernel lock on f, which is released with the handle, even if its process is killed. Without wait it
// returns false if another lock conflicts.
func Lock(f *os.File, exclusive, wait bool) (bool, error) {
	var flags uint32
	if exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	if !wait {
		flags |= windows.LOCKFILE_FAIL_IMMEDIATELY
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, math.MaxUint32, math.MaxUint32, new(windows.Overlapped))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return false, nil
	}
	return false, os.NewSyscallError("LockFileEx", err)
}

// Unlock releases the lock and keeps the file open.
func Unlock(f *os.File) error {
	return os.NewSyscallError("UnlockFileEx",
		windows.UnlockFileEx(windows.Handle(f.Fd()), 0, math.MaxUint32, math.MaxUint32, new(windows.Overlapped)))
}
