package files

import (
	"errors"

	"golang.org/x/sys/windows"
)

// NoRoom reports that the disk or the user's quota is used up.
func NoRoom(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) ||
		errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}
