package store

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// watchFolder gives bytes when a file of a folder is written to.
func watchFolder(dir string) (io.ReadCloser, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "inotify") // reads wait in the runtime's poller
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_MODIFY|unix.IN_CREATE|unix.IN_MOVED_TO); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
