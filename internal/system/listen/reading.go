package listen

import (
	"crypto/tls"
	"net"
	"sync/atomic"
)

// readings is a listener whose connections know whether their server waits for their sender.
// Those of TLS do not: the server looks for their type.
type readings struct{ net.Listener }

func (l readings) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if _, secured := c.(*tls.Conn); secured || err != nil {
		return c, err
	}
	return &reading{Conn: c}, nil
}

// reading is a connection that one goroutine reads.
type reading struct {
	net.Conn
	busy atomic.Bool // something was read, and no more is asked for yet
}

func (r *reading) Read(p []byte) (int, error) {
	r.busy.Store(false)
	n, err := r.Conn.Read(p)
	r.busy.Store(n > 0)
	return n, err
}

// NetConn is the connection itself.
func (r *reading) NetConn() net.Conn { return r.Conn }

// CloseWrite lets the answer to a request that was not read arrive: the server asks for it.
func (r *reading) CloseWrite() error {
	if c, ok := r.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}

// Innermost is the connection below all others that have a method NetConn.
func Innermost(c net.Conn) net.Conn {
	for {
		over, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return c
		}
		c = over.NetConn()
	}
}
