package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"opdeck/api"
	"opdeck/api/limit"
)

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
