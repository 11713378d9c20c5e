// Package sshserver serves the console and the commands over SSH.
//
// Only the proven key or certificate identifies a person: the login name must match it but decides nothing. There is
// no password, forwarding, agent, subsystem or shell. The package does not know consoles or commands; it is given a
// function for each (consoles are drawn or in lines) and provides the person, a terminal and limits.
//
// charm.land/ssh handles the connection and the authentication. Its session handler is not used: it keeps any number
// of environment variables, stops reading requests if no one reads the window changes, and accepts agent forwarding.
// channel.go has ours.
package sshserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"charm.land/ssh"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/google/uuid"
	gossh "golang.org/x/crypto/ssh"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/system/listen"
	"opdeck/ui/paint"
)

// Terminal is the client's terminal.
type Terminal struct {
	In      io.Reader
	Out     io.Writer
	Getenv  func(string) string // TERM, COLORTERM, LANG, LC_*, NO_COLOR as sent; "" for anything else
	Size    func() (w, h int)   // current size
	Resizes <-chan paint.Size
	// Filter must get every message of the program first: it measures idle time and delivers the server's messages.
	Filter func(tea.Model, tea.Msg) tea.Msg
}

// Line is a channel without drawing: lines are read and written.
type Line struct {
	In     io.Reader
	Out    io.Writer           // takes LF; a terminal gets CRLF
	Getenv func(string) string // as of a Terminal
	// Raw is true for a terminal: it does not echo what is typed.
	Raw   bool
	Width int // of the terminal in cells at the start; 0: none
}

// Command is one command to run.
type Command struct {
	Args     []string
	In       io.Reader
	Out, Err io.Writer
	Terminal bool // Out is a terminal: the person requested one (ssh -t)
	Width    int  // of that terminal in cells at the start; 0: none
}

// Auditor records what happened.
type Auditor interface {
	Note(ctx context.Context, who api.Actor, e api.Event) error
}

// Options of a Server. Those without a default are required.
type Options struct {
	HostKey gossh.Signer
	Keys    *AuthorizedKeys
	// Console runs the console for the person in ctx until they leave or ctx ends; the cause of ctx says why.
	Console func(ctx context.Context, t Terminal) error
	// Plain is plain mode: for clients without a terminal, or with one that cannot draw (TERM is dumb or unknown),
	// and for the command plain. It ends like Console. nil: such clients get a message that they need a terminal.
	Plain func(ctx context.Context, l Line) error
	// Exec runs a command for the person in ctx and returns its exit code.
	Exec func(ctx context.Context, c Command) int
	// Rechecked is called after each check of the open connections, and at once when the key files have changed; may
	// be nil.
	Rechecked func(ctx context.Context)
	// AwaitWrites waits until every write of a session is answered, or ctx ends; may be nil.
	AwaitWrites func(ctx context.Context, session string)
	Audit       Auditor
	Log         *slog.Logger     // nil: discards
	Now         func() time.Time // nil: time.Now; for lifetimes of keys only

	MaxSessions int // 200, of which 4 are reserved for oncall and admin
	Limits      Limits
}

// Limits of a Server; zero fields mean the defaults below.
type Limits struct {
	Handshake time.Duration // 10 s from connection to authentication
	Tries     int           // 3 proofs per connection

	PerPerson int           // 4 sessions of one person
	PerConn   int           // 2 sessions on one connection
	Conns     int           // 8 connections of one person
	Unused    time.Duration // 60 s for a connection without a session

	Idle     time.Duration // 15 min since the last key
	IdleWarn time.Duration // 2 min before, or a fifth of Idle
	Session  time.Duration // 8 h in total
	Warn     time.Duration // 5 min before

	KeepAlive time.Duration // 30 s between probes
	Misses    int           // 3 consecutive ones close the connection
	Stall     time.Duration // 30 s that the client may read nothing

	Drain   time.Duration // 10 s for all sessions to end at shutdown
	Reload  time.Duration // 5 s between checks of the key files
	Recheck time.Duration // 30 s between checks of the open connections
}

