package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"opdeck/api/session"
	"opdeck/internal/app"
	"opdeck/internal/domain/followup"
	"opdeck/internal/domain/index/filter"
)

// lookFor bounds what one scrape reads from the store.
const lookFor = 5 * time.Second

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("opdeck_"+name, help, labels, nil)
}

// state is read from the shared store when Prometheus asks. It costs no call to
// the service.
type state struct {
	app *app.App

	ttl, left, sessionState, generation, instances, authCounts, rotations *prometheus.Desc
	limits, used, room, waiting, throttled, nextSlot                      *prometheus.Desc
	operations, indexAge, owed, complete                                  *prometheus.Desc
	auditOK, auditWaiting, auditPoint, readable, unsettled, uncovered     *prometheus.Desc
	hookWaiting, hookOldest, hookBehind, hookRejected, hookRejectedAt     *prometheus.Desc

	mu   sync.Mutex
	seen int64               // guarded by mu: the last rotation counted
	done map[[2]string]int64 // guarded by mu: rotations by kind and outcome
}

func newState(a *app.App) *state {
	s := &state{app: a,
		ttl:            desc("token_ttl_seconds", "Life of a token when it was made.", "token"),
		left:           desc("token_remaining_seconds", "What is left of it; 0 when there is none.", "token"),
		sessionState:   desc("session_state", "1 for the state that the shared session is in.", "state"),
		generation:     desc("session_generation", "Grows with every new pair of tokens."),
		instances:      desc("session_instances", "Processes that use the session."),
		authCounts:     desc("session_events_total", "Since the store was made, of all processes.", "event"),
		rotations:      desc("rotations_total", "Rotations of the pair seen since this process began, of all processes.", "kind", "outcome"),
		limits:         desc("budget_limit", "Calls a minute that are recommended.", "class"),
		used:           desc("budget_used", "Calls in the last minute, of all processes.", "class"),
		room:           desc("budget_room", "Calls that may go now.", "class"),
		waiting:        desc("budget_waiting", "Calls that hold a slot ahead.", "class"),
		throttled:      desc("budget_throttled", "429 answers in the last hour.", "class"),
		nextSlot:       desc("budget_next_slot_seconds", "Until one more call may go.", "class"),
		operations:     desc("index_operations", "Operations in the index."),
		indexAge:       desc("index_age_seconds", "Since the newest page of the list was read; absent before the first time."),
		owed:           desc("index_owed", "Operations that wait for a read, at most 1000."),
		complete:       desc("index_complete", "1 when every page has been read once."),
		auditOK:        desc("audit_healthy", "1 while the audit trail can be written."),
		auditWaiting:   desc("audit_waiting", "Records that wait to be stored."),
		auditPoint:     desc("audit_checkpoint_healthy", "1 unless the last checkpoint failed."),
		uncovered:      desc("audit_uncovered_records", "Records that no checkpoint covers."),
		unsettled:      desc("unsettled_writes", "Writes whose outcome is not known."),
		hookWaiting:    desc("hook_waiting", "Events that could not be merged into the index yet and are tried again."),
		hookOldest:     desc("hook_waiting_oldest_timestamp_seconds", "When the one that waits longest was tried first; absent when none waits."),
		hookBehind:     desc("hook_behind", "Stored events that were not looked at yet."),
		hookRejected:   desc("hook_rejected_total", "Deliveries of this account that were not accepted, since the store was made, of all processes.", "reason"),
		hookRejectedAt: desc("hook_last_rejected_timestamp_seconds", "When the last of these came.", "reason"),

		readable: desc("store_readable", "1 when a part of the state could be read.", "part"),
		done:     map[[2]string]int64{},
	}
	for _, kind := range []session.EventKind{session.EventLogin, session.EventRefresh} {
		for _, o := range []session.Outcome{session.OK, session.NotSent, session.Unknown, session.Throttled, session.Refused,
			session.TwoFactor, session.Fenced, session.NoSlot, session.Aborted} {
			s.done[[2]string{string(kind), string(o)}] = 0
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookFor)
	defer cancel()
	if st, err := a.SessionStatus(ctx); err == nil && len(st.History) > 0 {
		s.seen = st.History[len(st.History)-1].Seq
	}
	return s
}

// Describe implements prometheus.Collector.
func (s *state) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{s.ttl, s.left, s.sessionState, s.generation, s.instances, s.authCounts, s.rotations,
		s.limits, s.used, s.room, s.waiting, s.throttled, s.nextSlot, s.operations, s.indexAge, s.owed, s.complete,
		s.auditOK, s.auditWaiting, s.auditPoint, s.readable, s.hookWaiting, s.hookOldest, s.hookBehind, s.hookRejected, s.hookRejectedAt, s.unsettled, s.uncovered} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (s *state) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), lookFor)
	defer cancel()
	s.collectSession(ctx, ch)
	s.collectBudgets(ctx, ch)
	s.collectIndex(ctx, ch)
	s.collectWrites(ctx, ch)
	s.collectHooks(ctx, ch)
	h := s.app.Audit.Health()
	gauge(ch, s.auditOK, flag(h.Err == nil))
	gauge(ch, s.auditWaiting, float64(h.Waiting))
	gauge(ch, s.auditPoint, flag(h.Checkpoint == nil))
	n, err := s.app.Audit.Uncovered(ctx)
	if gauge(ch, s.readable, flag(err == nil), "checkpoints"); err == nil {
		gauge(ch, s.uncovered, float64(n))
	}
}

