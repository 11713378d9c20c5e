package listen

import (
	"cmp"
	"container/list"
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// MaxConns is the default of Conns.Max.
const MaxConns = 512

// patience is how long each connection may be silent while others wait. began is for a connection
// whose sender has sent a valid beginning: our own work may delay it (the handshake of SSH).
const (
	patience = 100 * time.Millisecond
	began    = time.Second
)

// Conns limits the open connections of one listener. A connection is working from the
// moment its whole request was read until its answer was sent. At the limit, a new connection
// replaces another one of the source that has most of them. It closes waiting connections first
// (no complete header or body, or between two requests), then those that are Heard; the oldest
// first, unless it has sent data that is not answered yet. None is closed in its first 100 ms, and
// none that is Heard in its first second. While all are younger, no connection is accepted.
// So many silent senders do not displace one that sends at once.
type Conns struct {
	Max    int                   // open at a time; 0: MaxConns
	Source func(net.Conn) string // names where a connection comes from; nil: Address

	mu      sync.Mutex
	open    map[net.Conn]*connection // guarded by mu
	sources map[string]*source       // guarded by mu: those with a connection
}

// phase is the state of a connection; higher ones are closed first.
type phase int

const (
	working phase = iota // never closed for another one
	heard                // its sender has sent a valid beginning
	waiting              // for data of its sender
	phases
)

// patience is how long a connection may stay in the phase.
func (p phase) patience() time.Duration {
	if p == heard {
		return began
	}
	return patience
}

// source is where connections come from.
type source struct {
	name string
	of   [phases]list.List // of *connection, the first one entered first
}

func (s *source) idle() int { return s.of[heard].Len() + s.of[waiting].Len() }

func (s *source) len() int { return s.of[working].Len() + s.idle() }

// first is the connection whose turn it is to give way, or will be first; nil: all are
// working. One that may not give way yet keeps none of a lower phase open that may.
func (s *source) first() (first *connection) {
	for p := waiting; p > working; p-- {
		if e := s.of[p].Front(); e != nil {
			k := e.Value.(*connection)
			if k.left() <= 0 {
				return k
			}
			if first == nil || k.left() < first.left() {
				first = k
			}
		}
	}
	return first
}

type connection struct {
	conn   net.Conn
	conns  *Conns
	source *source
	phase  phase
	at     *list.Element // in source.of[phase]
	since  time.Time     // when it entered its phase
}

// left is how long k may still stay open.
func (k *connection) left() time.Duration { return k.phase.patience() - time.Since(k.since) }

// before reports whether k is closed before o.
func (k *connection) before(o *connection) bool {
	return k != nil && (o == nil || k.phase > o.phase || k.phase == o.phase && k.since.Before(o.since))
}

// Address names the sender by its address: one of IPv4, or the /64 that one customer of an
// IPv6 network has.
func Address(c net.Conn) string {
	p, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return ""
	}
	return SourceOf(p.Addr()).String()
}

// SourceOf is what bounds are counted by: an IPv4 address, or the first of an IPv6 /64.
func SourceOf(a netip.Addr) netip.Addr {
	if a.Is4() || a.Is4In6() {
		return a.Unmap()
	}
	p, err := a.WithZone("").Prefix(64)
	if err != nil {
		return a
	}
	return p.Addr()
}

// connKey is where a request's context holds its connection.
type connKey struct{}

// bind makes s keep to the bounds. s must not be serving yet.
func (c *Conns) bind(s *http.Server) {
	before, handler := s.ConnContext, s.Handler
	s.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		if before != nil {
			ctx = before(ctx, conn)
		}
		return context.WithValue(ctx, connKey{}, c.enter(conn, waiting))
	}
	s.ConnState = func(conn net.Conn, st http.ConnState) {
		switch st {
		case http.StateIdle: // its answer has left
			c.move(conn, waiting)
		case http.StateClosed, http.StateHijacked:
			c.leave(conn)
		}
	}
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k, _ := r.Context().Value(connKey{}).(*connection)
		if k != nil && r.ContentLength != 0 {
			c.move(k.conn, waiting)
		} else if k != nil {
			c.move(k.conn, working)
		}
		handler.ServeHTTP(w, r)
	})
}