func (l *Limits) defaults() {
	or(&l.Handshake, 10*time.Second)
	or(&l.Tries, 3)
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
	sessions *sessionLimit
	refused  reasonCounts
	refusals listen.LogLimit

	running sync.WaitGroup
	reload  chan struct{} // holds one token: check the files now

	mu    sync.Mutex
	gone  bool           // guarded by mu: connections are no longer accepted
	conns map[*conn]bool // guarded by mu: true for authenticated ones
}

// New returns a server; it does not listen yet.
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
	s := &Server{opt: opt, sessions: newSessionLimit(opt.MaxSessions, l.PerPerson, l.Conns),
		reload: make(chan struct{}, 1), conns: map[*conn]bool{}}
	s.ssh = &ssh.Server{
		HostSigners: []ssh.Signer{opt.HostKey}, Version: "opdeck", HandshakeTimeout: l.Handshake,
		Handler:                 func(ssh.Session) {}, // never called: we handle session channels
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

// Reload checks the key files soon instead of within Limits.Reload.
func (s *Server) Reload() {
	select {
	case s.reload <- struct{}{}:
	default:
	}
}

// Serve accepts connections until ctx ends. Then it drops open questions, waits for sent writes, and ends every
// session within Limits.Drain. It returns nil when nothing is running any more. It closes l and can be called once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	l = new(listen.Conns).Listener(l)
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
}

// all returns all connections, authenticated the authenticated ones.
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

// recheck closes connections whose key is no longer accepted, or belongs to another person.
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

// Names of events in the audit trail.
const (
	eventOpen    = "console.open"
	eventClose   = "console.close"
	eventRefused = "ssh.refused"
	eventReload  = "config.reload"
)

// note records an event. If the trail cannot be written, people can still read: the gate refuses their writes.
func (s *Server) note(ctx context.Context, who api.Actor, e api.Event) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := s.opt.Audit.Note(ctx, who, e); err != nil {
		s.opt.Log.Error("audit", "err", err)
	}
}

// run is the program of a session: the console, plain mode, or one command.
type run struct {
	x       *session
	command string
	exec    bool
	id      string
	began   time.Time
	ctx     context.Context
	cancel  context.CancelCauseFunc
	out     io.Writer
	plain   bool        // the console in lines
	ending  atomic.Bool // keys are ignored
	over    chan struct{}
	fault   bool // the program panicked
	leaving sync.Once
	watch   watch
}

func newRun(x *session, command string, exec bool) *run {
	r := &run{x: x, command: command, exec: exec, id: uuid.NewString(), began: time.Now(), over: make(chan struct{})}
	x.who = x.c.actor(r.id)
	base := api.WithActor(context.Background(), x.who)
	r.ctx, r.cancel = context.WithCancelCause(base)
	r.plain = x.srv.opt.Plain != nil && (exec && wantsPlain(command) || !exec && (!x.pty || x.term == "dumb"))
	r.exec = exec && !r.plain
	r.out = &stallWriter{w: x.ch, limit: x.srv.opt.Limits.Stall, stalled: func() { r.cancel(errLeft); _ = x.c.Close() }}
	if r.plain { // the watch reports it in plain mode too
		r.out = &lockedWriter{w: r.out}
	}
	r.watch.init(r)
	return r
}

// start runs the program on its own goroutine, after the reply to the request, so that its output follows the reply.
func (r *run) start() {
	x := r.x
	if !x.c.addSession(x) {
		r.cancel(errLeft)
		go func() { r.finish(1, "The connection is being closed, or has too many sessions.") }()
		return
	}
	x.srv.running.Add(1)
	x.finished.Add(1)
	go func() {
		defer x.srv.running.Done()
		defer x.finished.Done()
		defer x.c.removeSession(x)
		defer x.release() // the place is free even if the client has not closed the channel
		r.body()
	}()
}

// body runs the program, from the record of its start to that of its end.
func (r *run) body() {
	x, s := r.x, r.x.srv
	kind := "console"
	if r.exec {
		kind = "command"
	}
	s.note(r.ctx, x.who, api.Event{Name: eventOpen, Object: kind, Detail: r.opening()})
	go r.watch.run()

	code, message := r.guarded()
	close(r.over)
	var why *endReason
	_ = errors.As(context.Cause(r.ctx), &why)
	r.cancel(nil)
	if why != nil {
		code, message = api.Interrupted.Exit(), why.message
	}
	how := r.how(why, code)
	detail := fmt.Sprintf("%s after %s", how, time.Since(r.began).Round(time.Second))
	s.note(r.ctx, x.who, api.Event{Name: eventClose, Object: kind, Detail: detail})
	r.finish(code, message)
}

