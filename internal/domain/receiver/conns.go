package receiver

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// conns limits open connections, in total and of one source. A connection is working from its complete request to its
// answer. Any other may be closed in favour of a new one: of the same source or, at the total limit, of the source
// with most connections. First those that wait for their sender (after a header without a body, or between two
// requests), then those without any input; the oldest first. So many idle senders cannot displace one that sends at
// once.
type conns struct {
	max, each int
	proxies   []netip.Prefix // without a limit of their own: each serves many senders

	mu   sync.Mutex // guards open
	open map[net.Conn]*connection
}

type connection struct {
	source netip.Addr
	since  time.Time // start of its phase
	phase  phase
}

// phase is the phase of a connection; the higher ones are closed first.
type phase int

const (
	working phase = iota // never closed
	fresh                // nothing was read yet
	waiting              // for its sender
)

// before reports whether k is closed before o.
func (k *connection) before(o *connection) bool {
	if k.phase != o.phase {
		return k.phase > o.phase
	}
	return k.since.Before(o.since)
}

// state is the server's ConnState.
func (c *conns) state(conn net.Conn, st http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch st {
	case http.StateNew:
		source := peerOf(conn)
		if !c.room(source) {
			closeAsync(conn)
			return
		}
		c.open[conn] = &connection{source: source, since: time.Now(), phase: fresh}
	case http.StateIdle: // its answer was sent
		if k := c.open[conn]; k != nil {
			k.phase, k.since = waiting, time.Now()
		}
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	}
}

// room makes room for one more connection of source; false if all candidates are working.
func (c *conns) room(source netip.Addr) bool {
	of := map[netip.Addr]int{}
	for _, k := range c.open {
		of[k.source]++
	}
	if of[source] >= c.each && !inside(source, c.proxies) && !c.evict(func(a netip.Addr) bool { return a == source }) {
		return false
	}
	if len(c.open) < c.max {
		return true
	}
	idle, most := map[netip.Addr]int{}, 0
	for _, k := range c.open {
		if k.phase != working {
			idle[k.source]++
			most = max(most, idle[k.source])
		}
	}
	return c.evict(func(a netip.Addr) bool { return idle[a] == most })
}

// evict closes the first candidate among the chosen sources.
func (c *conns) evict(chosen func(netip.Addr) bool) bool {
	var first net.Conn
	for conn, k := range c.open {
		if k.phase != working && chosen(k.source) && (first == nil || k.before(c.open[first])) {
			first = conn
		}
	}
	if first == nil {
		return false
	}
	delete(c.open, first)
	closeAsync(first)
	return true
}

// closeAsync does not block: closing a TLS connection may take long.
func closeAsync(conn net.Conn) { go func() { _ = conn.Close() }() }

func peerOf(conn net.Conn) netip.Addr {
	p, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return sourceOf(p.Addr())
}

// phaseKey is the context key of the function that sets the phase of a request's connection.
type phaseKey struct{}

// mark is the server's ConnContext.
func (c *conns) mark(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, phaseKey{}, func(p phase) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if k := c.open[conn]; k != nil {
			k.phase, k.since = p, time.Now()
		}
	})
}

// phaseOf returns the function that sets the phase of a request's connection; a no-op outside a Server.
func phaseOf(ctx context.Context) func(phase) {
	if set, ok := ctx.Value(phaseKey{}).(func(phase)); ok {
		return set
	}
	return func(phase) {}
}
