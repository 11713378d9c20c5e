package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"
)

// most are the marks of a console that waits, a second; below 0: told only.
type most struct{ bytes, wakeups, cpu float64 } // cpu in per cent of a core

// idle waits. where names keys that lead to a screen; args are of the program.
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
	return b.wait(r, name, m)
}

func (b *bench) wait(r *run, name string, m most) error {
	before, err := usage(r.cmd.Process.Pid)
	if err != nil {
		return err
	}
	wrote, end := r.bytes, time.Now().Add(b.p.idle)
	for {
		_, err := r.next(time.Until(end))
		if errors.Is(err, errLate) {
			break
		}
		if err != nil {
			return err
		}
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
			b.tell(name+": "+f.what, f.got, f.unit)
		} else {
			b.add(name+": "+f.what, f.most, f.got, f.unit)
		}
	}
	return nil
}

// still waits on the list while nothing counts down: no session lives.
func (b *bench) still(ctx context.Context) error {
	if err := b.w.command(ctx, "session", "reset", "--yes"); err != nil {
		return err
	}
	return b.idle(b.w, "idle on the list", "", most{0, 2, 0.01})
}

// counting waits on the limits screen with a session whose time runs.
func (b *bench) counting(ctx context.Context) error {
	if err := b.w.command(ctx, "session", "login", "--yes"); err != nil {
		return err
	}
	return b.idle(b.w, "idle on the limits, a session's time running", "5", most{20, -1, 0.05})
}

// living waits on the list of the living built-in service, in a state folder of its own:
// operations change and come meanwhile.
func (b *bench) living(ctx context.Context) error {
	w, err := newWorld(ctx, b.w.bin, filepath.Join(b.w.dir, "living", time.Now().UTC().Format("150405.000")), b.w.rows)
	if err != nil {
		return err
	}
	return b.idle(w, "idle on the list, the built-in service living", "", most{-1, -1, 1}, "--still=false")
}
