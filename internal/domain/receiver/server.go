package receiver

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"opdeck/api/hook"
	"opdeck/internal/system/listen"
)

// ServerOptions say where to listen. Zero fields mean the defaults below.
type ServerOptions struct {
	Listen string      // "127.0.0.1:8788"
	TLS    *tls.Config // nil: plain HTTP, for loopback or behind the proxy of Options.Proxies

	MaxConns      int           // listen.MaxConns
	HeaderTimeout time.Duration // 5 s
	IdleTimeout   time.Duration // 60 s
}

const maxHeader = 16 << 10 // bytes; net/http adds 4 KiB

// Server serves a receiver on the network.
type Server struct {
	http     *http.Server
	listener net.Listener
	conns    listen.Conns
}

// Listen opens the port. Without TLS it must be a loopback address, unless a proxy is configured; with verify =
// "none" always.
func Listen(ctx context.Context, r *Receiver, opt ServerOptions) (*Server, error) {
	opt.HeaderTimeout, opt.IdleTimeout = cmp.Or(opt.HeaderTimeout, 5*time.Second), cmp.Or(opt.IdleTimeout, 60*time.Second)
	if err := allowed(r, opt); err != nil {
		return nil, err
	}
	l, err := listen.Open(ctx, "webhooks", opt.Listen)
	if err != nil {
		return nil, err
	}
	if opt.TLS != nil {
		c := opt.TLS.Clone()
		c.NextProtos = []string{"http/1.1"}
		c.MinVersion = max(c.MinVersion, tls.VersionTLS12)
		l = tls.NewListener(l, c)
	}
	s := &Server{listener: l, conns: listen.Conns{Max: opt.MaxConns}}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	s.http = &http.Server{
		Handler: r, Protocols: protocols, MaxHeaderBytes: maxHeader,
		ReadHeaderTimeout: opt.HeaderTimeout, ReadTimeout: opt.HeaderTimeout + r.opt.BodyTimeout,
		WriteTimeout: opt.HeaderTimeout + r.opt.BodyTimeout + r.opt.StoreTimeout + 5*time.Second,
		IdleTimeout:  opt.IdleTimeout,
		ErrorLog:     slog.NewLogLogger(r.opt.Log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

func allowed(r *Receiver, opt ServerOptions) error {
	host, _, err := net.SplitHostPort(opt.Listen)
	if err != nil {
		return fmt.Errorf("webhooks: listen = %q is not an address; write it like 127.0.0.1:8788", opt.Listen)
	}
	switch {
	case r.opt.Verifier == nil:
		return errors.New("webhooks: no verifier is configured")
	case isLoopbackHost(host):
		return nil
	case r.opt.Verifier.Name() == hook.VerifyNone:
		return fmt.Errorf("webhooks: verify = \"none\" listens on loopback only, not on %q", opt.Listen)
	case opt.TLS == nil && len(r.opt.Proxies) == 0:
		return fmt.Errorf("webhooks: %q is open to others and has no TLS; listen on 127.0.0.1, or name the proxy in front",
			opt.Listen)
	}
	return nil
}

// isLoopbackHost reports whether a host, with or without a port, is this one by name or address.
func isLoopbackHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// Addr is the address of the server.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve serves until ctx ends, then gives running requests five seconds, and returns nil. The receiver stays open.
func (s *Server) Serve(ctx context.Context) error {
	return listen.Serve(ctx, "webhooks", s.http, s.listener, &s.conns, 5*time.Second)
}
