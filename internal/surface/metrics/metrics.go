// Package metrics exports the server's state to Prometheus: people, budgets, token lifetimes, rotations, calls,
// events, the index and the audit trail.
//
// Every label has a few fixed values. The metrics contain no data of customers, operations or people, no identifier
// and no secret.
package metrics

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"opdeck/internal/app"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/surface/lendproxy"
	"opdeck/internal/surface/sshserver"
	"opdeck/internal/system/listen"
)

// Sources are optional parts.
type Sources struct {
	SSH   func() sshserver.Counters // nil: off
	Hooks func() receiver.Counters  // nil: off
	Lend  func() lendproxy.Counters // nil: off
}

// Metrics counts events of this process and reads the rest at each scrape.
type Metrics struct {
	registry *prometheus.Registry
	calls    *calls
	app      *app.App
	stop     func()
}

// New starts counting. The caller must Close.
func New(a *app.App, src Sources) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), calls: newCalls(), app: a}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.calls.total, m.calls.took, newState(a, src), build(a.Version))
	m.stop = a.OnCall(m.calls.saw)
	return m
}

// Close stops counting.
func (m *Metrics) Close() { m.stop() }

func build(version string) prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "opdeck_build_info",
		Help:        "Always 1; the label is the version.",
		ConstLabels: prometheus.Labels{"version": version}})
	g.Set(1)
	return g
}

// handler serves GET /metrics and GET /healthz only.
func (m *Metrics) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: 3, Timeout: 10 * time.Second, ErrorHandling: promhttp.ContinueOnError}))
	mux.HandleFunc("GET /healthz", m.health)
	return mux
}

// health answers 503 while a cause is critical, with the word of its state and the name of the cause only: the port has
// no login.
func (m *Metrics) health(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
	defer cancel()
	v := app.Verdict(ctx, m.app)
	text, status := v.State().String(), http.StatusOK
	if f, wrong := v.First(); wrong {
		text += " " + string(f.Cause)
	}
	if v.State() == verdict.Bad {
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, text)
}

// Server serves the metrics.
type Server struct {
	http     *http.Server
	listener net.Listener
}

// Listen opens the port. An address without a host is on loopback, so that other hosts see the metrics only if
// configured.
func Listen(ctx context.Context, m *Metrics, addr string) (*Server, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("metrics: %q is not an address; write it like 127.0.0.1:9787", addr)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := listen.Open(ctx, "metrics", net.JoinHostPort(host, port))
	if err != nil {
		return nil, err
	}
	return &Server{listener: l, http: &http.Server{Handler: m.handler(), ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:  10 * time.Second,
		WriteTimeout: 20 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}}, nil
}

// Addr is the address of the server.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close closes the port of a server without Serve.
func (s *Server) Close() error { return s.listener.Close() }

// Serve serves until ctx ends, and then returns nil.
func (s *Server) Serve(ctx context.Context) error {
	return listen.Serve(ctx, "metrics", s.http, s.listener, new(listen.Conns), 2*time.Second)
}
