package sshserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"charm.land/ssh"
	tea "github.com/charmbracelet/bubbletea"
	gossh "golang.org/x/crypto/ssh"

	"opdeck/api"
	"opdeck/ui"
	"opdeck/ui/paint"
)

// Limits of a session's requests before it starts.
const (
	startWithin = 30 * time.Second // from opening the channel to shell or exec
	maxRequests = 100              // before the start
	maxEnv      = 16               // variables kept
	maxEnvLen   = 256              // bytes of name and value
	maxCommand  = 16 << 10         // bytes
	maxTerm     = 64               // bytes of TERM
)

// noChannel refuses forwarding of any kind.
func (s *Server) noChannel(_ *ssh.Server, _ *gossh.ServerConn, n gossh.NewChannel, ctx ssh.Context) {
	s.refuse(connOf(ctx), n.ChannelType())
	_ = n.Reject(gossh.Prohibited, "this server offers only the console and its commands")
}

// noRequest refuses global requests. Some are ordinary.
func (s *Server) noRequest(ctx ssh.Context, _ *ssh.Server, req *gossh.Request) (bool, []byte) {
	switch req.Type {
	case "tcpip-forward", "streamlocal-forward@openssh.com":
		s.refuse(connOf(ctx), req.Type)
	}
	return false, nil
}

// refuse records, once per connection, that a person requested something that is not offered. It does not wait for
// the audit trail, since requests must be answered at once.
func (s *Server) refuse(c *conn, what string) {
	if c == nil || !c.firstRefusal(what) {
		return
	}
	s.refused.add("not_offered")
	s.logRefused(c.addr, "not_offered", "person", c.person.Name, "asked", known(what))
	s.running.Go(func() {
		s.note(context.Background(), c.actor(""), api.Event{Name: eventRefused, Object: "ssh",
			Detail: "asked for " + known(what) + ", which is not offered"})
	})
}

// connOf returns the connection from the library's context.
func connOf(ctx ssh.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}

// known replaces request names invented by the client before they reach the trail.
func known(what string) string {
	switch what {
	case "direct-tcpip", "direct-streamlocal@openssh.com", "tcpip-forward", "streamlocal-forward@openssh.com", "x11-req",
		"auth-agent-req@openssh.com", "subsystem", "tun@openssh.com", "forwarded-tcpip", "x11":
		return what
	}
	return "something unknown"
}

// actor is the person of the connection, for the trail and the gate.
func (c *conn) actor(session string) api.Actor {
	p := c.person
	return api.Actor{Name: p.Name, Role: p.Role, Via: "ssh", From: c.RemoteAddr().String(), At: c.LocalAddr().String(),
		Session: session, Host: c.srv.Fingerprint(),
		Key: p.Key, Login: p.Login, Cert: p.Cert, Serial: p.Serial,
		Proof: strings.TrimSpace(string(gossh.MarshalAuthorizedKey(c.key)))}
}

// session is one session channel.
type session struct {
	srv     *Server
	c       *conn
	ch      gossh.Channel
	who     api.Actor
	release func() // releases the place

	env      map[string]string
	asked    int // requests so far
	pty      bool
	term     string
	size     window
	run      *run // the program; nil: not started
	finished sync.WaitGroup
}

// session handles one session channel. It returns when both sides have closed the channel.
func (s *Server) session(_ *ssh.Server, sc *gossh.ServerConn, n gossh.NewChannel, ctx ssh.Context) {
	c := connOf(ctx)
	if p := personOf(sc.Permissions); c == nil || p.Name == "" || !p.Role.Valid() || p.Name != c.person.Name ||
		p.Role != c.person.Role {
		_ = n.Reject(gossh.Prohibited, "not authenticated")
		return
	}
	c.once.Do(func() { go c.keepAlive(sc) })
	end, why := c.begin()
	if why == "" {
		defer end()
		var release func()
		if release, why = s.sessions.acquire(c.person); why == "" {
			defer release()
			ch, reqs, err := n.Accept()
			if err != nil {
				return
			}
			x := &session{srv: s, c: c, ch: ch, release: release, env: map[string]string{}, size: newWindow()}
			x.serve(reqs)
			return
		}
	}
	s.refused.add("too_many_sessions")
	s.logRefused(c.addr, "too_many_sessions", "person", c.person.Name, "why", why)
	s.note(ctx, c.actor(""), api.Event{Name: eventRefused, Object: "ssh", Detail: "no session: " + why})
	_ = n.Reject(gossh.ResourceShortage, why)
}

