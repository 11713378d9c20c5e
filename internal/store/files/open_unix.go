//go:build unix

package files

import (
	"os"
	"syscall"
)

// OpenNoFollow opens file for reading; a symbolic link is an error, and a FIFO
// without a writer does not block.
func OpenNoFollow(file string) (*os.File, error) {
	return os.OpenFile(file, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}
