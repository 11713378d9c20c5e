//go:build unix

package files

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Ours returns an error if the file belongs to another user.
func Ours(path string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	if me := os.Geteuid(); int(st.Uid) != me {
		return &UnsafePathError{path,
			fmt.Sprintf("belongs to user %d, but opdeck runs as user %d: choose another with --state, or give it to this user",
				st.Uid, me)}
	}
	return nil
}

func writableByOthers(info fs.FileInfo) bool { return info.Mode().Perm()&0o022 != 0 }

// ReadableByOthers reports whether the mode allows others to read.
func ReadableByOthers(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }

// ID is the inode number of an open file: a copy has another one.
func ID(f *os.File) (uint64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, nil
	}
	return uint64(st.Ino), nil
}
