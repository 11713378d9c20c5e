package metrics

import "github.com/prometheus/client_golang/prometheus"

// sources are the parts of the server that count for themselves.
type sources struct{ src Sources }

func (s *sources) descs() (d struct {
	sessions, connections, logins, refused, closed                               *prometheus.Desc
	requests, events, unauthorized, turnedAway, oldSecret, queued, dropped, last *prometheus.Desc
}) {
	d.sessions = desc("ssh_sessions", "Sessions that are open.", "kind")
	d.connections = desc("ssh_connections", "Connections, before (pending) and after (open) the proof of who it is.", "state")
	d.logins = desc("ssh_logins_total", "Connections that proved who they are.", "with")
	d.refused = desc("ssh_refused_total", "Attempts that were refused.", "reason")
	d.closed = desc("ssh_sessions_closed_total", "Sessions that ended.", "reason")
	d.requests = desc("hook_requests_total", "Requests to the webhook receiver.")
	d.events = desc("hook_events_total", "Deliveries that were kept, by what they were worth.", "as")
	d.unauthorized = desc("hook_unauthorized_total", "Deliveries that did not prove where they came from.", "reason")
	d.turnedAway = desc("hook_turned_away_total", "Requests that were not taken.", "reason")
	d.oldSecret = desc("hook_old_secret_total", "Deliveries proven with the secret that is on its way out.")
	d.queued = desc("hook_queued", "Deliveries that wait to be stored.")
	d.dropped = desc("hook_notes_dropped_total", "Notes that slow listeners missed; the inbox has the events.")
	d.last = desc("hook_last_event_timestamp_seconds", "When the last new event came; absent before the first.")
	return d
}

// Describe implements prometheus.Collector.
func (s *sources) Describe(ch chan<- *prometheus.Desc) {
	d := s.descs()
	for _, x := range []*prometheus.Desc{d.sessions, d.connections, d.logins, d.refused, d.closed, d.requests, d.events, d.unauthorized,
		d.turnedAway, d.oldSecret, d.queued, d.dropped, d.last} {
		ch <- x
	}
}

// Collect implements prometheus.Collector.
func (s *sources) Collect(ch chan<- prometheus.Metric) {
	d := s.descs()
	if s.src.SSH != nil {
		c := s.src.SSH()
		for kind, n := range c.Sessions {
			gauge(ch, d.sessions, float64(n), kind)
		}
		gauge(ch, d.connections, float64(c.Pending), "pending")
		gauge(ch, d.connections, float64(c.Connections), "open")
		for with, n := range c.Logins {
			count(ch, d.logins, n, with)
		}
		for reason, n := range c.Refused {
			count(ch, d.refused, n, reason)
		}
		for reason, n := range c.Closed {
			count(ch, d.closed, n, reason)
		}
	}
	if s.src.Hooks == nil {
		return
	}
	c := s.src.Hooks()
	count(ch, d.requests, c.Requests)
	for _, e := range []struct {
		as string
		n  int64
	}{{"new", c.Stored - c.Quarantined}, {"duplicate", c.Duplicates}, {"conflict", c.Conflicts}, {"quarantined", c.Quarantined}} {
		count(ch, d.events, e.n, e.as)
	}
	for reason, n := range c.Reasons {
		count(ch, d.unauthorized, n, reason)
	}
	count(ch, d.turnedAway, c.Refused, "not_stored")
	count(ch, d.turnedAway, c.Limited, "too_much")
	count(ch, d.turnedAway, c.Rejected, "malformed")
	count(ch, d.oldSecret, c.OldSecret)
	gauge(ch, d.queued, float64(c.Queued))
	count(ch, d.dropped, c.Dropped)
	if !c.LastAt.IsZero() {
		gauge(ch, d.last, float64(c.LastAt.Unix()))
	}
}
