//go:build unix

// Package filecheck checks the owner and mode of files.
package filecheck

import (
	"errors"
	"fmt"
	"os"
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
func Trusted(st os.FileInfo) error {
	if m := st.Mode().Perm(); m&0o022 != 0 {
		return fmt.Errorf("others may write to it (mode %04o); chmod go-w", m)
	}
	return owned(st, true)
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