// serve answers the requests of the channel. It never waits for the program.
func (x *session) serve(reqs <-chan *gossh.Request) {
	late := time.AfterFunc(startWithin, func() { _ = x.ch.Close() })
	defer late.Stop()
	for req := range reqs {
		ok := x.request(req)
		if req.WantReply {
			_ = req.Reply(ok, nil)
		}
		if ok && (req.Type == "shell" || req.Type == "exec") {
			late.Stop()
			x.run.start()
		}
		if x.asked > maxRequests && x.run == nil {
			_ = x.c.Close()
		}
	}
	if x.run != nil {
		x.run.cancel(errLeft)
		x.finished.Wait()
	}
}

func (x *session) request(req *gossh.Request) (ok bool) {
	x.asked++
	switch req.Type {
	case "pty-req":
		return x.run == nil && !x.pty && x.takePTY(req.Payload)
	case "env":
		return x.run == nil && x.takeEnv(req.Payload)
	case "window-change":
		var w struct{ W, H, PW, PH uint32 }
		if !x.pty || gossh.Unmarshal(req.Payload, &w) != nil {
			return false
		}
		x.size.set(w.W, w.H)
		return true
	case "signal":
		return x.signal(req.Payload)
	case "eow@openssh.com": // the client stopped reading; on a shared connection it is the only sign
		if x.run != nil {
			x.run.cancel(errLeft)
		}
	case "shell":
		return x.prepare("", false)
	case "exec":
		var p struct{ Command string }
		return gossh.Unmarshal(req.Payload, &p) == nil && x.prepare(p.Command, true)
	case "x11-req", "auth-agent-req@openssh.com", "subsystem":
		x.srv.refuse(x.c, req.Type)
	}
	return false
}

func (x *session) takePTY(payload []byte) bool {
	var p struct {
		Term         string
		W, H, PW, PH uint32
		Modes        string
	}
	if x.c.person.NoTerminal || gossh.Unmarshal(payload, &p) != nil {
		return false
	}
	x.pty, x.term = true, termName(p.Term)
	x.size.set(p.W, p.H)
	return true
}

// termName is TERM if it is a plausible name.
func termName(s string) string {
	if s == "" || len(s) > maxTerm || strings.Trim(s,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-+._") != "" {
		return "dumb"
	}
	return s
}

// takeEnv keeps the few variables that affect drawing.
func (x *session) takeEnv(payload []byte) bool {
	var p struct{ Name, Value string }
	if gossh.Unmarshal(payload, &p) != nil || len(p.Name)+len(p.Value) > maxEnvLen || len(x.env) >= maxEnv {
		return false
	}
	if !slices.Contains([]string{"COLORTERM", "LANG", "NO_COLOR", "COLORFGBG"}, p.Name) &&
		!strings.HasPrefix(p.Name, "LC_") {
		return false
	}
	if strings.ContainsFunc(p.Name+p.Value, func(r rune) bool { return r < ' ' || r > '~' }) {
		return false
	}
	x.env[p.Name] = p.Value
	return true
}

func (x *session) getenv(name string) string {
	if name == "TERM" {
		return x.term
	}
	return x.env[name]
}

// signal forwards a signal that ends a command.
func (x *session) signal(payload []byte) bool {
	var p struct{ Name string }
	if x.run == nil || gossh.Unmarshal(payload, &p) != nil ||
		!slices.Contains([]string{"INT", "TERM", "HUP", "QUIT"}, p.Name) {
		return false
	}
	x.run.cancel(errLeft)
	return true
}

// prepare prepares the program of the channel; there can be only one.
func (x *session) prepare(command string, exec bool) bool {
	if x.run != nil || len(command) > maxCommand {
		return false
	}
	x.env = maps.Clone(x.env) // later requests do not change it
	x.run = newRun(x, command, exec)
	return true
}

// window is the size of the terminal: only the latest counts.
type window struct {
	mu      *sync.Mutex
	now     *paint.Size // guarded by mu
	resizes chan paint.Size
}

func newWindow() window {
	return window{mu: new(sync.Mutex), now: &paint.Size{W: 80, H: 24}, resizes: make(chan paint.Size, 1)}
}

func (w window) set(width, height uint32) {
	z := paint.Size{W: int(min(width, paint.MaxWidth)), H: int(min(height, paint.MaxHeight))}
	if z.W < 1 || z.H < 1 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	*w.now = z
	w.offer()
}

// notify sends the size again, so that the program gets a message.
func (w window) notify() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.offer()
}

// offer sends the size; the caller holds mu.
func (w window) offer() {
	select {
	case <-w.resizes:
	default:
	}
	w.resizes <- *w.now
}

