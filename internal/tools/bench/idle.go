package main

import (
	"context"
	"errors"
	"time"
)

// idle waits. where names keys that lead to a screen; bytes is the mark for what
// is written, a second.
func (b *bench) idle(name, where string, bytes float64) error {
	r, err := b.open()
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
	return b.wait(r, name, bytes)
}

func (b *bench) wait(r *run, name string, bytes float64) error {
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
	cpu := 0.01
	if bytes > 0 {
		cpu = 0.05
	}
	b.add(name+": bytes a second", bytes, float64(r.bytes-wrote)/s, "bytes")
	if bytes == 0 {
		b.add(name+": wake-ups a second", 2, float64(after.wakeups-before.wakeups)/s, "")
	} else {
		b.tell(name+": wake-ups a second", float64(after.wakeups-before.wakeups)/s, "")
	}
	b.add(name+": CPU", cpu, 100*(after.cpu-before.cpu).Seconds()/s, "%")
	return nil
}

// still waits on the list while nothing counts down: no session lives.
func (b *bench) still(ctx context.Context) error {
	if err := b.w.command(ctx, "session", "reset", "--yes"); err != nil {
		return err
	}
	return b.idle("idle on the list", "", 0)
}

// counting waits on the limits screen with a session whose time runs.
func (b *bench) counting(ctx context.Context) error {
	if err := b.w.command(ctx, "session", "login", "--yes"); err != nil {
		return err
	}
	return b.idle("idle on the limits, a session's time running", "5", 20)
}
