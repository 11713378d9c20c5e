package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"opdeck/internal/app"
	"opdeck/internal/domain/approval"
)

// approvals counts writes that wait for, or have, a second person.
type approvals struct {
	app      *app.App
	waiting  *prometheus.Desc
	readable *prometheus.Desc
}

func newApprovals(a *app.App) *approvals {
	return &approvals{app: a, waiting: desc("approvals_waiting", "Requests for a second person that are open, and those that were approved and not used yet.", "state"),
		readable: desc("approvals_readable", "1 when the requests could be read.")}
}

// Describe implements prometheus.Collector.
func (c *approvals) Describe(ch chan<- *prometheus.Desc) { ch <- c.waiting; ch <- c.readable }

// Collect implements prometheus.Collector.
func (c *approvals) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), lookFor)
	defer cancel()
	n, err := c.app.Approvals.Waiting(ctx)
	gauge(ch, c.readable, flag(err == nil))
	if err != nil {
		return
	}
	for _, st := range []approval.State{approval.Open, approval.Approved} {
		gauge(ch, c.waiting, float64(n[st]), string(st))
	}
}
