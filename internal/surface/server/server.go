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
	"strings"
	"sync"
	"time"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/domain/receiver"
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
	metrics *metrics.Metrics
	metered *metrics.Server
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
	if c.SSH.Listen == "" && c.Webhooks.Listen == "" && c.Serve.Metrics == "" && c.Lend.Socket == "" &&
		c.Lend.Listen == "" && !c.Notify.On() {
		return &api.Error{Kind: api.BadConfig, Public: "Nothing to serve: no listener is configured.",
			Hint: "Set listen of [ssh], listen of [webhooks], socket or listen of [lend], metrics of [serve], or " +
				"command or url of [notify]; opdeck config show prints the path of the config file."}
	}
	s := &server{app: a, opt: opt, acts: watchActs(a), shared: console.NewShared(a)}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	for _, port := range []struct {
		name, addr string
		open       func(context.Context) error
	}{{"SSH", c.SSH.Listen, s.openSSH}, {"webhooks", c.Webhooks.Listen, s.openHooks},
		{"lending", cmp.Or(c.Lend.Listen, c.Lend.Socket), s.openLend}, {"metrics", c.Serve.Metrics, s.openMetrics}} {
		err := port.open(ctx)
		if port.addr != "" {
			app.NotePort(ctx, a, port.name, port.addr, err)
		}
		if err != nil {
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
	if s.metered != nil {
		part("Metrics", s.metered.Serve)
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
		src.SSH = s.ssh.Counters
	}
	if s.hooks != nil {
		src.Hooks = s.hooks.Counters
	}
	if s.lender != nil {
		src.Lend = s.lender.Counters
	}
	s.metrics = metrics.New(s.app, src)
	var err error
	if s.metered, err = metrics.Listen(ctx, s.metrics, s.app.Config.Serve.Metrics); err != nil {
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
	if s.metered != nil {
		at.Metrics = s.metered.Addr().String()
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
	if s.metered != nil {
		_ = s.metered.Close()
	}
	if s.lender != nil {
		_ = s.lender.Close()
	}
	if s.metrics != nil {
		s.metrics.Close()
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
