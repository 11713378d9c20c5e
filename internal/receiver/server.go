package receiver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"opdeck/api/hook"
	"opdeck/internal/listen"
)

// ServerOptions say where to listen. Zero fields have the defaults named.
type ServerOptions struct {
	Listen string      // "127.0.0.1:8788"
	TLS    *tls.Config // nil: plain HTTP, for loopback or behind the proxy of Options.Proxies

	MaxConns      int           // 512: the idle one that is open longest is closed for a new one
	HeaderTimeout time.Duration // 5 s
	IdleTimeout   time.Duration // 60 s
}

const maxHeader = 16 << 10 // bytes; net/http adds 4 KiB

// Server is a receiver on the network.
type Server struct {
	http     *http.Server
	listener net.Listener
	conns    conns
}

// Listen opens the port. Without TLS only a loopback address may be listened
// on, unless a proxy is configured; verify = "none" only on loopback.
func Listen(ctx context.Context, r *Receiver, opt ServerOptions) (*Server, error) {
	set(&opt.MaxConns, 512)
	set(&opt.HeaderTimeout, 5*time.Second)
	set(&opt.IdleTimeout, 60*time.Second)
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
	s := &Server{listener: l, conns: conns{max: opt.MaxConns, open: map[net.Conn]time.Time{}}}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	s.http = &http.Server{
		Handler: r, Protocols: protocols, MaxHeaderBytes: maxHeader, ConnState: s.conns.state,
		ReadHeaderTimeout: opt.HeaderTimeout, ReadTimeout: opt.HeaderTimeout + r.opt.BodyTimeout,
		WriteTimeout: opt.HeaderTimeout + r.opt.BodyTimeout + r.opt.StoreTimeout + 5*time.Second, IdleTimeout: opt.IdleTimeout,
		ErrorLog: slog.NewLogLogger(r.opt.Log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

func allowed(r *Receiver, opt ServerOptions) error {
	host, _, err := net.SplitHostPort(opt.Listen)
	if err != nil {
		return fmt.Errorf("webhooks: listen = %q is no address; write it like 127.0.0.1:8788", opt.Listen)
	}
	switch {
	case r.opt.Verifier == nil:
		return errors.New("webhooks: no verifier is configured")
	case isLoopbackHost(host):
		return nil
	case r.opt.Verifier.Name() == hook.VerifyNone:
		return fmt.Errorf("webhooks: verify = \"none\" listens on loopback only, not on %q", opt.Listen)
	case opt.TLS == nil && len(r.opt.Proxies) == 0:
		return fmt.Errorf("webhooks: %q is open to others and has no TLS; listen on 127.0.0.1, or name the proxy in front", opt.Listen)
	}
	return nil
}

// isLoopbackHost reports whether a host, with or without a port, is this one by
// name or address.
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

// Addr is where the server listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve answers until ctx ends, then finishes the requests at work within five
// seconds. It returns nil after such an end. The receiver stays open.
func (s *Server) Serve(ctx context.Context) error {
	return listen.Serve(ctx, "webhooks", s.http, s.listener, 5*time.Second)
}

// conns bounds open connections: a new one beyond max takes the place of the
// one that is idle longest, or is closed when all are at work.
type conns struct {
	max int

	mu   sync.Mutex             // guards open
	open map[net.Conn]time.Time // when it became idle; zero: at work
}

func (c *conns) state(conn net.Conn, st http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch st {
	case http.StateNew:
		if len(c.open) >= c.max && !c.evict() {
			go func() { _ = conn.Close() }()
			return
		}
		c.open[conn] = time.Now() // it may send nothing
	case http.StateActive:
		if _, ours := c.open[conn]; ours {
			c.open[conn] = time.Time{}
		}
	case http.StateIdle:
		if _, ours := c.open[conn]; ours {
			c.open[conn] = time.Now()
		}
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	}
}

func (c *conns) evict() bool {
	var oldest net.Conn
	var since time.Time
	for conn, t := range c.open {
		if !t.IsZero() && (oldest == nil || t.Before(since)) {
			oldest, since = conn, t
		}
	}
	if oldest == nil {
		return false
	}
	delete(c.open, oldest)
	go func() { _ = oldest.Close() }() // TLS may take its time to say goodbye
	return true
}