// collectWrites counts writes whose outcome is not known.
func (s *state) collectWrites(ctx context.Context, ch chan<- prometheus.Metric) {
	rows, err := s.app.Follow.Pending(ctx)
	gauge(ch, s.readable, flag(err == nil), "writes")
	if err != nil {
		return
	}
	open := 0
	for _, r := range rows {
		if r.State != followup.NotSeen {
			open++
		}
	}
	gauge(ch, s.unsettled, float64(open))
}

func gauge(ch chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func count(ch chan<- prometheus.Metric, d *prometheus.Desc, v int64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// states that a session can be in.
var states = []string{"live", "none", "rotating", "doubtful", "blocked"}

func (s *state) collectSession(ctx context.Context, ch chan<- prometheus.Metric) {
	st, err := s.app.SessionStatus(ctx)
	gauge(ch, s.readable, flag(err == nil), "session")
	if err != nil {
		return
	}
	gauge(ch, s.ttl, st.Access.TTL.Seconds(), "access")
	gauge(ch, s.ttl, st.Refresh.TTL.Seconds(), "refresh")
	gauge(ch, s.left, max(0, st.Access.Remaining.Seconds()), "access")
	gauge(ch, s.left, max(0, st.Refresh.Remaining.Seconds()), "refresh")
	for _, name := range states {
		gauge(ch, s.sessionState, flag(st.State == name), name)
	}
	gauge(ch, s.generation, float64(st.Generation))
	gauge(ch, s.instances, float64(st.Instances))
	count(ch, s.authCounts, st.Counts.Logins, "login")
	count(ch, s.authCounts, st.Counts.Refreshes, "refresh")
	count(ch, s.authCounts, st.Counts.Unauthorized, "unauthorized")
	count(ch, s.authCounts, st.Counts.Premature, "premature")
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
		count(ch, s.rotations, n, k[0], k[1])
	}
}

func (s *state) collectBudgets(ctx context.Context, ch chan<- prometheus.Metric) {
	use, err := s.app.Usage(ctx)
	gauge(ch, s.readable, flag(err == nil), "budgets")
	for _, u := range use {
		class := string(u.Class)
		gauge(ch, s.limits, float64(u.Recommended), class)
		gauge(ch, s.used, float64(u.Used), class)
		gauge(ch, s.room, float64(u.Room), class)
		gauge(ch, s.waiting, float64(u.Waiting), class)
		gauge(ch, s.throttled, float64(u.Throttled), class)
		gauge(ch, s.nextSlot, u.NextSlot, class)
	}
}

func (s *state) collectIndex(ctx context.Context, ch chan<- prometheus.Metric) {
	now := s.app.Now()
	n, err := s.app.Index.Count(ctx, filter.OperationExpr{}, now)
	if err == nil {
		gauge(ch, s.operations, float64(n))
		f, freshErr := s.app.Index.Freshness(ctx)
		if err = freshErr; err == nil {
			gauge(ch, s.owed, float64(f.Owed))
			gauge(ch, s.complete, flag(f.Complete))
			if !f.AsOf.IsZero() {
				gauge(ch, s.indexAge, max(0, now.Sub(f.AsOf).Seconds()))
			}
		}
	}
	gauge(ch, s.readable, flag(err == nil), "index")
}

func (s *state) collectHooks(ctx context.Context, ch chan<- prometheus.Metric) {
	t, err := s.app.HookTrouble(ctx)
	gauge(ch, s.readable, flag(err == nil), "hooks")
	if err != nil {
		return
	}
	gauge(ch, s.hookWaiting, float64(t.Backlog.Waiting))
	gauge(ch, s.hookBehind, float64(t.Backlog.Behind))
	if t.Backlog.Waiting > 0 {
		gauge(ch, s.hookOldest, float64(t.Backlog.Oldest.Unix()))
	}
	for _, c := range t.Rejected {
		count(ch, s.hookRejected, c.N, c.Reason)
		gauge(ch, s.hookRejectedAt, float64(c.Last.Unix()), c.Reason)
	}
}
