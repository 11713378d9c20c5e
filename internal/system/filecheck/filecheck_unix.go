//go:build unix

// Package filecheck checks the owner and mode of files.
package filecheck

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// noFollow keeps Append from following a symbolic link and from blocking on a pipe.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// Private returns an error unless the file belongs to the user of this process and has mode 0400 or 0600.
func Private(st os.FileInfo) error {
	if m := st.Mode().Perm(); m != 0o400 && m != 0o600 {
		return fmt.Errorf("its mode is %04o and must be 0400 or 0600", m)
	}
	return owned(st, false)
}

// Trusted returns an error if a user other than ours and root can have written the file.
func Trusted(path string, st os.FileInfo) error {
	if m := st.Mode().Perm(); m&0o022 != 0 {
		return fmt.Errorf("others may write to it (mode %04o); chmod go-w", m)
	}
	if err := owned(st, true); err != nil {
		return err
	}
	return inOpenFolder(path)
}

// inOpenFolder returns an error if others may put another file in the place of path: a folder above it lets everyone
// write, without the sticky bit that keeps each file with its owner.
func inOpenFolder(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	for _, dir := range []string{path, target} {
		for dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
			st, err := os.Stat(dir)
			if err != nil {
				return err
			}
			if m := st.Mode(); m.Perm()&0o002 != 0 && m&os.ModeSticky == 0 {
				return fmt.Errorf("anyone can replace files in the folder %s (mode %04o); chmod o-w %s", dir, m.Perm(), dir)
			}
		}
	}
	return nil
}

func owned(st os.FileInfo, orRoot bool) error {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok || int(s.Uid) == os.Geteuid() || orRoot && s.Uid == 0 {
		return nil
	}
	who := "chown it to the user who runs opdeck"
	if orRoot {
		who += " or to root"
	}
	return errors.New("it belongs to another user; " + who)
}
