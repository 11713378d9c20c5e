package sshserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"charm.land/ssh"
	tea "github.com/charmbracelet/bubbletea"
	gossh "golang.org/x/crypto/ssh"

	"opdeck/api"
	"opdeck/internal/system/listen"
	"opdeck/ui/paint"
)

// Terminal is the terminal at the other end.
type Terminal struct {
	In      io.Reader
	Out     io.Writer
	Getenv  func(string) string // TERM, COLORTERM, LANG, LC_*, NO_COLOR as sent; "" for all else
	Size    func() (w, h int)   // as it is now
	Resizes <-chan paint.Size
	// Filter must see every message of the program first: idle time is counted
	// there, and what the server has to say comes through it.
	Filter func(tea.Model, tea.Msg) tea.Msg
}

// Line is a channel that can only print: lines are read and written, and nothing
// is drawn.
type Line struct {
	In     io.Reader
	Out    io.Writer           // takes LF; a terminal gets CRLF
	Getenv func(string) string // as of a Terminal
	// Raw is true for a terminal: it does not show what is typed.
	Raw   bool
	Width int // of the terminal in cells as it was at the beginning; 0: there is none
}

// Command is one command to run.
type Command struct {
	Args     []string
	In       io.Reader
	Out, Err io.Writer
	Terminal bool // Out goes to a terminal: the person asked for one (ssh -t)
}

// Auditor records what happened.
type Auditor interface {
	Note(ctx context.Context, who api.Actor, e api.Event) error
}

// Options of a Server. Those without a default are needed.
type Options struct {
	HostKey gossh.Signer
	Keys    *AuthorizedKeys
	// Console shows the console to the person in ctx until they leave or ctx
	// ends; its cause says why.
	Console func(ctx context.Context, t Terminal) error
	// Plain is the console in lines: for clients without a terminal, or with one that
	// cannot draw (TERM is dumb or unknown), and for the command plain. It ends as
	// Console does. nil: such clients get the message that they need a terminal.
	Plain func(ctx context.Context, l Line) error
	// Exec runs a command for the person in ctx and returns its exit code.
	Exec func(ctx context.Context, c Command) int
	// Rechecked is called after each check of the open connections, and at once when
	// the key files have changed. May be nil.
	Rechecked func(ctx context.Context)
	// AwaitWrites waits until every write of a session is answered, or ctx ends.
	// May be nil.
	AwaitWrites func(ctx context.Context, session string)
	Audit       Auditor
	Log         *slog.Logger     // nil: discards
	Now         func() time.Time // nil: time.Now; for lifetimes of keys only

	// KnownSources is a file that remembers the networks that people logged in from,
	// for which places before authentication are kept. "": they are forgotten at the end.
	KnownSources string

	MaxSessions int // 200, of which 4 are kept for oncall and admin
	Limits      Limits
}

// Limits are bounds of a Server; zero fields have the defaults named.
type Limits struct {
	Handshake time.Duration // 10 s from the connection to the proof
	Tries     int           // 3 proofs tried on one connection

	Pending     int           // 128 connections without a proof
	PendingKept int           // 32 of them for networks that somebody logged in from before
	PerSource   int           // 8 of them from one /32 or /64
	PerNetwork  int           // 32 of them from one /24 or /48, known sources aside
	SilentFor   time.Duration // 500 ms that a silent client may keep us waiting before another one can take its place
	QueueWait   time.Duration // 8 s that a connection beyond the bounds waits for its turn

	PerPerson int           // 4 sessions of one person
	PerConn   int           // 2 sessions on one connection
	Conns     int           // 8 connections of one person
	Unused    time.Duration // 60 s that a connection may have no session

	Idle     time.Duration // 15 min from the last key
	IdleWarn time.Duration // 2 min before, or a fifth of Idle
	Session  time.Duration // 8 h in all
	Warn     time.Duration // 5 min before

	KeepAlive time.Duration // 30 s from one sign of life to the next
	Misses    int           // 3 in a row end the connection
	Stall     time.Duration // 30 s that the other side may not take what was written

	Drain   time.Duration // 10 s for all sessions to end when the server stops
	Reload  time.Duration // 5 s from one check of the key files to the next
	Recheck time.Duration // 30 s from one check of the open connections to the next
}

