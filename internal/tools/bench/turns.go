package main

import (
	"fmt"
	"time"
)

// turns compares two builds on a machine of varying speed: both consoles run, and each key goes to both, in
// alternating order.
func (b *bench) turns() error {
	other := *b.w
	other.bin = b.other
	pair := [2]*run{}
	for i, w := range []*world{b.w, &other} {
		r, err := b.openOn(w)
		if err != nil {
			return err
		}
		defer r.stop()
		pair[i] = r
	}
	one := *b
	one.p.keys = 1
	for _, k := range keyMarks {
		took, cpu := [2][]time.Duration{}, [2]float64{}
		for _, r := range pair {
			if err := k.prepare(r); err != nil {
				return err
			}
		}
		for i := range b.p.keys {
			for n := range pair {
				at := (i + n) % 2
				p, err := one.timed(pair[at], func(int) string { return k.keys(i) }, one.apart)
				if err != nil {
					return fmt.Errorf("%s: %w", k.name, err)
				}
				took[at] = append(took[at], p.took...)
				cpu[at] += p.cpu / float64(b.p.keys)
			}
		}
		for at, who := range []string{"in turn, ", "in turn, the other, "} {
			b.report(who+k.name+", p50", percentile(took[at], 50), "ms")
			b.report(who+k.name+", CPU a key", cpu[at], "ms")
		}
	}
	return nil
}
