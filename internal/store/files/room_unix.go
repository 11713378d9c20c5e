//go:build unix

package files

import (
	"errors"
	"syscall"
)

// NoRoom reports that the disk, its inodes or the user's quota is used up.
func NoRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
