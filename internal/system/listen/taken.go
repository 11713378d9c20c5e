package listen

import (
	"errors"
	"net"
	"syscall"
)

// Taken tries to listen on a TCP address and releases it at once. It reports whether another socket has the address, or
// the error why no one can listen there. Port 0 is always free.
func Taken(addr string) (taken bool, err error) {
	l, err := net.Listen("tcp", addr)
	if err == nil {
		return false, l.Close()
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return true, nil
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		err = op.Err
	}
	return false, err
}
