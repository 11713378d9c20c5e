package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"
)

// most are the limits of an idle console, a second; below 0: reported only.
type most struct {
	bytes, wakeups, cpu float64       // cpu in per cent of a core
	after               time.Duration // run time before the measurement
}

// settles is how long after a start the console reads once more what its own start has written.
const settles = 6 * time.Second

// idle measures an idle console. where are keys that open a screen; args are the program's.
func (b *bench) idle(w *world, name, where string, m most, args ...string) error {
	r, err := b.openOn(w, args...)
	if err != nil {
		return err
	}
	defer r.stop()
	if _, err := r.key(where); err != nil {
		return err
	}
	if _, err := r.quiet(3 * time.Second); err != nil { // what a start leaves behind
		return err
	}
	if err := r.runs(m.after); err != nil {
		return err
	}
	return b.wait(r, name, m)
}

func (b *bench) wait(r *run, name string, m most) error {
	before, err := usage(r.cmd.Process.Pid)
	if err != nil {
		return err
	}
	wrote := r.bytes
	if err := r.runs(b.p.idle); err != nil {
		return err
	}
	after, err := usage(r.cmd.Process.Pid)
	if err != nil {
		return err
	}
	s := b.p.idle.Seconds()
	for _, f := range []struct {
		what, unit string
		most, got  float64
	}{
		{"bytes a second", "bytes", m.bytes, float64(r.bytes-wrote) / s},
		{"wake-ups a second", "", m.wakeups, float64(after.wakeups-before.wakeups) / s},
		{"CPU", "%", m.cpu, 100 * (after.cpu - before.cpu).Seconds() / s},
	} {
		if f.most < 0 {
			b.report(name+": "+f.what, f.got, f.unit)
		} else {
			b.add(name+": "+f.what, f.most, f.got, f.unit)
		}
	}
	return nil
}

// runs reads the program's output for a time.
func (r *run) runs(d time.Duration) error {
	for end := time.Now().Add(d); ; {
		_, err := r.next(time.Until(end))
		switch {
		case errors.Is(err, errLate):
			return nil
		case err != nil:
			return err
		}
	}
}

// still measures the list while nothing counts down: there is no session.
func (b *bench) still(ctx context.Context) error {
	if _, err := b.w.command(ctx, "session", "reset", "--yes"); err != nil {
		return err
	}
	return b.idle(b.w, "idle on the list", "", most{bytes: 0, wakeups: 2, cpu: 0.01, after: settles})
}

// counting measures the limits screen with a session that counts down.
func (b *bench) counting(ctx context.Context) error {
	if _, err := b.w.command(ctx, "session", "login", "--yes"); err != nil {
		return err
	}
	return b.idle(b.w, "idle on the limits, a session's time running", "5",
		most{bytes: 20, wakeups: -1, cpu: 0.05, after: settles})
}

// living measures the list of the living built-in service, with its own state folder: operations change and appear
// meanwhile. First the index reads what the service has.
func (b *bench) living(ctx context.Context) error {
	w, err := newWorld(ctx, b.w.bin, filepath.Join(b.w.dir, "living", time.Now().UTC().Format("150405.000")), b.w.rows)
	if err != nil {
		return err
	}
	return b.idle(w, "idle on the list, the built-in service living", "",
		most{bytes: -1, wakeups: -1, cpu: 1, after: b.p.idle}, "--still=false")
}