func (l *Limits) defaults() {
	or(&l.Handshake, 10*time.Second)
	or(&l.Tries, 3)
	or(&l.Pending, 128)
	or(&l.PendingKept, l.Pending/4)
	or(&l.PerSource, 8)
	or(&l.PerNetwork, 32)
	or(&l.SilentFor, 500*time.Millisecond)
	or(&l.QueueWait, 8*time.Second)
	or(&l.PerPerson, 4)
	or(&l.PerConn, 2)
	or(&l.Conns, 8)
	or(&l.Unused, time.Minute)
	or(&l.Idle, 15*time.Minute)
	or(&l.IdleWarn, min(2*time.Minute, l.Idle/5))
	or(&l.Session, 8*time.Hour)
	or(&l.Warn, min(5*time.Minute, l.Session/5))
	or(&l.KeepAlive, 30*time.Second)
	or(&l.Misses, 3)
	or(&l.Stall, 30*time.Second)
	or(&l.Drain, 10*time.Second)
	or(&l.Reload, 5*time.Second)
	or(&l.Recheck, 30*time.Second)
}

func or[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// Server serves one listener.
type Server struct {
	opt      Options
	ssh      *ssh.Server
	preAuth  *preAuthLimit
	sessions *sessionLimit
	stats    stats
	refusals listen.LogLimit

	stopping chan struct{} // closed when no connection is accepted any more
	running  sync.WaitGroup
	reload   chan struct{} // holds one token: look at the files now

	mu    sync.Mutex
	gone  bool           // guarded by mu: no connection is accepted any more
	conns map[*conn]bool // guarded by mu: true for those that proved who they are
}

// New makes a server. Nothing is listened on yet.
func New(opt Options) (*Server, error) {
	switch {
	case opt.HostKey == nil:
		return nil, errors.New("ssh: no host key")
	case opt.Keys == nil:
		return nil, errors.New("ssh: no authorized keys")
	case opt.Console == nil || opt.Exec == nil || opt.Audit == nil:
		return nil, errors.New("ssh: Console, Exec and Audit are needed")
	}
	opt.Limits.defaults()
	or(&opt.MaxSessions, 200)
	or(&opt.Log, slog.New(slog.DiscardHandler))
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Rechecked == nil {
		opt.Rechecked = func(context.Context) {}
	}
	if opt.AwaitWrites == nil {
		opt.AwaitWrites = func(context.Context, string) {}
	}
	var err error
	if opt.HostKey, err = withoutSHA1(opt.HostKey); err != nil {
		return nil, err
	}
	l := opt.Limits
	s := &Server{opt: opt, preAuth: newPreAuthLimit(l), sessions: newSessionLimit(opt.MaxSessions, l.PerPerson, l.Conns),
		stopping: make(chan struct{}), reload: make(chan struct{}, 1), conns: map[*conn]bool{}}
	s.preAuth.known.path = opt.KnownSources
	if err := s.preAuth.known.load(); err != nil {
		return nil, err
	}
	s.ssh = &ssh.Server{
		HostSigners: []ssh.Signer{opt.HostKey}, Version: "opdeck", HandshakeTimeout: l.Handshake,
		Handler:                 func(ssh.Session) {}, // never called: the session channel is ours
		ConnCallback:            s.accept,
		ConnectionCloseCallback: func(net.Conn) { s.running.Done() },
		ServerConfigCallback:    s.config,
		ChannelHandlers:         map[string]ssh.ChannelHandler{"session": s.session, "default": s.noChannel},
		RequestHandlers:         map[string]ssh.RequestHandler{"default": s.noRequest},
		SubsystemHandlers:       map[string]ssh.SubsystemHandler{},
	}
	return s, nil
}

// Fingerprint is the host key's, as ssh shows it at the first connection.
func (s *Server) Fingerprint() string { return gossh.FingerprintSHA256(s.opt.HostKey.PublicKey()) }

// Reload looks at the key files soon instead of within Limits.Reload.
func (s *Server) Reload() {
	select {
	case s.reload <- struct{}{}:
	default:
	}
}

// Serve accepts connections until ctx ends. Then open questions are dropped, sent writes are awaited, and every
// session ends within Limits.Drain. It returns nil after such an end, when nothing of it runs any more. It closes l
// and can be called once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	for _, m := range s.opt.Keys.Mistakes() {
		s.opt.Log.Warn("ssh key left out", "file", m.File, "line", m.Line, "why", m.What)
	}
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	s.running.Go(func() { s.watch(watching) })
	ended := make(chan error, 1)
	go func() { ended <- s.ssh.Serve(l) }()
	select {
	case err := <-ended:
		cancel()
		s.stop(l)
		return fmt.Errorf("ssh: %w", err)
	case <-ctx.Done():
	}
	s.stop(l)
	<-ended
	return nil
}