func (r *run) opening() string {
	switch {
	case r.exec:
		return "a command"
	case r.plain && !r.x.pty:
		return "plain mode, no terminal"
	case r.plain:
		return "plain mode, terminal " + r.x.term + ", " + r.x.size.String()
	}
	return "terminal " + r.x.term + ", " + r.x.size.String()
}

// how is one word for the end of the program.
func (r *run) how(why *endReason, code int) string {
	switch {
	case why != nil:
		return why.code
	case r.fault:
		return "fault"
	case code != 0:
		return "failed"
	}
	return "left"
}

// guarded runs the program; a panic ends this session only and does not reveal its value.
func (r *run) guarded() (code int, message string) {
	defer func() {
		if v := recover(); v != nil {
			r.x.srv.opt.Log.Error("ssh session panic", "session", r.id, "type", fmt.Sprintf("%T", v), "stack",
				string(debug.Stack()))
			r.fault = true
			code, message = api.Internal.Exit(), "The console stopped because of an internal error."
		}
	}()
	switch {
	case r.exec:
		return r.runCommand(), ""
	case r.plain:
		return r.runPlain()
	}
	return r.runConsole()
}

// finish prints the last message, sends the exit code and closes the channel, within a bounded time.
func (r *run) finish(code int, message string) {
	cut := time.AfterFunc(5*time.Second, func() { _ = r.x.c.Close() })
	defer cut.Stop()
	if message != "" {
		_, _ = io.WriteString(r.x.ch.Stderr(), message+r.x.lineEnd())
	}
	_, _ = r.x.ch.SendRequest("exit-status", false, gossh.Marshal(struct{ Code uint32 }{uint32(code)}))
	_ = r.x.ch.Close()
}

// lineEnd is the client's line end.
func (x *session) lineEnd() string {
	if x.pty {
		return "\r\n"
	}
	return "\n"
}

// end makes the session end: it ignores keys, waits for sent calls, and drops the rest.
func (x *session) end(why *endReason) {
	if x.run == nil {
		_ = x.ch.Close()
		return
	}
	x.run.end(why)
}

func (r *run) end(why *endReason) {
	r.leaving.Do(func() {
		r.ending.Store(true)
		go func() {
			ctx, stop := context.WithTimeout(r.ctx, r.x.srv.opt.Limits.Drain*8/10)
			defer stop()
			r.x.srv.opt.AwaitWrites(ctx, r.id)
			r.cancel(why)
			t := time.NewTimer(3 * time.Second)
			defer t.Stop()
			select {
			case <-r.over:
			case <-t.C: // the program does not end, or waits for a client that does not read
				_ = r.x.c.Close()
			}
		}()
	})
}

// stallWriter gives up on a client that reads nothing for too long. The window of an SSH channel can be full while
// the network is not, so a network deadline does not detect that.
type stallWriter struct {
	w       io.Writer
	limit   time.Duration
	stalled func()
}

func (s *stallWriter) Write(b []byte) (int, error) {
	t := time.AfterFunc(s.limit, s.stalled)
	defer t.Stop()
	return s.w.Write(b)
}

// exit is the exit code and the sentence for an error of the console. Ctrl+c is a normal way to leave.
func exit(err error) (code int, message string) {
	if err == nil {
		return 0, ""
	}
	e := api.AsError(err)
	if e.Kind == api.Interrupted {
		return 0, ""
	}
	return e.Kind.Exit(), untrusted.Text(e.Public).Line(300)
}

// cancelAtEOF cancels the session when its input ends: the client has left.
type cancelAtEOF struct {
	r      io.Reader
	cancel context.CancelCauseFunc
}

func (u *cancelAtEOF) Read(b []byte) (int, error) {
	n, err := u.r.Read(b)
	if err != nil {
		u.cancel(errLeft)
	}
	return n, err
}