// Working says that the body of the request in ctx has arrived: its connection stays until
// its answer has left. A request without a body has this state from the beginning.
func Working(ctx context.Context) {
	if k, ok := ctx.Value(connKey{}).(*connection); ok {
		k.conns.move(k.conn, working)
	}
}

// enter accepts a connection as soon as one can be replaced; it closes it if all others are
// working.
func (c *Conns) enter(conn net.Conn, p phase) *connection {
	name := ""
	if c.Source == nil {
		name = Address(conn)
	} else {
		name = c.Source(conn)
	}
	k := &connection{conn: conn, conns: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.open) >= cmp.Or(c.Max, MaxConns) {
		wait, ok := c.evict()
		if !ok {
			closeAsync(conn)
			return k
		}
		c.mu.Unlock()
		time.Sleep(wait)
		c.mu.Lock()
	}
	if c.open == nil {
		c.open, c.sources = map[net.Conn]*connection{}, map[string]*source{}
	}
	if k.source = c.sources[name]; k.source == nil {
		k.source = &source{name: name}
		c.sources[name] = k.source
	}
	c.open[conn] = k
	c.put(k, p)
	return k
}

// put puts a connection that is in no list into that of its phase. mu is held.
func (c *Conns) put(k *connection, p phase) {
	k.phase, k.since, k.at = p, time.Now(), k.source.of[p].PushBack(k)
}

func (c *Conns) move(conn net.Conn, p phase) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.open[conn]; k != nil {
		k.source.of[k.phase].Remove(k.at)
		c.put(k, p)
	}
}

func (c *Conns) leave(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.open[conn]; k != nil {
		c.remove(k)
	}
}

// remove forgets a connection. mu is held.
func (c *Conns) remove(k *connection) {
	delete(c.open, k.conn)
	k.source.of[k.phase].Remove(k.at)
	if k.source.len() == 0 {
		delete(c.sources, k.source.name)
	}
}

// attempts is how many connections are tried for one that is silent.
const attempts = 32

// evict closes the connection that gives way first, or says for how long it may stay; ok is
// false when all are working. mu is held.
func (c *Conns) evict() (wait time.Duration, ok bool) {
	most := (*source)(nil)
	for _, s := range c.sources {
		if most == nil || s.idle() > most.idle() || s.idle() == most.idle() && s.first().before(most.first()) {
			most = s
		}
	}
	for range attempts {
		k := most.first()
		if k == nil {
			return 0, false
		}
		if wait := k.left(); wait > 0 {
			return wait, true
		}
		if !pending(k.conn) {
			c.remove(k)
			closeAsync(k.conn)
			return 0, true
		}
		most.of[k.phase].Remove(k.at)
		c.put(k, k.phase)
	}
	return patience, true
}

// pending reports whether the sender of c has sent data that is not processed yet.
func pending(c net.Conn) bool {
	if r, ok := c.(*reading); ok && r.busy.Load() {
		return true
	}
	return Unread(c)
}

// closeAsync does not wait: closing a TLS connection may take long.
func closeAsync(conn net.Conn) { go func() { _ = conn.Close() }() }

// Listener is l with the bounds of c, for servers that are not HTTP's. Its connections are
// Bounded, and wait for their sender at first.
func (c *Conns) Listener(l net.Listener) net.Listener { return bounding{l, c} }

type bounding struct {
	net.Listener
	conns *Conns
}

func (b bounding) Accept() (net.Conn, error) {
	conn, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return b.conns.Bound(conn), nil
}

// Bound takes in a connection that was accepted.
func (c *Conns) Bound(conn net.Conn) *Bounded {
	c.enter(conn, waiting)
	return &Bounded{conn, c}
}

// Bounded is a connection of a Conns, until it is closed.
type Bounded struct {
	net.Conn
	conns *Conns
}

// Heard reports that the sender has sent a valid beginning: silent connections are closed before this one.
func (b *Bounded) Heard() { b.conns.move(b.Conn, heard) }

// Working protects the connection from being closed for another one.
func (b *Bounded) Working() { b.conns.move(b.Conn, working) }

// Release no longer counts the connection: from now on it is not closed for another one.
func (b *Bounded) Release() { b.conns.leave(b.Conn) }

// NetConn is the connection itself.
func (b *Bounded) NetConn() net.Conn { return b.Conn }

// Close closes it and frees its place.
func (b *Bounded) Close() error {
	b.Release()
	return b.Conn.Close()
}
