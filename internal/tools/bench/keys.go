package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Keys as a terminal sends them.
const (
	keyDown = "\x1b[B"
	keyUp   = "\x1b[A"
	keyPage = "\x1b[6~"
	keyHome = "\x1b[H"
	keyEnd  = "\x1b[F"
	keyEsc  = "\x1b"
)

// terminalBuffer is how many bytes a terminal takes at once on Linux; the rest of a frame waits for its reader.
const terminalBuffer = 4095

// keyMark is a key with a limit.
type keyMark struct {
	name  string
	bytes float64
	keys  func(i int) string
	ready string // keys before
}

var keyMarks = []keyMark{
	{"cursor down", 350, func(i int) string { return []string{keyDown, keyDown, keyDown, keyUp, keyUp, keyUp}[i%6] },
		keyHome},
	{"scroll by a line", 400, func(int) string { return keyDown }, keyHome + strings.Repeat(keyDown, lines)},
	{"page", terminalBuffer, func(int) string { return keyPage }, keyHome},
}

// prepare opens the place where the key is measured.
func (k keyMark) prepare(r *run) error {
	if _, err := r.key(k.ready); err != nil {
		return err
	}
	_, err := r.quiet(500 * time.Millisecond)
	return err
}

// keys measures one key at a time.
func (b *bench) keys() error {
	r, err := b.open()
	if err != nil {
		return err
	}
	defer r.stop()
	for _, k := range keyMarks {
		if err := k.prepare(r); err != nil {
			return err
		}
		if err := b.presses(r, k.name, k.bytes, k.keys); err != nil {
			return err
		}
	}
	u, err := usage(r.cmd.Process.Pid)
	if err != nil {
		return err
	}
	mark := 60.0
	if b.w.rows > 100_000 {
		mark = 150
	}
	b.add("peak memory", mark, float64(u.peak)/1e6, "MB")
	return b.quick(r)
}

// quick presses keys faster than a person can: neither cores nor caches sleep in between.
func (b *bench) quick(r *run) error {
	for _, k := range keyMarks {
		if err := k.prepare(r); err != nil {
			return err
		}
		p, err := b.timed(r, k.keys, func() time.Duration { return 3 * time.Millisecond })
		if err != nil {
			return err
		}
		b.report(k.name+", keys 3 ms apart, p50", percentile(p.took, 50), "ms")
		b.report(k.name+", keys 3 ms apart, CPU a key", p.cpu, "ms")
	}
	return nil
}

// presses presses a key at irregular times.
func (b *bench) presses(r *run, name string, maxBytes float64, keys func(int) string) error {
	p, err := b.timed(r, keys, b.apart)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	b.add("key to changed screen, "+name+", p50", 0.5, percentile(p.took, 50), "ms")
	b.add("key to changed screen, "+name+", p99", 2, percentile(p.took, 99), "ms")
	b.add("bytes, "+name, maxBytes, middle(p.wrote), "bytes")
	b.report("bytes, "+name+", most", float64(slices.Max(p.wrote)), "bytes")
	b.add("CPU a key, "+name, 0.5, p.cpu, "ms")
	return nil
}

// pressed is the cost of keys.
type pressed struct {
	took  []time.Duration
	wrote []int
	cpu   float64 // milliseconds a key
}

// apart is an irregular pause between two keys.
func (b *bench) apart() time.Duration { return time.Duration(8+b.rnd.IntN(17)) * time.Millisecond }

// timed presses keys with the pauses of gap.
func (b *bench) timed(r *run, keys func(int) string, gap func() time.Duration) (p pressed, err error) {
	before, err := usage(r.cmd.Process.Pid)
	if err != nil {
		return p, err
	}
	for i := range b.p.keys {
		at := r.bytes
		d, err := r.press(keys(i), 2*time.Second)
		if err != nil {
			return p, fmt.Errorf("key %d: %w", i, err)
		}
		p.took = append(p.took, d)
		if _, err := r.quiet(gap()); err != nil {
			return p, err
		}
		p.wrote = append(p.wrote, r.bytes-at)
	}
	after, err := usage(r.cmd.Process.Pid)
	p.cpu = ms(after.cpu-before.cpu) / float64(b.p.keys)
	return p, err
}
