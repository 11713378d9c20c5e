package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"opdeck/api/session"
	"opdeck/internal/app"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/followup"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/verdict"
)

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
