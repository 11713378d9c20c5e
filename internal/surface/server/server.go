// Package server is opdeck as a server: the console over SSH, the webhook receiver, the session keeper, the
// background sync and the metrics, in one process on one App.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/surface/console"
	"opdeck/internal/surface/lendproxy"
	"opdeck/internal/surface/metrics"
	"opdeck/internal/surface/sshserver"
)

// Options of a server.
type Options struct {
	Out    io.Writer // one line for each service
	Getenv func(string) string
	// Exec runs a command for the person in ctx and returns its exit code.
	Exec   func(ctx context.Context, a *app.App, c sshserver.Command) int
	Limits sshserver.Limits // zero fields: the defaults; Idle is configured
	// Ready is called when all ports are open; may be nil.
	Ready func(Addresses)
}

// Addresses are the server's listen addresses; "" for services that are off.
type Addresses struct{ SSH, Webhooks, Metrics, Lend string }

// drainTimeout bounds the wait for sent writes after all sessions have ended.
const drainTimeout = 10 * time.Second

// server is the state of one Run.
type server struct {
	app *app.App
	opt Options

	ssh     *sshserver.Server
	sshAt   net.Listener
	hooks   *receiver.Receiver
	hooksAt *receiver.Server
	metrics *metrics.Server
	lender  *lendproxy.Lender
	acts    *inFlight
	shared  *console.Shared // shared by all consoles over SSH
	served  bool

	stopNotices func() // may be called twice
}

// Run serves what is configured until ctx ends. It opens all ports first, so that a mistake in the config or a busy
// port is an error at once. If a part fails, everything ends. After ctx ends it accepts no connection, waits for sent
// writes, and returns nil.
func Run(ctx context.Context, a *app.App, opt Options) (err error) {
	c := a.Config
	if !c.Served() {
		return &api.Error{Kind: api.BadConfig, Public: "Nothing to serve: no listener is configured.",
			Hint: "Set listen of [ssh], listen of [webhooks], socket or listen of [lend], metrics of [serve], or " +
				"command or url of [notify]; opdeck config show prints the path of the config file."}
	}
	s := &server{app: a, opt: opt, acts: watchActs(a), shared: console.NewShared(a)}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	var ports []verdict.Port
	for _, port := range []struct {
		name, addr string
		open       func(context.Context) error
	}{{"SSH", c.SSH.Listen, s.openSSH}, {"webhooks", c.Webhooks.Listen, s.openHooks},
		{"lending", cmp.Or(c.Lend.Listen, c.Lend.Socket), s.openLend}, {"metrics", c.Serve.Metrics, s.openMetrics}} {
		err := port.open(ctx)
		if port.addr != "" {
			ports = append(ports, app.ServePort(port.name, port.addr, err))
		}
		if err != nil {
			app.NoteServe(ctx, a, ports, true)
			return err
		}
	}
	who := a.LocalActor("service")
	if err := a.Audit.Start(ctx, who); err != nil {
		if api.AsError(err).Rule == api.RuleAudit { // it says what is missing
			return err
		}
		return &api.Error{Kind: api.Unavailable, Public: "The audit trail cannot be written. The server does not start " +
			"without it.", Err: err}
	}
	if s.stopNotices, err = app.NoticesOf(s.app).Start(api.WithActor(ctx, who), s.opt.Getenv); err != nil {
		return err
	}
	if err := s.announce(); err != nil {
		s.stopNotices()
		return err
	}
	app.NoteServe(ctx, a, ports, false)
	defer app.NoteServe(context.WithoutCancel(ctx), a, nil, true)
	return s.run(api.WithActor(ctx, who))
}

// run starts the parts and waits until ctx or one of them ends.
func (s *server) run(ctx context.Context) error {
	s.served = true
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// Acts that are awaited at the end still need the trail and its sync.
	behind, cancelBehind := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelBehind()
	var back, front sync.WaitGroup
	back.Go(func() { s.app.Audit.Run(behind) })
	part := func(name string, serve func(context.Context) error) {
		front.Go(func() {
			if err := serve(ctx); err != nil && ctx.Err() == nil {
				s.app.Log.Error("a part of the server ended", "part", name, "err", err)
				e := api.AsError(err)
				cancel(&api.Error{Kind: api.Unavailable, Public: name + " failed: " + strings.TrimRight(e.Public, ".") + ".",
					Remedy: e.Remedy, Err: err})
			}
		})
	}
	defer s.app.StartFollow(ctx)()
	defer app.Retain(ctx, s.app)()
	defer s.stopNotices()
	stopSync := s.app.Mirror().Start(ctx)
	part("The store", func(ctx context.Context) error { return s.app.Store.WatchLost(ctx) })
	part("The session keeper", func(ctx context.Context) error { return app.SessionError(s.app.Session.Keep(ctx)) })
	if s.ssh != nil {
		part("SSH", func(ctx context.Context) error { return s.ssh.Serve(ctx, s.sshAt) })
		defer onHangUp(s.ssh.Reload)()
	}
	if s.hooksAt != nil {
		part("The webhook receiver", s.hooksAt.Serve)
	}
	front.Go(func() { s.app.Hooks().Apply(ctx, s.hooks) })
	if s.lender != nil {
		part("Lending", s.lender.Serve)
	}
	if s.metrics != nil {
		part("Metrics", s.metrics.Serve)
	}
	<-ctx.Done()
	front.Wait()
	stopSync()
	s.acts.awaitAll(drainTimeout)
	cancelBehind()
	back.Wait()
	s.app.Log.Info("opdeck serve stopped")
	var failed *api.Error
	if errors.As(context.Cause(ctx), &failed) {
		return failed
	}
	return nil
}