func (w window) get() (width, height int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now.W, w.now.H
}

func (w window) String() string { width, height := w.get(); return fmt.Sprintf("%dx%d", width, height) }

// runCommand runs the one command of the session.
func (r *run) runCommand() int {
	x := r.x
	errs := io.Writer(&stallWriter{w: x.ch.Stderr(), limit: x.srv.opt.Limits.Stall, stalled: func() { _ = x.c.Close() }})
	c := Command{In: x.ch, Out: r.out, Err: errs, Terminal: x.pty}
	if x.pty { // the client's terminal is raw
		c.Width, _ = x.size.get()
		c.In, c.Out, c.Err = newLineInput(x.ch, r.cancel), &crlf{w: r.out}, &crlf{w: errs}
	}
	var err error
	if c.Args, err = splitWords(r.command); err != nil {
		_, _ = io.WriteString(c.Err, "opdeck: "+err.Error()+"\n")
		return 2
	}
	return x.srv.opt.Exec(r.ctx, c)
}

// splitWords splits a command line like a POSIX shell: quotes and backslashes group, nothing else has a meaning.
// There is no shell: no variables, pipes, redirections or patterns.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	in, quote := false, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == '\'' && c != '\'':
			word.WriteByte(c)
		case quote == '"' && c == '\\' && i+1 < len(line) && strings.IndexByte("\"\\$`", line[i+1]) >= 0,
			quote == 0 && c == '\\' && i+1 < len(line):
			i++
			in = true
			word.WriteByte(line[i])
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, in = c, true
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			if in {
				words, in = append(words, word.String()), false
				word.Reset()
			}
		default:
			in = true
			word.WriteByte(c)
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote in the command is not closed")
	}
	if in {
		words = append(words, word.String())
	}
	return words, nil
}

// crlf converts line ends for a terminal that does not add carriage returns.
type crlf struct{ w io.Writer }

