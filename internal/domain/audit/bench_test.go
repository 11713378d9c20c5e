package audit_test

import (
	"bytes"
	"os"
	"slices"
	"strconv"
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

// BenchmarkLongTrail is what a trail of so many records costs: to write the next, to read what is unsettled, and to
// verify all.
//
// OPDECK_BENCH_RECORDS=1000000 go test -run '^$' -bench BenchmarkLongTrail -benchtime 20x -timeout 30m
// ./internal/domain/audit
func BenchmarkLongTrail(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("OPDECK_BENCH_RECORDS"))
	if err != nil {
		n = 10_000
	}
	key, err := audit.NewKey(bytes.Repeat([]byte{9}, 32))
	if err != nil {
		b.Fatal(err)
	}
	st := journal.NewAudit(storetest.Open(b, store.SQLite).Core)
	const page = 20_000
	filler, err := audit.New(audit.Options{Store: st})
	if err != nil {
		b.Fatal(err)
	}
	for left := n; left > 0; left -= page {
		if err := filler.Fill(as(ana), ana, act, min(left, page)); err != nil {
			b.Fatal(err)
		}
	}
	l, err := audit.New(audit.Options{Store: st, Key: key, Checkpoints: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	if err := l.Signer.Checkpoint(as(ana)); err != nil {
		b.Fatal(err)
	}
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			ref, err := l.Intent(as(ana), ana, act)
			if err != nil {
				b.Fatal(err)
			}
			if err := l.Outcome(as(ana), ref, api.Outcome{Verdict: api.Done}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("find", func(b *testing.B) {
		for b.Loop() {
			if _, err := l.Reader.Find(as(admin), audit.Query{Object: "operation", ID: "op-1"}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("unsettled, first", func(b *testing.B) {
		for b.Loop() {
			fresh, err := audit.New(audit.Options{Store: st})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := fresh.Unsettled(as(ana)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("verify", func(b *testing.B) {
		for range 1 {
			r, err := l.Prover.Verify(as(admin))
			if err != nil || !r.Intact() {
				b.Fatal(r.Problems, err)
			}
			b.ReportMetric(float64(r.Records)/b.Elapsed().Seconds(), "records/s")
		}
	})
}
