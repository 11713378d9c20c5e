package sshserver

import (
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"charm.land/ssh"
	gossh "golang.org/x/crypto/ssh"

	"opdeck/internal/system/listen"
)

// endReason is why a session was ended by the server.
type endReason struct {
	code    string // for counters and the audit trail
	message string // for the person
}

func (e *endReason) Error() string { return e.message }

var (
	errIdle     = &endReason{"idle", "No key was pressed for too long. This session ends."}
	errTooLong  = &endReason{"time_limit", "This session has reached its time limit and ends."}
	errRevoked  = &endReason{"revoked", "The key or certificate of this session is no longer accepted. The session ends."}
	errChanged  = &endReason{"role_changed", "Your role has changed. This session ends; connect again."}
	errStopping = &endReason{"server_stop", "The server is stopping. This session ends."}
	errLeft     = &endReason{"disconnected", "The client has disconnected."}
)

// conn is one connection. Until it is authenticated, preAuthLimit limits it.
type conn struct {
	*listen.Bounded // until it is authenticated
	srv             *Server
	addr            netip.Addr
	began           time.Time
	leave           func() // releases the place before authentication

	attempts  attempts
	firstRead chan struct{} // closed when the first bytes have arrived, or none will
	unheard   chan struct{} // closed when none will
	buffered  []byte        // unread part of the first bytes; set before firstRead is closed
	failure   error         // error of reading the first bytes
	reading   atomic.Int64  // ns from began to the current Read; 0: none
	idle      atomic.Int64  // ns of earlier Reads
	received  atomic.Bool   // the client has sent what an SSH client begins with
	keyKnown  atomic.Bool   // an accepted key was offered
	dropped   atomic.Bool   // another connection took its place

	authenticated atomic.Bool
	// Set before authenticated, never changed afterwards.
	person     Person
	key        gossh.PublicKey
	user       string
	disconnect func() // releases the person's connection

	once     sync.Once // the first session channel
	gone     chan struct{}
	closing  sync.Once
	mu       sync.Mutex
	sessions map[*session]bool // guarded by mu: running ones
	channels int               // guarded by mu: number of open ones
	unused   *time.Timer       // guarded by mu: ends a connection without a session
	ending   *endReason        // guarded by mu: no session may start any more
	refusals map[string]bool   // guarded by mu: kinds of refused requests
}

// connKey is the context key of the conn.
type connKey struct{}

// accept accepts a connection, on its own goroutine.
func (s *Server) accept(ctx ssh.Context, nc net.Conn) net.Conn {
	addr := addrOf(nc.RemoteAddr())
	c := &conn{Bounded: nc.(*listen.Bounded), srv: s, addr: addr, began: time.Now(), disconnect: func() {},
		gone: make(chan struct{}), firstRead: make(chan struct{}), unheard: make(chan struct{}),
		sessions: map[*session]bool{}, refusals: map[string]bool{}}
	go c.readFirst()
	var ok bool
	if c.leave, ok = s.preAuth.enter(addr, c, s.stopping); !ok {
		s.stats.add(&s.stats.refused, "too_many_pending")
		s.logRefused(addr, "too_many_pending")
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		c.leave()
		return nil
	}
	s.running.Add(1)
	s.conns[c] = false
	ctx.SetValue(connKey{}, c)
	return c
}

func addrOf(a net.Addr) netip.Addr {
	if a == nil {
		return netip.Addr{}
	}
	return hostOf(a.String())
}

// hostOf is the address in "address:port"; the zero Addr without one.
func hostOf(s string) netip.Addr {
	p, err := netip.ParseAddrPort(s)
	if err != nil {
		return netip.Addr{}
	}
	return p.Addr().Unmap().WithZone("")
}

// Close closes the connection with everything on it.
func (c *conn) Close() error {
	err := net.ErrClosed
	c.closing.Do(func() {
		err = c.Bounded.Close()
		close(c.gone)
		c.leave()
		if c.authenticated.Load() {
			c.disconnect()
		} else {
			c.failed()
		}
		c.mu.Lock()
		if c.unused != nil {
			c.unused.Stop()
		}
		c.mu.Unlock()
		c.srv.mu.Lock()
		delete(c.srv.conns, c)
		c.srv.mu.Unlock()
	})
	return err
}

// readFirst reads the client's first bytes while the connection waits for a place: a real client sends at once.
// Bytes that are not SSH count as silence.
func (c *conn) readFirst() {
	defer close(c.firstRead)
	b := make([]byte, 256)
	for {
		n, err := c.Conn.Read(b)
		switch {
		case n > 0 && strings.HasPrefix(greeting, string(b[:min(n, len(greeting))])):
			c.buffered, c.failure = b[:n], err
			c.received.Store(true)
			c.Heard()
			return
		case err != nil:
			c.failure = err
			close(c.unheard)
			return
		}
	}
}

// greeting is the beginning of what each client sends first (RFC 4253, 4.2).
const greeting = "SSH-"