func (c *crlf) Write(b []byte) (int, error) {
	if _, err := c.w.Write(bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// maxTyped bounds typed text that a command has not read, in bytes.
const maxTyped = 1 << 20

// lineInput provides what is typed at a raw terminal, without echo, as lines: ctrl+c ends the command, ctrl+d the
// input.
type lineInput struct {
	mu   sync.Mutex
	more sync.Cond
	b    bytes.Buffer // guarded by mu
	end  bool         // guarded by mu
}

func newLineInput(in io.Reader, cancel context.CancelCauseFunc) *lineInput {
	c := &lineInput{}
	c.more.L = &c.mu
	go c.typed(in, cancel)
	return c
}

// typed reads keys until the input ends.
func (c *lineInput) typed(in io.Reader, cancel context.CancelCauseFunc) {
	b := make([]byte, 1024)
	for {
		n, err := in.Read(b)
		c.mu.Lock()
		for _, key := range b[:max(n, 0)] {
			switch {
			case key == 3:
				c.end = true
				cancel(errLeft)
			case key == 4:
				c.end = true
			case c.end || c.b.Len() >= maxTyped:
			case key == '\r':
				c.b.WriteByte('\n')
			default:
				c.b.WriteByte(key)
			}
		}
		c.end = c.end || err != nil
		c.more.Broadcast()
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (c *lineInput) Read(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.b.Len() == 0 {
		if c.end {
			return 0, io.EOF
		}
		c.more.Wait()
	}
	return c.b.Read(b)
}

// wantsPlain reports whether a command line asks for plain mode.
func wantsPlain(command string) bool {
	words, err := splitWords(command)
	if err != nil {
		return false
	}
	if len(words) == 2 && words[0] == "opdeck" {
		words = words[1:]
	}
	return len(words) == 1 && slices.Contains([]string{"plain", "--plain"}, words[0])
}

// runPlain runs plain mode. The conversation handles the end of the input: earlier lines still count. When the
// channel is closed, the session ends.
func (r *run) runPlain() (code int, message string) {
	x := r.x
	l := Line{In: &keys{r: r, in: x.ch}, Out: r.out, Getenv: x.getenv, Raw: x.pty}
	if x.pty {
		l.Out = &crlf{w: r.out}
		l.Width, _ = x.size.get()
	}
	return exit(x.srv.opt.Plain(r.ctx, l))
}

// lockedWriter serialises writes.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer // guarded by mu
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// keys records what is typed, and drops it once the session is ending.
type keys struct {
	r  *run
	in io.Reader
}

func (k *keys) Read(b []byte) (int, error) {
	for {
		n, err := k.in.Read(b)
		if n > 0 {
			k.r.watch.typed()
		}
		if n == 0 || err != nil || !k.r.ending.Load() {
			return n, err
		}
	}
}

// Messages for a client without a usable terminal.
const (
	needsTerminal = "The console needs a terminal: ssh -t HOST. Commands work without one: ssh HOST operation get " +
		"OPID, ssh HOST help."
	dumbTerminal = "This terminal cannot show the console: it cannot move the cursor (TERM is dumb or unknown). " +
		"Commands work: ssh HOST operation get OPID, ssh HOST help."
)

// runConsole runs the console on the terminal of the session.
func (r *run) runConsole() (code int, message string) {
	x := r.x
	switch {
	case !x.pty:
		return 2, needsTerminal
	case x.term == "dumb":
		return 2, dumbTerminal
	}
	return exit(x.srv.opt.Console(r.ctx, Terminal{In: &cancelAtEOF{x.ch, r.cancel},
		Out: newPacedWriter(r.ctx, r.out, x.processed), Getenv: x.getenv,
		Size: x.size.get, Resizes: x.size.resizes, Filter: r.watch.filter}))
}

// watch measures a session's idle and total time. Only keys, the mouse, and lines typed in plain mode count: a
// ticking view is no sign of a person.
type watch struct {
	r       *run
	last    atomic.Int64 // ns from began to the last key
	warning atomic.Pointer[string]
}

func (w *watch) init(r *run) { w.r = r }

// filter gets every message of the program first.
func (w *watch) filter(_ tea.Model, msg tea.Msg) tea.Msg {
	switch msg.(type) {
	case tea.KeyMsg, tea.MouseMsg:
		if w.r.ending.Load() {
			return nil
		}
		w.last.Store(int64(time.Since(w.r.began)))
	case tea.WindowSizeMsg:
		if line := w.warning.Swap(nil); line != nil {
			toast := ui.Toast{Level: ui.Warning, Text: *line}
			return tea.BatchMsg{func() tea.Msg { return toast }, func() tea.Msg { return msg }}
		}
	case tea.SuspendMsg:
		return nil
	}
	return msg
}

// typed records input in plain mode.
func (w *watch) typed() { w.last.Store(int64(time.Since(w.r.began))) }

// warn shows a line in the console. A drawn console gets a window size, which brings a message to the filter even if
// nothing else happens.
func (w *watch) warn(line string) {
	if w.r.plain {
		_, _ = io.WriteString(w.r.out, line+w.r.x.lineEnd())
		return
	}
	w.warning.Store(&line)
	w.r.x.size.notify()
}

// run warns and ends the session in time, by the monotonic clock.
func (w *watch) run() {
	l := w.r.x.srv.opt.Limits
	idle := !w.r.exec // a command has no keys
	warnedAt, warnedAll := int64(-1), false
	for {
		now := time.Since(w.r.began)
		last := w.last.Load()
		wait := l.Session - now
		if !warnedAll {
			wait -= l.Warn
		}
		quiet := now - time.Duration(last)
		switch {
		case now >= l.Session:
			w.r.end(errTooLong)
			return
		case idle && quiet >= l.Idle:
			w.r.end(errIdle)
			return
		case !warnedAll && now >= l.Session-l.Warn:
			warnedAll, wait = true, l.Session-now
			w.warn(fmt.Sprintf("This session has lasted %s and ends in %s. Connect again to continue.", short(now),
				short(l.Warn)))
		case idle && warnedAt != last && quiet >= l.Idle-l.IdleWarn:
			warnedAt = last
			w.warn(w.idleWarning(short(quiet), short(l.IdleWarn)))
		}
		if idle {
			next := l.Idle - quiet
			if warnedAt != last {
				next -= l.IdleWarn
			}
			wait = min(wait, next)
		}
		t := time.NewTimer(max(wait, time.Millisecond))
		select {
		case <-t.C:
		case <-w.r.ctx.Done():
			t.Stop()
			return
		}
	}
}

// idleWarning is the warning before an idle session ends.
func (w *watch) idleWarning(since, left string) string {
	if w.r.plain {
		return "No input for " + since + ": this session ends in " + left + " unless you type something."
	}
	return "No key pressed for " + since + ": this session ends in " + left + " unless you press one."
}

// short formats a duration for people.
func short(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d >= time.Minute && d < time.Hour && d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return d.String()
}

// processed returns when the client has processed all output before it: it replies to requests of a channel in order
// (RFC 4254, section 5.4), and refuses one that it does not know. OpenSSH's server asks in the same way whether its
// client is alive.
func (x *session) processed() { _, _ = x.ch.SendRequest("keepalive@openssh.com", true, nil) }
