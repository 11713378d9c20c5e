package audit_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/audit"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/storetest"
)

// BenchmarkWrite is what the trail adds to one write, intent and outcome, without and with a checkpoint that is
// signed and durable before the outcome is reported:
//
//	go test -run '^$' -bench BenchmarkWrite -benchtime 2000x ./internal/domain/audit
//
// The difference of the two p50 is the cost of signing.
func BenchmarkWrite(b *testing.B) {
	key, err := audit.NewKey(bytes.Repeat([]byte{9}, 32))
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		for _, signed := range []bool{false, true} {
			name := e.String() + "/unsigned"
			opt := audit.Options{}
			if signed {
				name = e.String() + "/signed"
				opt.Key, opt.Checkpoints = key, points(b)
			}
			b.Run(name, func(b *testing.B) {
				opt.Store = journal.NewAudit(storetest.Open(b, e).Core)
				l, err := audit.New(opt)
				if err != nil {
					b.Fatal(err)
				}
				var took []time.Duration
				for b.Loop() {
					began := time.Now()
					ref, err := l.Intent(as(ana), ana, act)
					if err != nil {
						b.Fatal(err)
					}
					if err := l.Outcome(as(ana), ref, api.Outcome{Verdict: api.Done}); err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(began))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
				if h := l.Health(); !h.OK() {
					b.Fatal(h)
				}
			})
		}
	}
}
