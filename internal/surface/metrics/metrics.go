// Package metrics exports to Prometheus what the rules of packaging/alerts.yml use: the causes of the verdict and some
// figures beside them.
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
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/system/listen"
)

// Sources are optional parts.
type Sources struct {
	SSH   func() map[string]int64  // refused attempts by reason; nil: off
	Hooks func() receiver.Counters // nil: off
}

// Metrics reads the state of the server and of the shared store at each scrape. It makes no call.
type Metrics struct {
	registry *prometheus.Registry
	app      *app.App
	src      Sources
}

// New returns the metrics of an App.
func New(a *app.App, src Sources) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), app: a, src: src}
	m.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), m)
	return m
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

// described are the metrics: name, help, labels. Each is used by a rule of packaging/alerts.yml.
var described = func() map[string]*prometheus.Desc {
	all := map[string]*prometheus.Desc{}
	for _, m := range [][]string{
		{"build_info", "Always 1; the label is the version.", "version"},
		{"cause", "1 while opdeck check names this cause; absent otherwise. follows is the cause that explains it, if any.",
			"cause", "part", "severity", "follows"},
		{"verdict", "State of a part: 0 not known, 1 good, 2 warning, 3 critical.", "part"},
		{"certificate_expiry_timestamp_seconds", "Time when the service's certificate ends; absent when not known."},
		{"store_readable", "1 when a part of the state could be read.", "part"},
		{"session_state", "1 for the state that the shared session is in.", "state"},
		{"budget_waiting", "Calls that wait for a reserved slot.", "class"},
		{"budget_throttled", "429 answers in the last hour.", "class"},
		{"index_age_seconds", "Time since the newest page of the list was read; absent before the first."},
		{"approvals_waiting", "Requests for a second person that are open, and those that were approved and not used yet.",
			"state"},
		{"audit_checkpoint_healthy", "1 unless the last checkpoint failed."},
		{"audit_uncovered_records", "Records that no checkpoint covers."},
		{"hook_behind", "Stored events that were not processed yet."},
		{"hook_last_rejected_timestamp_seconds", "Time of the last delivery of this account that any process rejected.",
			"reason"},
		{"hook_turned_away_total", "Requests to the webhook receiver that were rejected.", "reason"},
		{"hook_queued", "Deliveries that are verified and stored at this moment, 256 at most."},
		{"ssh_refused_total", "Attempts at the SSH port that were refused.", "reason"},
	} {
		all[m[0]] = prometheus.NewDesc("opdeck_"+m[0], m[1], m[2:], nil)
	}
	return all
}()

// output receives the values of one scrape, by the names of described.
type output chan<- prometheus.Metric

func (o output) gauge(name string, v float64, labels ...string) {
	o <- prometheus.MustNewConstMetric(described[name], prometheus.GaugeValue, v, labels...)
}

func (o output) count(name string, v int64, labels ...string) {
	o <- prometheus.MustNewConstMetric(described[name], prometheus.CounterValue, float64(v), labels...)
}

// moment exports a time; none if it is zero.
func (o output) moment(name string, t time.Time, labels ...string) {
	if !t.IsZero() {
		o.gauge(name, float64(t.Unix()), labels...)
	}
}

func (o output) flag(name string, b bool, labels ...string) {
	v := 0.0
	if b {
		v = 1
	}
	o.gauge(name, v, labels...)
}

// readTimeout bounds the store reads of one scrape.
const readTimeout = 5 * time.Second

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range described {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	out := output(ch)
	out.flag("build_info", true, m.app.Version)
	m.collectVerdict(ctx, out)
	out.flag("audit_checkpoint_healthy", m.app.Audit.Health().Checkpoint == nil)
	for part, read := range map[string]func(context.Context, output) error{"session": m.readSession,
		"budgets": m.readBudgets, "index": m.readIndex, "approvals": m.readApprovals, "checkpoints": m.readCheckpoints,
		"hooks": m.readHooks} {
		out.flag("store_readable", read(ctx, out) == nil, part)
	}
	if m.src.SSH != nil {
		for reason, n := range m.src.SSH() {
			out.count("ssh_refused_total", n, reason)
		}
	}
	if m.src.Hooks != nil {
		c := m.src.Hooks()
		out.count("hook_turned_away_total", c.Refused, "not_stored")
		out.count("hook_turned_away_total", c.Limited, "too_much")
		out.count("hook_turned_away_total", c.Rejected, "malformed")
		out.gauge("hook_queued", float64(c.AtWork))
	}
}

// collectVerdict reports the verdict that opdeck check prints.
func (m *Metrics) collectVerdict(ctx context.Context, out output) {
	facts := app.Facts(ctx, m.app)
	v := verdict.Conclude(facts)
	for _, p := range verdict.Parts() {
		out.gauge("verdict", float64(v.Of(p)), string(p))
	}
	seen := map[verdict.Cause]bool{}
	for _, f := range v.Findings {
		if !seen[f.Cause] {
			seen[f.Cause] = true
			out.flag("cause", true, string(f.Cause), string(f.Part), f.Severity.String(), string(f.Follows))
		}
	}
	out.moment("certificate_expiry_timestamp_seconds", verdict.Measure(facts).Certificate)
}

func (m *Metrics) readSession(ctx context.Context, out output) error {
	st, err := m.app.SharedSession().Status(ctx)
	if err != nil {
		return err
	}
	for _, name := range []string{"live", "none", "rotating", "doubtful", "blocked"} {
		out.flag("session_state", st.State == name, name)
	}
	return nil
}

func (m *Metrics) readBudgets(ctx context.Context, out output) error {
	use, err := m.app.Limits.Usage(ctx)
	for _, u := range use {
		out.gauge("budget_waiting", float64(u.Waiting), string(u.Class))
		out.gauge("budget_throttled", float64(u.Throttled), string(u.Class))
	}
	return err
}

func (m *Metrics) readIndex(ctx context.Context, out output) error {
	f, err := m.app.Index.Freshness(ctx)
	if err == nil && !f.AsOf.IsZero() {
		out.gauge("index_age_seconds", max(0, m.app.Now().Sub(f.AsOf).Seconds()))
	}
	return err
}

func (m *Metrics) readApprovals(ctx context.Context, out output) error {
	n, err := m.app.Approvals.Waiting(ctx)
	if err != nil {
		return err
	}
	for _, st := range []approval.State{approval.Open, approval.Approved} {
		out.gauge("approvals_waiting", float64(n[st]), string(st))
	}
	return nil
}

func (m *Metrics) readCheckpoints(ctx context.Context, out output) error {
	n, err := m.app.Audit.Signer.Uncovered(ctx)
	if err == nil {
		out.gauge("audit_uncovered_records", float64(n))
	}
	return err
}

func (m *Metrics) readHooks(ctx context.Context, out output) error {
	t, err := m.app.Hooks().Trouble(ctx)
	if err != nil {
		return err
	}
	out.gauge("hook_behind", float64(t.Backlog.Behind))
	for _, c := range t.Rejected {
		out.moment("hook_last_rejected_timestamp_seconds", c.Last, c.Reason)
	}
	return nil
}
