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
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/api/session"
	"opdeck/internal/app"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/followup"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/lending"
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

// described are the metrics that are read at each scrape: name, help, labels.
var described = func() map[string]*prometheus.Desc {
	all := map[string]*prometheus.Desc{}
	for _, m := range [][]string{
		{"verdict", "State of a part: 0 not known, 1 good, 2 warning, 3 critical.", "part"},
		{"cause", "1 while opdeck check names this cause; absent otherwise. follows is the cause that explains it, if any.",
			"cause", "part", "severity", "follows"},
		{"service_reachable", "1 while the service answers, 0 while all calls fail; absent while neither is known."},
		{"service_last_answer_timestamp_seconds", "Time of the newest useful answer of the service to any process."},
		{"certificate_expiry_timestamp_seconds", "Time when the service's certificate ends; absent when not known."},
		{"clock_ahead_seconds", "By how much this host's clock is ahead of the service's; absent when not known."},
		{"store_usable", "1 while the shared store works, 0 while it does not; absent when not known."},
		{"token_ttl_seconds", "Lifetime of a token when it was issued.", "token"},
		{"token_remaining_seconds", "Lifetime that is left; 0 when there is no token.", "token"},
		{"session_state", "1 for the state that the shared session is in.", "state"},
		{"session_generation", "Increases with every refresh and login."},
		{"session_instances", "Processes that use the session."},
		{"session_events_total", "Events of the session since the store was created, all processes.", "event"},
		{"rotations_total", "Refreshes and logins seen since this process started, all processes.", "kind", "outcome"},
		{"budget_limit", "Recommended calls a minute.", "class"},
		{"budget_used", "Calls in the last minute, all processes.", "class"},
		{"budget_room", "Calls that can be sent now.", "class"},
		{"budget_waiting", "Calls that wait for a reserved slot.", "class"},
		{"budget_throttled", "429 answers in the last hour.", "class"},
		{"budget_next_slot_seconds", "Time until the next call can be sent.", "class"},
		{"index_operations", "Operations in the index."},
		{"index_age_seconds", "Time since the newest page of the list was read; absent before the first."},
		{"index_owed", "Operations that wait for a read, at most 1000."},
		{"index_complete", "1 when every page has been read once."},
		{"audit_healthy", "1 while the audit trail can be written."},
		{"audit_waiting", "Records that wait to be stored."},
		{"audit_checkpoint_healthy", "1 unless the last checkpoint failed."},
		{"audit_uncovered_records", "Records that no checkpoint covers."},
		{"unsettled_writes", "Writes with an unknown outcome."},
		{"hook_waiting", "Events that could not be merged into the index yet and are tried again."},
		{"hook_waiting_oldest_timestamp_seconds", "Time of the first try of the oldest waiting event; absent when none " +
			"waits."},
		{"hook_behind", "Stored events that were not processed yet."},
		{"hook_rejected_total", "Deliveries of this account that were rejected since the store was created, all processes.",
			"reason"},
		{"hook_last_rejected_timestamp_seconds", "Time of the last such delivery.", "reason"},
		{"store_bytes", "Disk space of the store: data including free pages, write-ahead log, free pages.",
			"part", "kind"},
		{"store_readable", "1 when a part of the state could be read.", "part"},
		{"ssh_sessions", "Sessions that are open.", "kind"},
		{"ssh_connections", "Connections before (pending) and after (open) authentication.", "state"},
		{"ssh_logins_total", "Authenticated connections.", "with"},
		{"ssh_refused_total", "Attempts that were refused.", "reason"},
		{"ssh_sessions_closed_total", "Sessions that ended.", "reason"},
		{"hook_requests_total", "Requests to the webhook receiver."},
		{"hook_events_total", "Stored deliveries, by trust.", "as"},
		{"hook_unauthorized_total", "Deliveries that failed authentication.", "reason"},
		{"hook_turned_away_total", "Rejected requests.", "reason"},
		{"hook_old_secret_total", "Deliveries verified with the previous secret."},
		{"hook_queued", "Deliveries that wait to be stored."},
		{"hook_last_event_timestamp_seconds", "Time of the last new event; absent before the first."},
		{"lend_borrowers", "Scripts that used the session within the last minute."},
		{"lend_connections", "Connections of scripts that are open."},
		{"lend_calls_total", "Calls of scripts that ended, by outcome.", "class", "outcome"},
		{"lend_unknown_total", "Requests without a borrower or with an unknown key."},
		{"approvals_waiting", "Requests for a second person that are open, and those that were approved and not used yet.",
			"state"},
		{"approvals_readable", "1 when the requests could be read."},
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

func collectSSH(c sshserver.Counters, out output) {
	for kind, n := range c.Sessions {
		out.gauge("ssh_sessions", float64(n), kind)
	}
	out.gauge("ssh_connections", float64(c.Pending), "pending")
	out.gauge("ssh_connections", float64(c.Connections), "open")
	for with, n := range c.Logins {
		out.count("ssh_logins_total", n, with)
	}
	for reason, n := range c.Refused {
		out.count("ssh_refused_total", n, reason)
	}
	for reason, n := range c.Closed {
		out.count("ssh_sessions_closed_total", n, reason)
	}
}

func collectReceiver(c receiver.Counters, out output) {
	out.count("hook_requests_total", c.Requests)
	for _, e := range []struct {
		as string
		n  int64
	}{{"new", c.Stored - c.Quarantined}, {"duplicate", c.Duplicates}, {"conflict", c.Conflicts},
		{"quarantined", c.Quarantined}} {
		out.count("hook_events_total", e.n, e.as)
	}
	for reason, n := range c.Reasons {
		out.count("hook_unauthorized_total", n, reason)
	}
	out.count("hook_turned_away_total", c.Refused, "not_stored")
	out.count("hook_turned_away_total", c.Limited, "too_much")
	out.count("hook_turned_away_total", c.Rejected, "malformed")
	out.count("hook_old_secret_total", c.OldSecret)
	out.gauge("hook_queued", float64(c.Queued))
	out.moment("hook_last_event_timestamp_seconds", c.LastAt)
}

func collectLender(c lendproxy.Counters, out output) {
	out.gauge("lend_borrowers", float64(c.Borrowers))
	out.gauge("lend_connections", float64(c.Connections))
	out.count("lend_unknown_total", c.Unknown)
	for _, class := range limit.Classes {
		for _, o := range lending.Outcomes {
			out.count("lend_calls_total", c.Calls[class][o], string(class), string(o))
		}
	}
}

// calls counts the calls of this process to the service.
type calls struct {
	total *prometheus.CounterVec
	took  *prometheus.HistogramVec
}

func newCalls() *calls {
	c := &calls{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "opdeck_calls_total",
			Help: "Calls to the service that ended, by endpoint class and by kind of error (ok: no error)."},
			[]string{"class", "kind"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "opdeck_call_seconds",
			Help:    "How long calls took, including the wait for a slot and a session.",
			Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30}}, []string{"class"}),
	}
	for _, class := range limit.Classes {
		c.total.WithLabelValues(string(class), "ok") // create it at 0, so that the first call shows
	}
	return c
}

