package sshserver

import (
	"context"
	"io"
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

// conn is one connection.
type conn struct {
	*listen.Bounded // until it is authenticated, it may have to make room for another one
	srv             *Server
	addr            netip.Addr

	attempts attempts
	quiet    atomic.Bool // the client has not sent anything

	authenticated atomic.Bool
	// Set before authenticated, never changed afterwards.
	person     KeyHolder
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

// accept accepts a connection.
func (s *Server) accept(ctx ssh.Context, nc net.Conn) net.Conn {
	c := &conn{Bounded: nc.(*listen.Bounded), srv: s, addr: addrOf(nc.RemoteAddr()), disconnect: func() {},
		gone: make(chan struct{}), sessions: map[*session]bool{}, refusals: map[string]bool{}}
	c.quiet.Store(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
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

// greeting is the beginning of what each client sends first (RFC 4253, 4.2).
const greeting = "SSH-"

// Read notes whether the client has begun as an SSH client does: silent ones make room for others.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && c.quiet.CompareAndSwap(true, false) && strings.HasPrefix(greeting, string(b[:min(n, len(greeting))])) {
		c.Heard()
	}
	return n, err
}

// Write limits how long a write may block. Until authentication the handshake's deadline does that.
func (c *conn) Write(b []byte) (int, error) {
	if c.authenticated.Load() {
		_ = c.SetWriteDeadline(time.Now().Add(c.srv.opt.Limits.Stall))
	}
	return c.Conn.Write(b)
}

// authenticate records the person of the connection after the exchange.
func (c *conn) authenticate(p KeyHolder, key gossh.PublicKey, user string, disconnect func()) {
	c.person, c.key, c.user, c.disconnect = p, key, user, disconnect
	c.authenticated.Store(true)
	c.Release()
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

const (
	// framesInFlight is how many frames a client may not have processed yet.
	framesInFlight = 2
	// replyWithin bounds the wait for a client that does not reply. Until it does, frames are not held back.
	replyWithin = 2 * time.Second
)

// pacedWriter writes the frames of a console, one per Write, no faster than the client processes them. Without it a
// slow network keeps seconds of frames in the buffers of both systems, and a key that was held for ten seconds scrolls
// on for a minute after it was released. A frame that waits here is never old: [paint.Painter] composes the next one
// when Write returns.
type pacedWriter struct {
	ctx context.Context
	w   io.Writer
	// processed returns when the client has processed all that was written before.
	processed func()

	unconfirmed int           // frames since the client's last reply; written by Write only
	reply       chan struct{} // closed by the reply that is waited for; nil: none
}

func newPacedWriter(ctx context.Context, w io.Writer, processed func()) *pacedWriter {
	return &pacedWriter{ctx: ctx, w: w, processed: processed}
}

// Write writes one frame and returns when another one may follow.
func (p *pacedWriter) Write(frame []byte) (int, error) {
	n, err := p.w.Write(frame)
	if p.unconfirmed++; err != nil || p.unconfirmed < framesInFlight {
		return n, err
	}
	if p.reply == nil {
		reply := make(chan struct{})
		p.reply = reply
		go func() {
			defer close(reply)
			p.processed()
		}()
	} else {
		select {
		case <-p.reply: // late, and of an earlier frame: the next frame asks again
			p.reply = nil
		default: // this client has not replied in time before
		}
		return n, nil
	}
	late := time.NewTimer(replyWithin)
	defer late.Stop()
	select {
	case <-p.reply:
		p.reply, p.unconfirmed = nil, 0
	case <-late.C:
	case <-p.ctx.Done():
	}
	return n, nil
}
