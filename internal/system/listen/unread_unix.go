//go:build unix

package listen

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// Unread reports whether the sender of c has sent what is not read yet, so that it is not
// c that keeps us waiting.
func Unread(c net.Conn) bool {
	s, ok := Innermost(c).(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	n := 0
	err = raw.Control(func(fd uintptr) {
		n, _, _ = unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
	})
	return err == nil && n > 0
}
