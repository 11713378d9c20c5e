package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// watchFolder gives bytes when a file of a folder is written to, comes or goes.
func watchFolder(dir string) (*os.File, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "inotify") // reads wait in the runtime's poller
	if _, err := unix.InotifyAddWatch(fd, dir,
		unix.IN_MODIFY|unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_DELETE|unix.IN_MOVED_FROM); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// drainEvents reads away what has gathered.
func drainEvents(events *os.File, buf []byte) {
	raw, err := events.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Read(func(fd uintptr) bool {
		for {
			if n, err := unix.Read(int(fd), buf); n <= 0 || err != nil {
				return true // without waiting for more
			}
		}
	})
}
