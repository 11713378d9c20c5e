//go:build unix

package files

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"opdeck/internal/system/localuser"
)

// Ours returns an error, which names the owner, if the file belongs to another user.
func Ours(path string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	me := os.Geteuid()
	if !ok || int(st.Uid) == me {
		return nil
	}
	owner := localuser.NameOf(strconv.FormatUint(uint64(st.Uid), 10))
	return &UnsafePathError{Path: path, Owner: owner, Reason: fmt.Sprintf("belongs to user %s, and you are user %s",
		strings.TrimPrefix(owner, "#"), strings.TrimPrefix(localuser.NameOf(strconv.Itoa(me)), "#"))}
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
