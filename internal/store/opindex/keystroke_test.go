package opindex_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/index/indextest"
)

// many names operations by notes: as many as a word finds at most.
type many []string

func (m many) Holds(string) (filter.Named, error) { return filter.Named{OPIDs: m}, nil }
func (m many) Noted(string) (filter.Named, error) { return filter.Named{OPIDs: m}, nil }

// BenchmarkKeystrokes types each filter of the questions, letter by letter, as a list does that follows it: 60 rows for
// each beginning that is a filter. It prints, in processor time, the median, the slowest of a hundred and the slowest keystroke of each, and
// of all. The second line of each has 200 operations more, which notes name.
func BenchmarkKeystrokes(b *testing.B) {
	x, _ := benchIndex(b)
	var noted many
	for i := range 200 {
		noted = append(noted, string(indextest.Options{Raw: true}.Make(i*benchRows()/200).OPID))
	}
	var all []time.Duration
	for b.Loop() {
		for _, q := range questions {
			if q.kind != "window" || q.filter == "" {
				continue
			}
			for _, with := range []many{nil, noted} {
				times := typed(b, x, q.filter, with)
				all = append(all, times...)
				if with != nil {
					q.name += ", noted"
				}
				fmt.Printf("%-24s %s\n", q.name, quantiles(times))
			}
		}
	}
	fmt.Printf("%-24s %s\n", "all", quantiles(all))
}

// newestFirst is the order in which the list opens.
var newestFirst = index.Sort{Desc: true}

// typed is the time of each keystroke of a filter, typed three times.
func typed(b *testing.B, x index.Store, text string, noted many) (out []time.Duration) {
	for range 3 {
		for at := range len(text) + 1 {
			e, err := filter.Parse(text[:at])
			if err != nil || at == 0 {
				continue // the list keeps the last valid filter
			}
			if noted != nil {
				if e, err = filter.AskBeside(e, noted.Holds, noted.Noted); err != nil {
					b.Fatal(err)
				}
			}
			began := processor()
			if _, err := x.Window(context.Background(), index.Query{Filter: e, Sort: newestFirst, Limit: 60}, now); err != nil {
				b.Fatal(err)
			}
			out = append(out, processor()-began)
		}
	}
	return out
}

func quantiles(all []time.Duration) string {
	slices.Sort(all)
	at := func(part float64) time.Duration { return all[min(int(part*float64(len(all))), len(all)-1)] }
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return fmt.Sprintf("%5d keystrokes  p50 %7.1f ms  p99 %7.1f ms  slowest %7.1f ms", len(all), ms(at(0.5)), ms(at(0.99)),
		ms(all[len(all)-1]))
}