func (c *calls) saw(call api.Call) {
	if call.Phase != api.CallEnded {
		return
	}
	kind := string(call.Kind)
	if kind == "" {
		kind = "ok"
	}
	c.total.WithLabelValues(string(call.Class), kind).Inc()
	c.took.WithLabelValues(string(call.Class)).Observe(call.Took.Seconds())
}

// readTimeout bounds the store reads of one scrape.
const readTimeout = 5 * time.Second

// state is read from the shared store at each scrape. It makes no call.
type state struct {
	app *app.App
	src Sources

	mu   sync.Mutex
	seen int64               // guarded by mu: the last rotation counted
	done map[[2]string]int64 // guarded by mu: rotations by kind and outcome
}

func newState(a *app.App, src Sources) *state {
	s := &state{app: a, src: src, done: map[[2]string]int64{}}
	for _, kind := range []session.EventKind{session.EventLogin, session.EventRefresh} {
		for _, o := range []session.Outcome{session.OK, session.NotSent, session.Unknown, session.Throttled, session.Refused,
			session.TwoFactor, session.Fenced, session.NoSlot, session.Aborted} {
			s.done[[2]string{string(kind), string(o)}] = 0
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	if st, err := a.SharedSession().Status(ctx); err == nil && len(st.History) > 0 {
		s.seen = st.History[len(st.History)-1].Seq
	}
	return s
}

// Describe implements prometheus.Collector.
func (s *state) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range described {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (s *state) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	out := output(ch)
	for _, collect := range []func(context.Context, output){s.collectVerdict, s.collectSession, s.collectBudgets,
		s.collectIndex,
		s.collectWrites,
		s.collectApprovals, s.collectHooks, s.collectAudit, s.collectSizes} {
		collect(ctx, out)
	}
	if s.src.SSH != nil {
		collectSSH(s.src.SSH(), out)
	}
	if s.src.Hooks != nil {
		collectReceiver(s.src.Hooks(), out)
	}
	if s.src.Lend != nil {
		collectLender(s.src.Lend(), out)
	}
}

func (s *state) collectAudit(ctx context.Context, out output) {
	h := s.app.Audit.Health()
	n, err := s.app.Audit.Signer.Uncovered(ctx)
	out.flag("audit_healthy", h.Err == nil && err == nil) // the trail is in the store
	out.gauge("audit_waiting", float64(h.Waiting))
	out.flag("audit_checkpoint_healthy", h.Checkpoint == nil)
	out.flag("store_readable", err == nil, "checkpoints")
	if err == nil {
		out.gauge("audit_uncovered_records", float64(n))
	}
}

// collectVerdict reports the verdict that opdeck check prints, and the figures behind it.
func (s *state) collectVerdict(ctx context.Context, out output) {
	f := app.Facts(ctx, s.app)
	v := verdict.Conclude(f)
	for _, p := range verdict.Parts() {
		out.gauge("verdict", float64(v.Of(p)), string(p))
	}
	for name, part := range map[string]verdict.Part{"service_reachable": verdict.PartService,
		"store_usable": verdict.PartStore} {
		if state := v.Of(part); state != verdict.Unknown {
			out.flag(name, state != verdict.Bad)
		}
	}
	seen := map[verdict.Cause]bool{}
	for _, f := range v.Findings {
		if !seen[f.Cause] {
			seen[f.Cause] = true
			out.flag("cause", true, string(f.Cause), string(f.Part), f.Severity.String(), string(f.Follows))
		}
	}
	m := verdict.Measure(f)
	out.moment("service_last_answer_timestamp_seconds", m.Answered)
	out.moment("certificate_expiry_timestamp_seconds", m.Certificate)
	if m.Ahead != nil {
		out.gauge("clock_ahead_seconds", m.Ahead.Seconds())
	}
}

// collectSizes reports the disk usage of the databases.
func (s *state) collectSizes(ctx context.Context, out output) {
	sizes, err := s.app.Store.Sizes(ctx)
	out.flag("store_readable", err == nil, "sizes")
	for _, size := range sizes {
		out.gauge("store_bytes", float64(size.Data), size.Name, "data")
		out.gauge("store_bytes", float64(size.Log), size.Name, "log")
		out.gauge("store_bytes", float64(size.Free), size.Name, "free")
	}
}

// collectApprovals counts writes that wait for an approval or have one.
func (s *state) collectApprovals(ctx context.Context, out output) {
	n, err := s.app.Approvals.Waiting(ctx)
	out.flag("approvals_readable", err == nil)
	if err != nil {
		return
	}
	for _, st := range []approval.State{approval.Open, approval.Approved} {
		out.gauge("approvals_waiting", float64(n[st]), string(st))
	}
}

// collectWrites counts writes with an unknown outcome.
func (s *state) collectWrites(ctx context.Context, out output) {
	rows, err := s.app.Follow.Pending(ctx)
	out.flag("store_readable", err == nil, "writes")
	if err != nil {
		return
	}
	open := 0
	for _, r := range rows {
		if r.State != followup.NotSeen && !r.Unsure {
			open++
		}
	}
	out.gauge("unsettled_writes", float64(open))
}

// states of a session.
var states = []string{"live", "none", "rotating", "doubtful", "blocked"}

func (s *state) collectSession(ctx context.Context, out output) {
	st, err := s.app.SharedSession().Status(ctx)
	out.flag("store_readable", err == nil, "session")
	if err != nil {
		return
	}
	out.gauge("token_ttl_seconds", st.Access.TTL.Seconds(), "access")
	out.gauge("token_ttl_seconds", st.Refresh.TTL.Seconds(), "refresh")
	out.gauge("token_remaining_seconds", max(0, st.Access.Remaining.Seconds()), "access")
	out.gauge("token_remaining_seconds", max(0, st.Refresh.Remaining.Seconds()), "refresh")
	for _, name := range states {
		out.flag("session_state", st.State == name, name)
	}
	out.gauge("session_generation", float64(st.Generation))
	out.gauge("session_instances", float64(st.Instances))
	out.count("session_events_total", st.Counts.Logins, "login")
	out.count("session_events_total", st.Counts.Refreshes, "refresh")
	out.count("session_events_total", st.Counts.Unauthorized, "unauthorized")
	out.count("session_events_total", st.Counts.Premature, "premature")
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range st.History {
		if e.Seq > s.seen && (e.Kind == session.EventLogin || e.Kind == session.EventRefresh) {
			s.done[[2]string{string(e.Kind), string(e.Outcome)}]++
		}
	}
	if n := len(st.History); n > 0 {
		s.seen = max(s.seen, st.History[n-1].Seq)
	}
	for k, n := range s.done {
		out.count("rotations_total", n, k[0], k[1])
	}
}

func (s *state) collectBudgets(ctx context.Context, out output) {
	use, err := s.app.Limits.Usage(ctx)
	out.flag("store_readable", err == nil, "budgets")
	for _, u := range use {
		class := string(u.Class)
		out.gauge("budget_limit", float64(u.Recommended), class)
		out.gauge("budget_used", float64(u.Used), class)
		out.gauge("budget_room", float64(u.Room), class)
		out.gauge("budget_waiting", float64(u.Waiting), class)
		out.gauge("budget_throttled", float64(u.Throttled), class)
		out.gauge("budget_next_slot_seconds", u.NextSlot, class)
	}
}

func (s *state) collectIndex(ctx context.Context, out output) {
	now := s.app.Now()
	n, err := s.app.Index.Count(ctx, filter.OperationExpr{}, now)
	if err == nil {
		out.gauge("index_operations", float64(n))
		f, freshErr := s.app.Index.Freshness(ctx)
		if err = freshErr; err == nil {
			out.gauge("index_owed", float64(f.Owed))
			out.flag("index_complete", f.Complete)
			if !f.AsOf.IsZero() {
				out.gauge("index_age_seconds", max(0, now.Sub(f.AsOf).Seconds()))
			}
		}
	}
	out.flag("store_readable", err == nil, "index")
}

func (s *state) collectHooks(ctx context.Context, out output) {
	t, err := s.app.Hooks().Trouble(ctx)
	out.flag("store_readable", err == nil, "hooks")
	if err != nil {
		return
	}
	out.gauge("hook_waiting", float64(t.Backlog.Waiting))
	out.gauge("hook_behind", float64(t.Backlog.Behind))
	if t.Backlog.Waiting > 0 {
		out.moment("hook_waiting_oldest_timestamp_seconds", t.Backlog.Oldest)
	}
	for _, c := range t.Rejected {
		out.count("hook_rejected_total", c.N, c.Reason)
		out.moment("hook_last_rejected_timestamp_seconds", c.Last, c.Reason)
	}
}
