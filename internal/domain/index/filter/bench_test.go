package filter_test

import (
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/index/indextest"
)

const long = `status:PENDING type:WITHDRAW amount>=1000.50 currency:EUR customer:acme created>2026-01-01 updated<2h has:locked doc:invoice -comment:test ("free text" OR ref:12)`

// BenchmarkParse reads the longest filter of the guide.
func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := filter.Parse(long); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMatch asks one operation after another, as an arriving webhook and an
// index that is off do.
func BenchmarkMatch(b *testing.B) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ops := make([]api.Operation, 1000)
	for i := range ops {
		ops[i] = indextest.Options{}.Make(i)
	}
	for name, text := range map[string]string{"field": "status:PENDING", "word": "zebra", "all": long} {
		e, err := filter.Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			i, hits := 0, 0
			for b.Loop() {
				if i++; e.Match(ops[i%len(ops)], now) {
					hits++
				}
			}
			b.ReportMetric(float64(hits)/float64(i), "hits/op")
		})
	}
}
