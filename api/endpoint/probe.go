package endpoint

import (
	"context"
	"net/http"

	"opdeck/api/session"
)

// probed are cheap reads from different budgets that need a session and no id.
var probed = []*Route{ListAccounts.Route, ListCustomers.Route, ListOperations.Route}

// Probes returns reads that show whether the service accepts a token that another route refused. Each reads one
// record of a list.
func (w *Wire) Probes() []session.Probe {
	out := make([]session.Probe, 0, len(probed))
	for _, route := range probed {
		r, err := route.request()
		if err != nil { // not possible: they have no ids
			continue
		}
		r.Op, r.Query = "check the session", route.values(page(w.client.Service(), 0, 1))
		send := func(ctx context.Context, a session.Access) (int, http.Header, error) {
			return w.client.Probe(ctx, r, a.Token)
		}
		out = append(out, session.Probe{Route: r.SessionRoute(), Send: send})
	}
	return out
}
