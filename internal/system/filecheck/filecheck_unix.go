//go:build unix

// Package filecheck says whether a file can be believed by its owner and its mode.
package filecheck

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// noFollow keeps Append from following a link that took the file's place, and from
// waiting for the reader of a pipe.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// Private says why a file is not ours alone: it must belong to the user of this
// process and have mode 0400 or 0600.
func Private(st os.FileInfo) error {
	if m := st.Mode().Perm(); m != 0o400 && m != 0o600 {
		return fmt.Errorf("its mode is %04o and must be 0400 or 0600", m)
	}
	return owned(st, false)
}

// Trusted says why a file that decides what happens cannot be believed: another
// user than ours and root could have written it.
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
