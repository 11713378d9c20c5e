// Package listentest keeps connections open that say nothing, or not all, to a listener.
package listentest

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// pause is how soon a connection that was closed is made again.
const pause = 50 * time.Millisecond

// Silent keeps n connections of dial open until stop is called, or the test ends. Each
// sends one of heads (none: nothing) and waits; one that is closed is made again. It
// returns when all of them have been open once. made counts connections.
func Silent(t testing.TB, n int, dial func(i int) (net.Conn, error),
	heads ...string) (stop func(), made *atomic.Int64) {
	t.Helper()
	over, made := make(chan struct{}), new(atomic.Int64)
	var all, once sync.WaitGroup
	once.Add(n)
	for i := range n {
		head := ""
		if len(heads) > 0 {
			head = heads[i%len(heads)]
		}
		all.Go(func() {
			first := sync.OnceFunc(once.Done)
			defer first()
			for hold(func() (net.Conn, error) { return dial(i) }, head, over, func() { made.Add(1); first() }) {
			}
		})
	}
	once.Wait()
	stop = sync.OnceFunc(func() { close(over); all.Wait() })
	t.Cleanup(stop)
	return stop, made
}

// hold keeps one connection until it ends; false after over.
func hold(dial func() (net.Conn, error), head string, over chan struct{}, opened func()) bool {
	if conn, err := dial(); err == nil {
		opened()
		_, _ = io.WriteString(conn, head)
		ended := make(chan struct{})
		go func() { _, _ = io.Copy(io.Discard, conn); close(ended) }()
		defer func() { _ = conn.Close(); <-ended }()
		select {
		case <-over:
			return false
		case <-ended:
		}
	}
	select {
	case <-over:
		return false
	case <-time.After(pause):
		return true
	}
}