// Read measures how long the client makes us wait, until it is authenticated.
func (c *conn) Read(b []byte) (int, error) {
	if c.authenticated.Load() {
		return c.Conn.Read(b)
	}
	at := int64(time.Since(c.began))
	c.reading.Store(max(at, 1))
	n, err := c.read(b)
	c.reading.Store(0)
	c.idle.Add(int64(time.Since(c.began)) - at)
	return n, err
}

// read is Read, starting with the first bytes.
func (c *conn) read(b []byte) (int, error) {
	<-c.firstRead
	switch {
	case len(c.buffered) > 0:
		n := copy(b, c.buffered)
		c.buffered = c.buffered[n:]
		return n, nil
	case c.failure != nil:
		return 0, c.failure
	}
	return c.Conn.Read(b)
}

// waited implements client.
func (c *conn) waited() (d time.Duration, silent bool) {
	d = time.Duration(c.idle.Load())
	if at := c.reading.Load(); at > 0 {
		d += time.Since(c.began) - time.Duration(at)
	}
	return d, !c.received.Load()
}

// proving implements client.
func (c *conn) proving() bool { return c.keyKnown.Load() }

// lost implements client.
func (c *conn) lost() <-chan struct{} { return c.unheard }

// drop implements client. The connection has lost its place and may not be counted yet: closing its socket ends the
// exchange.
func (c *conn) drop() {
	c.dropped.Store(true)
	_ = c.Bounded.Close()
}

// Write limits how long a write may block. Until authentication the handshake's deadline does that.
func (c *conn) Write(b []byte) (int, error) {
	if c.authenticated.Load() {
		_ = c.SetWriteDeadline(time.Now().Add(c.srv.opt.Limits.Stall))
	}
	return c.Conn.Write(b)
}

// authenticate records the person of the connection after the exchange.
func (c *conn) authenticate(p Person, key gossh.PublicKey, user string, disconnect func()) {
	c.person, c.key, c.user, c.disconnect = p, key, user, disconnect
	c.authenticated.Store(true)
	c.leave()
	c.Release()
	c.srv.preAuth.known.add(c.addr)
	c.mu.Lock()
	c.unused = time.AfterFunc(c.srv.opt.Limits.Unused, func() { _ = c.Close() })
	c.mu.Unlock()
	s := c.srv
	s.mu.Lock()
	if _, open := s.conns[c]; open {
		s.conns[c] = true
	}
	s.mu.Unlock()
	select {
	case <-c.gone: // closed meanwhile
		disconnect()
	default:
	}
}

// keepAlive requests a response regularly and closes the connection if there is none.
func (c *conn) keepAlive(sc *gossh.ServerConn) {
	l := c.srv.opt.Limits
	dead := time.AfterFunc(l.KeepAlive*time.Duration(l.Misses), func() { _ = c.Close() })
	defer dead.Stop()
	tick := time.NewTicker(l.KeepAlive)
	defer tick.Stop()
	for {
		select {
		case <-c.gone:
			return
		case <-tick.C:
		}
		if _, _, err := sc.SendRequest("keepalive@openssh.com", true, nil); err != nil {
			return
		}
		dead.Reset(l.KeepAlive * time.Duration(l.Misses)) // any response counts
	}
}

// begin counts a new session channel, or says why it is refused.
func (c *conn) begin() (end func(), why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ending != nil:
		return nil, c.ending.message
	case len(c.sessions) >= c.srv.opt.Limits.PerConn || c.channels >= 4*c.srv.opt.Limits.PerConn:
		return nil, "this connection has reached its limit of sessions"
	}
	c.channels++
	c.unused.Stop()
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.channels--; c.channels == 0 {
			c.unused.Reset(c.srv.opt.Limits.Unused)
		}
	}), ""
}

// addSession and removeSession maintain the list of running sessions.
func (c *conn) addSession(s *session) (ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending != nil || len(c.sessions) >= c.srv.opt.Limits.PerConn {
		return false
	}
	c.sessions[s] = true
	return true
}

func (c *conn) removeSession(s *session) {
	c.mu.Lock()
	delete(c.sessions, s)
	last := c.ending != nil && len(c.sessions) == 0
	c.mu.Unlock()
	if last { // the last output must still arrive
		time.AfterFunc(500*time.Millisecond, func() { _ = c.Close() })
	}
}

// endSessions ends all sessions of the connection, then the connection.
func (c *conn) endSessions(why *endReason) {
	c.mu.Lock()
	if c.ending == nil {
		c.ending = why
	}
	var running []*session
	for s := range c.sessions {
		running = append(running, s)
	}
	c.mu.Unlock()
	if len(running) == 0 {
		_ = c.Close()
		return
	}
	for _, s := range running {
		s.end(why)
	}
}

// firstRefusal is true once for each kind of refused request on a connection.
func (c *conn) firstRefusal(kind string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refusals[kind] || len(c.refusals) >= 8 {
		return false
	}
	c.refusals[kind] = true
	return true
}
