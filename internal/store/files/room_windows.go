package files

import (
	"errors"

	"golang.org/x/sys/windows"
)

// NoRoom reports whether the disk or the user's quota is exhausted.
func NoRoom(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) ||
		errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}
