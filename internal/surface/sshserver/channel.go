package sshserver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"charm.land/ssh"
	gossh "golang.org/x/crypto/ssh"

	"opdeck/api"
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
	s.stats.add(&s.stats.refused, "not_offered")
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
	s.stats.add(&s.stats.refused, "too_many_sessions")
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