// openMetrics opens the port of the metrics.
func (s *server) openMetrics(ctx context.Context) error {
	if s.app.Config.Serve.Metrics == "" {
		return nil
	}
	var src metrics.Sources
	if s.ssh != nil {
		src.SSH = s.ssh.Refused
	}
	if s.hooks != nil {
		src.Hooks = s.hooks.Counters
	}
	var err error
	if s.metrics, err = metrics.Listen(ctx, metrics.New(s.app, src), s.app.Config.Serve.Metrics); err != nil {
		return cannot("[serve] metrics", err)
	}
	return nil
}

// cannot is the error of a part that failed to open.
func cannot(what string, err error) error {
	return &api.Error{Kind: api.BadConfig, Public: what + ": " + err.Error() + ".", Err: err}
}

// announce prints one line for each service.
func (s *server) announce() error {
	at := Addresses{}
	lines := []string{}
	if s.ssh != nil {
		at.SSH = s.sshAt.Addr().String()
		lines = append(lines, fmt.Sprintf("ssh       %s, host key %s", at.SSH, s.ssh.Fingerprint()),
			"          connect with: "+connectCommand(at.SSH))
	}
	if s.hooksAt != nil {
		at.Webhooks = s.hooksAt.Addr().String()
		w := s.app.Config.Webhooks
		lines = append(lines, fmt.Sprintf("webhooks  %s%s, verified by %s", at.Webhooks, w.Path, w.Verify))
	}
	if s.lender != nil {
		at.Lend = s.lender.Addr()
		lines = append(lines, s.lender.Lines()...)
	}
	if s.metrics != nil {
		at.Metrics = s.metrics.Addr().String()
		lines = append(lines, fmt.Sprintf("metrics   http://%s/metrics", at.Metrics))
	}
	if c := s.app.Config.Notify; c.On() {
		lines = append(lines, "notices   "+c.To())
	}
	s.app.Log.Info("opdeck serve started", "version", s.app.Version, "context", s.app.Context.Name, "ssh", at.SSH,
		"webhooks", at.Webhooks, "lend", at.Lend, "metrics", at.Metrics)
	lines = append(lines, "session   of "+s.app.Context.Name+" is kept alive; ctrl+c ends the server")
	for _, l := range lines {
		if _, err := fmt.Fprintln(s.opt.Out, l); err != nil {
			return err
		}
	}
	if s.opt.Ready != nil {
		s.opt.Ready(at)
	}
	return nil
}

// connectCommand is the command that opens the console of a server at an address.
func connectCommand(listens string) string {
	host, port, err := net.SplitHostPort(listens)
	if ip := net.ParseIP(host); err != nil || ip == nil || ip.IsUnspecified() {
		host = "HOST"
	}
	return "ssh -p " + port + " NAME@" + host + ", where NAME is the name= of the key in authorized_keys"
}

// close closes what was opened; served ports are closed already.
func (s *server) close(ctx context.Context) error {
	if s.sshAt != nil {
		_ = s.sshAt.Close()
	}
	if s.metrics != nil {
		_ = s.metrics.Close()
	}
	if s.lender != nil {
		_ = s.lender.Close()
	}
	if s.hooksAt != nil && !s.served { // this closes its port
		over, cancel := context.WithCancel(ctx)
		cancel()
		_ = s.hooksAt.Serve(over)
	}
	s.acts.stop()
	if s.hooks == nil {
		return nil
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	return s.hooks.Close(end)
}

// inFlight wraps the audit trail and tracks the acts between intent and outcome, which a server must not abandon.
type inFlight struct {
	api.Auditor
	gate *api.Gate

	mu    sync.Mutex
	acts  map[string]string // guarded by mu: reference to session
	ended chan struct{}     // guarded by mu: closed and replaced when an act ends
}

// watchActs puts an inFlight in front of the trail of the App's gate, until stop.
func watchActs(a *app.App) *inFlight {
	f := &inFlight{Auditor: a.Gate.Audit, gate: a.Gate, acts: map[string]string{}, ended: make(chan struct{})}
	a.Gate.Audit = f
	return f
}

// stop restores the trail; nothing may pass the gate meanwhile.
func (f *inFlight) stop() { f.gate.Audit = f.Auditor }

// Intent implements api.Auditor.
func (f *inFlight) Intent(ctx context.Context, who api.Actor, act api.Act) (string, error) {
	ref, err := f.Auditor.Intent(ctx, who, act)
	if err == nil {
		f.mu.Lock()
		f.acts[ref] = who.Session
		f.mu.Unlock()
	}
	return ref, err
}

// Outcome implements api.Auditor.
func (f *inFlight) Outcome(ctx context.Context, ref string, out api.Outcome) error {
	err := f.Auditor.Outcome(ctx, ref, out)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.acts, ref)
	close(f.ended)
	f.ended = make(chan struct{})
	return err
}

