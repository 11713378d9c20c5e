package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// hello is the package of the program that only opens the store.
const hello = "opdeck/internal/tools/bench/hello"

// start measures starts of the console, in turns with a program that only opens the same store.
func (b *bench) start(ctx context.Context) error {
	other := *b.w
	var err error
	if other.bin, err = build(ctx, b.w.dir, hello); err != nil {
		return err
	}
	var first, ready, cpu, opened []time.Duration
	for range b.p.starts {
		f, r, c, err := b.startOnce()
		if err != nil {
			return err
		}
		first, ready, cpu = append(first, f), append(ready, r), append(cpu, c)
		run, err := start(&other)
		if err != nil {
			return err
		}
		at, err := run.shows("hello", 10*time.Second)
		opened = append(opened, at.Sub(run.began))
		run.stop()
		if err != nil {
			return err
		}
	}
	b.add("exec to first paint, p50", 12, percentile(first, 50), "ms")
	b.report("exec to first paint, slowest", percentile(first, 100), "ms")
	b.add("exec to the list with data, p50", 20, percentile(ready, 50), "ms")
	b.report("exec to the list with data, slowest", percentile(ready, 100), "ms")
	b.report("CPU of a start", percentile(cpu, 50), "ms")
	b.report("a program that only opens the same store: exec to its first line, p50", percentile(opened, 50), "ms")
	return nil
}

// startOnce starts the console once.
func (b *bench) startOnce() (first, ready, cpu time.Duration, err error) {
	r, err := start(b.w)
	if err != nil {
		return 0, 0, 0, err
	}
	defer r.stop()
	at, err := r.until(10*time.Second, func() bool { return strings.TrimSpace(r.text()) != "" })
	if err != nil {
		return 0, 0, 0, err
	}
	first = at.Sub(r.began)
	if at, err = r.shows(b.newest(), 10*time.Second); err != nil {
		return 0, 0, 0, err
	}
	ready = at.Sub(r.began)
	if _, err = r.quiet(300 * time.Millisecond); err != nil {
		return 0, 0, 0, err
	}
	u, err := usage(r.cmd.Process.Pid)
	return first, ready, u.cpu, err
}

// commands measures a command from its start to its end, in turns with one that opens nothing. The built-in service
// answers in the process, and what it answers goes into an index of its own.
func (b *bench) commands(ctx context.Context) error {
	dir := filepath.Join(b.w.dir, "commands", time.Now().UTC().Format("150405.000"))
	w, err := newWorld(ctx, b.w.bin, dir, min(b.w.rows, 20_000))
	if err != nil {
		return err
	}
	out, err := w.command(ctx, "operation", "list", "--live", "--limit", "1", "-o", "json")
	if err != nil {
		return err
	}
	var list struct {
		Items []struct{ OPID string }
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return fmt.Errorf("operation list printed %.200q: %w", out, err)
	}
	if len(list.Items) == 0 {
		return errors.New("operation list printed no operation")
	}
	get := []string{"operation", "get", list.Items[0].OPID}
	took := map[string][]time.Duration{}
	for range min(b.p.starts, 10) { // twelve billing calls a minute
		for _, args := range [][]string{get, {"version"}} {
			began := time.Now()
			if _, err := w.command(ctx, args...); err != nil {
				return err
			}
			took[args[0]] = append(took[args[0]], time.Since(began))
		}
	}
	b.add("operation get, exec to its end, p50", 30, percentile(slices.Clone(took["operation"]), 50), "ms")
	b.report("version, exec to its end, p50", percentile(took["version"], 50), "ms")
	return nil
}
