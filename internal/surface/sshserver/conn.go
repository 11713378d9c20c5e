package sshserver

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"charm.land/ssh"
	gossh "golang.org/x/crypto/ssh"
)

// An endReason says why a session ended that the person did not end.
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

// conn is one connection. Before the proof it is bounded by preAuthLimit.
type conn struct {
	net.Conn
	srv   *Server
	addr  netip.Addr
	began time.Time
	leave func() // gives the place before authentication back

	attempts  attempts
	firstRead chan struct{} // closed when first bytes have come, or none will
	buffered  []byte        // of these, what was not read yet; set before firstRead is closed
	failure   error         // of the reading of these
	reading   atomic.Int64  // ns from began to the Read that waits for the client; 0: none
	idle      atomic.Int64  // ns that earlier ones waited
	received  atomic.Bool   // the client has sent something
	keyKnown  atomic.Bool   // a key was offered that is accepted
	dropped   atomic.Bool   // another one took its place

	authenticated atomic.Bool
	// Set before authenticated, never changed afterwards.
	person     Person
	key        gossh.PublicKey
	user       string
	disconnect func() // gives the person's connection back

	once     sync.Once // the first session channel
	gone     chan struct{}
	closing  sync.Once
	mu       sync.Mutex
	sessions map[*session]bool // guarded by mu: those that run
	channels int               // guarded by mu: those that are open
	unused   *time.Timer       // guarded by mu: ends a connection without a session
	ending   *endReason        // guarded by mu: no session may begin any more
	refusals map[string]bool   // guarded by mu: kinds of requests refused
}

// connKey finds the conn in the library's context.
type connKey struct{}

// accept takes a connection in from the listener. It runs on a goroutine of the
// connection's own.
func (s *Server) accept(ctx ssh.Context, nc net.Conn) net.Conn {
	addr := addrOf(nc.RemoteAddr())
	c := &conn{Conn: nc, srv: s, addr: addr, began: time.Now(), disconnect: func() {}, gone: make(chan struct{}),
		firstRead: make(chan struct{}), sessions: map[*session]bool{}, refusals: map[string]bool{}}
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

// hostOf is the address in "address:port"; the zero Addr when there is none.
func hostOf(s string) netip.Addr {
	p, err := netip.ParseAddrPort(s)
	if err != nil {
		return netip.Addr{}
	}
	return p.Addr().Unmap().WithZone("")
}

// Close ends the connection and with it everything on it.
func (c *conn) Close() error {
	err := net.ErrClosed
	c.closing.Do(func() {
		err = c.Conn.Close()
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

// readFirst reads the first bytes of the client while the connection waits for a place:
// a real client speaks at once.
func (c *conn) readFirst() {
	defer close(c.firstRead)
	b := make([]byte, 256)
	n, err := c.Conn.Read(b)
	c.buffered, c.failure = b[:n], err
	c.received.Store(n > 0)
}

// Read counts how long the client keeps us waiting, until the proof.
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

// read is Read with the first bytes before all others.
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

// drop implements client. The place was taken away before, so the connection may
// not even be counted yet: its network end is closed, and the exchange ends with it.
func (c *conn) drop() {
	c.dropped.Store(true)
	_ = c.Conn.Close()
}

// Write bounds how long the network may refuse what is written. Until the
// proof the deadline of the handshake does that.
func (c *conn) Write(b []byte) (int, error) {
	if c.authenticated.Load() {
		_ = c.SetWriteDeadline(time.Now().Add(c.srv.opt.Limits.Stall))
	}
	return c.Conn.Write(b)
}

// authenticate notes who the connection belongs to; the exchange is over.
func (c *conn) authenticate(p Person, key gossh.PublicKey, user string, disconnect func()) {
	c.person, c.key, c.user, c.disconnect = p, key, user, disconnect
	c.authenticated.Store(true)
	c.leave()
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

// keepAlive asks the other side for a sign of life again and again and ends the
// connection when none comes.
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
		dead.Reset(l.KeepAlive * time.Duration(l.Misses)) // any answer will do
	}
}

// begin counts a new session channel, or says why there may be none.
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

// addSession and removeSession keep the list of sessions that run.
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
	if last { // what was said on the way out still has to arrive
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

// firstRefusal is true once for each kind of refused request of a connection.
func (c *conn) firstRefusal(kind string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refusals[kind] || len(c.refusals) >= 8 {
		return false
	}
	c.refusals[kind] = true
	return true
}
