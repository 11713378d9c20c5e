package lendproxy

import (
	"net"
	"strconv"

	"golang.org/x/sys/unix"
)

// knowsPeer: the kernel reports the user who connected (SO_PEERCRED).
const knowsPeer = true

// peerUID is the user id of the process that connected, "" if not known.
func peerUID(c *net.UnixConn) string {
	raw, err := c.SyscallConn()
	if err != nil {
		return ""
	}
	uid := ""
	if err := raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			uid = strconv.FormatUint(uint64(cred.Uid), 10)
		}
	}); err != nil {
		return ""
	}
	return uid
}
