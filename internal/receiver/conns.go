package receiver

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// conns bounds open connections, in all and of one source. A connection is at
// work from the moment its request was read to its answer; before that, and
// between two requests, it waits for its sender, and gives way to a new one: the
// oldest one of the same source, or, when the house is full, of the source that
// has most.
type conns struct {
	max, each int
	proxies   []netip.Prefix // have no bound of their own: they stand for many

	mu   sync.Mutex // guards open
	open map[net.Conn]*connection
}

type connection struct {
	source netip.Addr
	since  time.Time // when it opened, or gave its last answer
	busy   bool
}

// state is the server's ConnState.
func (c *conns) state(conn net.Conn, st http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch st {
	case http.StateNew:
		source := peerOf(conn)
		if !c.room(source) {
			hangUp(conn)
			return
		}
		c.open[conn] = &connection{source: source, since: time.Now()}
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	}
}

// room makes room for one more connection of source; false when all that could
// give way are at work.
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
	waiting, most := map[netip.Addr]int{}, 0
	for _, k := range c.open {
		if !k.busy {
			waiting[k.source]++
			most = max(most, waiting[k.source])
		}
	}
	return c.evict(func(a netip.Addr) bool { return waiting[a] == most })
}

// evict closes the oldest waiting connection of the sources that are chosen.
func (c *conns) evict(chosen func(netip.Addr) bool) bool {
	var oldest net.Conn
	for conn, k := range c.open {
		if !k.busy && chosen(k.source) && (oldest == nil || k.since.Before(c.open[oldest].since)) {
			oldest = conn
		}
	}
	if oldest == nil {
		return false
	}
	delete(c.open, oldest)
	hangUp(oldest)
	return true
}

// hangUp does not wait: TLS may take its time to say goodbye.
func hangUp(conn net.Conn) { go func() { _ = conn.Close() }() }

func peerOf(conn net.Conn) netip.Addr {
	p, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return sourceOf(p.Addr())
}

// busyKey is where a request's context holds the function that marks its
// connection.
type busyKey struct{}

// mark is the server's ConnContext.
func (c *conns) mark(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, busyKey{}, func(busy bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if k := c.open[conn]; k != nil {
			k.busy, k.since = busy, time.Now()
		}
	})
}

// working marks the connection of a request, if a Server has it, as at work until
// the returned function is called.
func working(ctx context.Context) (done func()) {
	mark, ok := ctx.Value(busyKey{}).(func(bool))
	if !ok {
		return func() {}
	}
	mark(true)
	return func() { mark(false) }
}
