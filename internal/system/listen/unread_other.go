//go:build !unix

package listen

import "net"

// Unread cannot be known on this system.
func Unread(net.Conn) bool { return false }
