//go:build unix

package files

import (
	"errors"
	"syscall"
)

// NoRoom reports whether the disk, its inodes or the user's quota is exhausted.
func NoRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
