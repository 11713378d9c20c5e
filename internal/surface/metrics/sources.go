package metrics

import (
	"opdeck/api/limit"
	"opdeck/internal/domain/lending"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/surface/lendproxy"
	"opdeck/internal/surface/sshserver"
)

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