// awaitSession waits until a session has no running act, or ctx ends.
func (f *inFlight) awaitSession(ctx context.Context, session string) {
	f.wait(ctx, func(of string) bool { return of == session })
}

// awaitAll waits until there is no running act, at most d.
func (f *inFlight) awaitAll(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	f.wait(ctx, func(string) bool { return true })
}

func (f *inFlight) wait(ctx context.Context, which func(session string) bool) {
	for {
		f.mu.Lock()
		some, ended := false, f.ended
		for _, of := range f.acts {
			some = some || which(of)
		}
		f.mu.Unlock()
		if !some {
			return
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return
		}
	}
}

// openHooks opens the port of the webhook receiver.
func (s *server) openHooks(ctx context.Context) error {
	if s.app.Config.Webhooks.Listen == "" {
		return nil
	}
	var err error
	if s.hooks, err = s.app.Hooks().Receiver(s.opt.Getenv, true); err != nil {
		return err
	}
	s.hooksAt, err = s.app.Hooks().Server(ctx, s.hooks)
	return err
}

// warn prints a problem that does not stop the server.
func (s *server) warn(line string) error {
	_, err := fmt.Fprintln(s.opt.Out, "warning   "+line)
	return err
}

// onHangUp calls fn at each SIGHUP, which would otherwise end the process.
func onHangUp(fn func()) (stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-c:
				fn()
			case <-done:
				return
			}
		}
	}()
	return func() { signal.Stop(c); close(done) }
}

// openLend opens the socket and the port where the session is lent.
func (s *server) openLend(ctx context.Context) error {
	c := s.app.Config.Lend
	if c.Socket == "" && c.Listen == "" {
		return nil
	}
	keys, err := s.app.BorrowerKeys(s.opt.Getenv)
	if err != nil {
		return err
	}
	s.lender, err = lendproxy.Open(ctx, s.app, lendproxy.Options{Socket: c.Socket, Listen: c.Listen, Keys: keys})
	return err
}

// openSSH reads the keys and opens the port.
func (s *server) openSSH(ctx context.Context) error {
	c := s.app.Config.SSH
	if c.Listen == "" {
		return nil
	}
	key, err := sshserver.LoadHostKey(c.HostKey)
	if err != nil {
		return cannot("[ssh]", err)
	}
	keys, err := sshserver.LoadAuthorizedKeys(c.AuthorizedKeys, c.TrustedCA, time.Now)
	if err != nil {
		return cannot("[ssh]", err)
	}
	for _, m := range keys.Mistakes() { // the other lines are used
		if err := s.warn(m.Error()); err != nil {
			return err
		}
	}
	limits := s.opt.Limits
	limits.Idle = c.IdleTimeout.D()
	s.ssh, err = sshserver.New(sshserver.Options{HostKey: key, Keys: keys, MaxSessions: c.MaxSessions, Limits: limits,
		Audit: s.app.Audit, Log: s.app.Log,
		AwaitWrites: s.acts.awaitSession, Rechecked: s.recheck, Console: s.console,
		Plain: s.plain,
		Exec:  func(ctx context.Context, c sshserver.Command) int { return s.opt.Exec(ctx, s.app, c) }})
	if err != nil {
		return cannot("[ssh]", err)
	}
	s.app.AuthorizeSSH(func(p approval.Person) (api.Role, error) {
		now, err := keys.AuthorizeAgain(p.Proof, p.Login, p.From)
		return now.Role, err
	})
	var lc net.ListenConfig
	if s.sshAt, err = lc.Listen(ctx, "tcp", c.Listen); err != nil {
		return cannot("[ssh] listen", err)
	}
	return nil
}

// recheck ends approvals of people who lost their key or their role.
func (s *server) recheck(ctx context.Context) {
	if err := s.app.Approvals.Recheck(ctx, s.ssh.Fingerprint()); err != nil && ctx.Err() == nil {
		s.app.Log.Error("approvals cannot be checked", "err", err)
	}
}

// console runs the console for the person in ctx. It needs the webhook secret, which is in the server's environment
// and not in the person's.
func (s *server) console(ctx context.Context, t sshserver.Terminal) error {
	env := s.app.SecretEnv(s.opt.Getenv, t.Getenv)
	return console.Run(ctx, s.app, console.Options{In: t.In, Out: t.Out, Getenv: env, NoColor: t.Getenv("NO_COLOR") != "",
		Size: t.Size, Resizes: t.Resizes, Filter: t.Filter, Shared: s.shared})
}

// plain runs plain mode for the person in ctx.
func (s *server) plain(ctx context.Context, l sshserver.Line) error {
	return console.RunPlain(ctx, s.app, console.PlainOptions{In: l.In, Out: l.Out, Width: l.Width, Getenv: l.Getenv,
		Echo: l.Raw, Shared: s.shared})
}

var _ api.Auditor = (*inFlight)(nil)
