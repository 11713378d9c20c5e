package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// canMark: kernel locks show which processes of a SQLite file are running.
const canMark = true

// markByte takes a kernel lock on one byte of f, which is released when the process ends. It is independent of the
// lock on the whole file.
func markByte(f *os.File, at int64) bool {
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: at, Len: 1}
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock) == nil
}

// byteMarked reports whether another open file has marked the byte; true when in doubt.
func byteMarked(f *os.File, at int64) bool {
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: at, Len: 1}
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock) != nil || lock.Type != unix.F_UNLCK
}
