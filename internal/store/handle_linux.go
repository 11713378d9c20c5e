package store

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// handle keeps a file known after its name is gone. Closing it frees no lock that
// SQLite holds on the file, which closing any other descriptor would.
type handle struct{ fd int }

func openHandle(path string) *handle {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	return &handle{fd}
}

// deleted reports that the file has no name left anywhere: it was deleted, not
// moved.
func (h *handle) deleted() bool {
	var st unix.Stat_t
	return h != nil && unix.Fstat(h.fd, &st) == nil && st.Nlink == 0
}

func (h *handle) close() {
	if h != nil {
		_ = unix.Close(h.fd)
	}
}

// inode names a file on this machine while anybody has it open.
func inode(info fs.FileInfo) (dev, ino int64, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int64(st.Dev), int64(st.Ino), true
}
