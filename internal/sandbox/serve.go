package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Serve listens on addr until ctx ends and then lets open calls finish. It
// writes the address, the login, where share tokens are and a config for the
// console to out.
func (s *Service) Serve(ctx context.Context, addr string, out io.Writer) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	if err := s.printBanner(ctx, listener.Addr(), out); err != nil {
		listener.Close()
		return err
	}
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("sandbox: %w", err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err = server.Shutdown(end)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	return err
}

func (s *Service) printBanner(ctx context.Context, addr net.Addr, out io.Writer) error {
	st, err := loadSettings(ctx, s.ro)
	if err != nil {
		return err
	}
	tokens, err := s.ShareTokens(ctx)
	if err != nil {
		return err
	}
	base := "http://" + addr.String()
	fmt.Fprintf(out, "Sandbox service on %s\n", base)
	if tcp, isTCP := addr.(*net.TCPAddr); isTCP && !tcp.IP.IsLoopback() {
		fmt.Fprintln(out, "Warning: it can be reached from other machines.")
	}
	fmt.Fprintf(out, "Login %s, password %s; access tokens live %s, refresh tokens %s\n", st.Login, st.Password,
		time.Duration(st.AccessTTL), time.Duration(st.RefreshTTL))
	if n, err := count(ctx, s.ro, `SELECT value FROM counter WHERE name = 'operations'`); err == nil {
		fmt.Fprintf(out, "%d operations\n", n)
	}
	fmt.Fprintln(out, "\nShare tokens (20 minutes, once each):")
	for i, t := range tokens {
		if i >= 6 {
			break
		}
		fmt.Fprintf(out, "  %-22s  %-10s  %-11s  %s\n", t.Customer, t.Kind, t.Scenario, t.Token)
	}
	fmt.Fprintf(out, `Tokens to type: demo-individual-ok-1, demo-corporate-outstanding-1 (any ending, once each)

Config for the console (the password is expected in OPDECK_PASSWORD):

default_context = "sandbox"

[contexts.sandbox]
base_url = %q
login = %q
password_env = "OPDECK_PASSWORD"
kind = "test"
`, base, st.Login)
	if u, err := url.Parse(st.Hook.URL); err == nil && u.Host != "" {
		fmt.Fprintf(out, `
[webhooks]
listen = %q
path = %q
secret_env = "OPDECK_HOOK_SECRET" # %s
`, u.Host, u.Path, st.Hook.JWTSecret)
	}
	_, err = fmt.Fprintln(out)
	return err
}
