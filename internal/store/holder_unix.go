//go:build unix

package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// presenceByte is the byte of a -shm file that every connection of SQLite locks while it is open (UNIX_SHM_DMS).
const presenceByte = 128

// holder returns a process that has a SQLite file open.
func holder(path string) (pid int, held bool) {
	f, err := os.OpenFile(path+"-shm", os.O_RDWR, 0)
	if err != nil {
		return 0, false
	}
	defer func() { _ = f.Close() }()
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: presenceByte, Len: 1}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock); err != nil || lock.Type == unix.F_UNLCK {
		return 0, err != nil
	}
	return max(0, int(lock.Pid)), true
}
