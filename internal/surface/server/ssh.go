package server

import (
	"context"
	"net"
	"path/filepath"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/approval"
	"opdeck/internal/surface/console"
	"opdeck/internal/surface/sshserver"
)

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
		AwaitWrites: s.acts.awaitSession, Rechecked: s.recheck, KnownSources: s.knownSources(), Console: s.console,
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

// knownSources is the path of the file of networks of earlier logins.
func (s *server) knownSources() string {
	if s.app.Config.Store.URL == "memory" {
		return ""
	}
	return filepath.Join(s.app.State, "ssh-sources")
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