// stop ends all sessions and connections.
func (s *Server) stop(l net.Listener) {
	close(s.stopping)
	s.mu.Lock()
	s.gone = true
	s.mu.Unlock()
	_ = l.Close()
	for _, c := range s.all() {
		c.endSessions(errStopping)
	}
	out := make(chan struct{})
	go func() { s.running.Wait(); close(out) }()
	t := time.NewTimer(s.opt.Limits.Drain)
	defer t.Stop()
	select {
	case <-out:
	case <-t.C:
		s.opt.Log.Warn("ssh: connections cut off that did not end in time", "connections", len(s.all()))
	}
	_ = s.ssh.Close()
	for _, c := range s.all() {
		_ = c.Close()
	}
	<-out
	s.remember()
}

// remember saves the networks that people logged in from.
func (s *Server) remember() {
	if err := s.preAuth.known.save(); err != nil {
		s.opt.Log.Error("ssh: logins from known networks may have to wait after a restart", "err", err)
	}
}

// all are the connections, authenticated those that proved who they are.
func (s *Server) all() []*conn           { return s.connections(false) }
func (s *Server) authenticated() []*conn { return s.connections(true) }

func (s *Server) connections(proven bool) []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*conn, 0, len(s.conns))
	for c, p := range s.conns {
		if p || !proven {
			out = append(out, c)
		}
	}
	return out
}

// watch checks the key files and the open connections at intervals.
func (s *Server) watch(ctx context.Context) {
	look := time.NewTicker(s.opt.Limits.Reload)
	defer look.Stop()
	again := time.NewTicker(s.opt.Limits.Recheck)
	defer again.Stop()
	trouble := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
			s.recheck(ctx)
			continue
		case <-s.reload:
		case <-look.C:
			s.remember()
		}
		changed, err := s.opt.Keys.Reload()
		if err != nil && err.Error() != trouble {
			s.opt.Log.Error("ssh keys cannot be read", "err", err)
		}
		trouble = ""
		if err != nil {
			trouble = err.Error()
		}
		if changed {
			s.reloaded(ctx)
			s.recheck(ctx)
		}
	}
}

// reloaded logs and records that the keys have changed.
func (s *Server) reloaded(ctx context.Context) {
	keys, authorities := s.opt.Keys.Len()
	bad := s.opt.Keys.Mistakes()
	for _, m := range bad {
		s.opt.Log.Warn("ssh key left out", "file", m.File, "line", m.Line, "why", m.What)
	}
	detail := fmt.Sprintf("ssh keys read again: %d keys, %d authorities, %d lines left out", keys, authorities, len(bad))
	s.opt.Log.Info(detail)
	s.note(ctx, api.Actor{Name: "server", Via: "service"}, api.Event{Name: eventReload, Object: "ssh", Detail: detail})
}

// recheck ends connections whose key would not be accepted any more, or not as the
// same person.
func (s *Server) recheck(ctx context.Context) {
	defer s.opt.Rechecked(ctx)
	for _, c := range s.authenticated() {
		p, err := s.opt.Keys.authorize(c.key, c.user, c.addr)
		switch {
		case err != nil:
			c.endSessions(errRevoked)
		case p.Name != c.person.Name || p.Login != c.person.Login || p.Role != c.person.Role ||
			p.NoTerminal != c.person.NoTerminal:
			c.endSessions(errChanged)
		}
	}
}

// Names of events, as the audit trail numbers them.
const (
	eventOpen    = "console.open"
	eventClose   = "console.close"
	eventRefused = "ssh.refused"
	eventReload  = "config.reload"
)

// note records an event. A trail that cannot be written does not keep people
// from reading: the gate refuses their writes.
func (s *Server) note(ctx context.Context, who api.Actor, e api.Event) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := s.opt.Audit.Note(ctx, who, e); err != nil {
		s.opt.Log.Error("audit", "err", err)
	}
}
