//go:build unix

package store

import (
	"errors"
	"syscall"
)

// noRoom reports that the disk, its inodes or the user's quota is used up.
func noRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
