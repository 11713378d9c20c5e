//go:build unix

package sshd

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// private says why a file is not ours alone.
func private(st os.FileInfo) error {
	if m := st.Mode().Perm(); m != 0o400 && m != 0o600 {
		return fmt.Errorf("its mode is %04o and must be 0400 or 0600", m)
	}
	return owned(st, false)
}

// trusted says why a file that decides who comes in cannot be believed: others
// could have written it.
func trusted(st os.FileInfo) error {
	if m := st.Mode().Perm(); m&0o022 != 0 {
		return fmt.Errorf("others may write to it (mode %04o); chmod go-w", m)
	}
	return owned(st, true)
}

func owned(st os.FileInfo, orRoot bool) error {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	if int(s.Uid) == os.Geteuid() || orRoot && s.Uid == 0 {
		return nil
	}
	return errors.New("it belongs to another user")
}
