package sshserver

import (
	"context"
	"io"
	"net"
	"net/netip"
	"slices"
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

// accept accepts a connection, on its own goroutine.
func (s *Server) accept(ctx ssh.Context, nc net.Conn) net.Conn {
	addr := addrOf(nc.RemoteAddr())
	c := &conn{Bounded: nc.(*listen.Bounded), srv: s, addr: addr, began: time.Now(), disconnect: func() {},
		gone: make(chan struct{}), firstRead: make(chan struct{}), unheard: make(chan struct{}),
		sessions: map[*session]bool{}, refusals: map[string]bool{}}
	go c.readFirst()
	var ok bool
	if c.leave, ok = s.preAuth.enter(addr, c, s.stopping); !ok {
		s.refused.add("too_many_pending")
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
func (c *conn) authenticate(p KeyHolder, key gossh.PublicKey, user string, disconnect func()) {
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

// preAuthLimit limits unauthenticated connections: in total, from one narrow network (/32 of IPv4, /64 of IPv6, which
// one sender has) and from one wide one (/24, /48). Some places are reserved for sources of earlier logins, which are
// exempt from the wide limit.
//
// A connection beyond a limit takes the place of the one whose client has made us wait longest, silent ones first. If
// all make progress, it waits its turn; clients that have sent something come before silent ones.
type preAuthLimit struct {
	all, reserved int           // places, and those reserved for known sources
	narrow, wide  int           // places per network
	queueWait     time.Duration // for a place
	silentFor     time.Duration // how long a client may make us wait before it can lose its place
	known         *knownSources

	mu      sync.Mutex
	inside  map[*place]bool      // guarded by mu
	from    map[netip.Prefix]int // guarded by mu: places by narrow network
	around  map[netip.Prefix]int // guarded by mu: of unknown sources, by wide network
	unknown int                  // guarded by mu: of unknown sources
	queue   []*place             // guarded by mu: waiting connections, oldest first
	retry   *time.Timer          // guarded by mu: runs admit while the queue is not empty
}

// client is the connection with a place.
type client interface {
	// waited is the total time that it has made us wait; silent: it has never sent any SSH.
	waited() (d time.Duration, silent bool)
	// proving reports whether it has offered an accepted key, so that a person may have to touch it or type a
	// passphrase.
	proving() bool
	// drop closes it.
	drop()
	// lost is closed when it has ended before it sent anything; nil: never.
	lost() <-chan struct{}
}

// place is one connection, admitted or queued.
type place struct {
	narrow, wide netip.Prefix
	known        bool
	client       client
	decided      chan struct{} // closed when it left the queue
	admitted     bool          // set before decided is closed
}

func (p *place) silent() bool { _, silent := p.client.waited(); return silent }

func (p *place) admit() { p.admitted = true; close(p.decided) }

// retryEvery is how often places are given to the queue. slowFactor is how much longer than a silent client one that
// sends may make us wait.
const (
	slowFactor = 4
	retryEvery = 20 * time.Millisecond
)

func newPreAuthLimit(l Limits) *preAuthLimit {
	return &preAuthLimit{all: l.Pending, reserved: l.PendingKept, narrow: l.PerSource, wide: l.PerNetwork,
		queueWait: l.QueueWait, silentFor: l.SilentFor,
		known: &knownSources{max: maxKnown}, inside: map[*place]bool{}, from: map[netip.Prefix]int{},
		around: map[netip.Prefix]int{}}
}

// networks are the narrow and the wide network of an address; without an address both are the zero Prefix.
func networks(a netip.Addr) (narrow, wide netip.Prefix) {
	a = a.Unmap().WithZone("")
	bits := [2]int{32, 24}
	if a.Is6() {
		bits = [2]int{64, 48}
	}
	narrow, _ = a.Prefix(bits[0])
	wide, _ = a.Prefix(bits[1])
	return narrow, wide
}

// enter acquires a place for a connection; ok is false if there was none in time. leave releases it and may be called
// twice.
func (l *preAuthLimit) enter(a netip.Addr, c client, stop <-chan struct{}) (leave func(), ok bool) {
	p := &place{client: c, decided: make(chan struct{})}
	p.narrow, p.wide = networks(a)
	p.known = l.known.has(p.narrow)
	if l.enqueue(p) {
		l.admit()
	}
	t := time.NewTimer(l.queueWait)
	defer t.Stop()
	select {
	case <-p.decided:
	case <-t.C:
	case <-c.lost():
	case <-stop:
	}
	if l.dequeue(p); !p.admitted {
		return nil, false
	}
	return sync.OnceFunc(func() { l.leave(p) }), true
}

// enqueue appends p to the queue, which the listener's limit of connections bounds. first: the queue was empty; else
// admit runs at intervals.
func (l *preAuthLimit) enqueue(p *place) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, p)
	return len(l.queue) == 1
}

// dequeue removes p from the queue if it is still there.
func (l *preAuthLimit) dequeue(p *place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.queue, p); i >= 0 {
		l.queue = slices.Delete(l.queue, i, i+1)
	}
}

// admit gives places to the queue, in order, and closes the connections that lose theirs.
func (l *preAuthLimit) admit() {
	l.mu.Lock()
	var dropped []*place
	for _, silent := range []bool{false, true} {
		l.queue = slices.DeleteFunc(l.queue, func(p *place) bool {
			if p.silent() != silent {
				return false
			}
			if full := l.full(p); full != nil {
				victim := l.slowest(full, silent)
				if victim == nil {
					return false
				}
				l.remove(victim)
				dropped = append(dropped, victim)
				if l.full(p) != nil { // another limit applies as well
					return false
				}
			}
			l.add(p)
			p.admit()
			return true
		})
	}
	if len(l.queue) > 0 {
		if l.retry == nil {
			l.retry = time.AfterFunc(retryEvery, l.admit)
		} else {
			l.retry.Reset(retryEvery)
		}
	}
	l.mu.Unlock()
	for _, p := range dropped {
		p.client.drop()
	}
}

// full selects the places that p would have to wait for; nil if one is free. The caller holds mu.
func (l *preAuthLimit) full(p *place) func(*place) bool {
	strangers := func(q *place) bool { return !q.known }
	switch {
	case l.from[p.narrow] >= l.narrow:
		return func(q *place) bool { return q.narrow == p.narrow }
	case !p.known && l.around[p.wide] >= l.wide:
		return func(q *place) bool { return !q.known && q.wide == p.wide }
	case !p.known && (l.unknown >= l.all-l.reserved || len(l.inside) >= l.all):
		return strangers
	case len(l.inside) >= l.all && l.unknown > 0:
		return strangers
	case len(l.inside) >= l.all:
		return func(*place) bool { return true }
	}
	return nil
}

// slowest is the place to take away first: that of the silent client that made us wait longest, at least quiet; else,
// unless it is for a silent client, that of the slowest client, at least slowFactor times as long. nil: all make
// progress. The caller holds mu.
func (l *preAuthLimit) slowest(of func(*place) bool, forSilent bool) *place {
	var mute, slow *place
	most, mostSlow := l.silentFor, slowFactor*l.silentFor
	for p := range l.inside {
		if !of(p) || p.client.proving() {
			continue
		}
		switch w, silent := p.client.waited(); {
		case silent && w >= most:
			mute, most = p, w
		case !silent && w >= mostSlow:
			slow, mostSlow = p, w
		}
	}
	if mute != nil || forSilent {
		return mute
	}
	return slow
}

func (l *preAuthLimit) add(p *place) {
	l.inside[p] = true
	l.from[p.narrow]++
	if !p.known {
		l.unknown++
		l.around[p.wide]++
	}
}

func (l *preAuthLimit) remove(p *place) {
	delete(l.inside, p)
	decrement(l.from, p.narrow)
	if !p.known {
		l.unknown--
		decrement(l.around, p.wide)
	}
}

// leave releases a place; one that was taken away is gone already.
func (l *preAuthLimit) leave(p *place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inside[p] {
		l.remove(p)
	}
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
