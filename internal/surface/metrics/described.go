package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

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
