package audit

import (
	"context"
	"errors"
	"time"

	"opdeck/api"
)

// retry is the pause before Run retries to store a record.
const retry = 5 * time.Second

// Start records that this process starts writing the trail for who; Close then records the end. Short commands need
// neither.
func (l *Log) Start(ctx context.Context, who api.Actor) error {
	if l.opt.Unrecorded != nil {
		return l.opt.Unrecorded
	}
	l.mu.Lock()
	l.started = &who
	l.mu.Unlock()
	return l.Note(ctx, who, api.Event{Name: EventStart, Object: "audit", Detail: "process " + l.boot})
}

// Run does background work until ctx ends: it stores waiting outcomes and counts of refused attempts, and signs
// checkpoints, also of other processes' records. It compares the trail with its newest checkpoint at the start and
// every Interval; it sleeps while nothing is due.
func (l *Log) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait, some := l.nextWork()
		if some {
			timer.Reset(wait)
		} else {
			timer.Stop()
		}
		select {
		case <-ctx.Done():
			return
		case <-l.notified:
		case <-timer.C:
			l.work(ctx)
		}
	}
}

// nextWork reports whether work is planned, and in how long.
func (l *Log) nextWork() (wait time.Duration, some bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.opt.Now()
	soonest := func(d time.Duration) {
		if d = max(d, 0); !some || d < wait {
			wait, some = d, true
		}
	}
	if len(l.pending) > 0 {
		soonest(retry)
	}
	for _, b := range l.windows {
		if b.count > 0 {
			soonest(b.began.Add(floodWindow).Sub(now))
		}
	}
	if l.signs() {
		soonest(l.compared.Add(l.opt.Interval).Sub(now))
		if l.Signer.full() {
			soonest(0)
		}
	}
	return wait, some
}

// work does what is due.
func (l *Log) work(ctx context.Context) {
	l.mu.Lock()
	l.pending = append(l.pending, l.closeWindows(false)...)
	now := l.opt.Now()
	due := l.signs() && (l.Signer.full() || now.Sub(l.compared) >= l.opt.Interval)
	if due {
		l.compared = now
	}
	l.mu.Unlock()
	_ = l.Flush(ctx) // reported by Health and Alarm
	if due {
		_ = l.Signer.Checkpoint(ctx)
	}
}

// Close stores waiting records, records the end if Start was called, and signs the end of the trail, even if other
// processes wrote it. The Log must not be used afterwards. The error says what could not be stored: those acts stay
// open.
func (l *Log) Close(ctx context.Context) error {
	l.mu.Lock()
	l.pending = append(l.pending, l.closeWindows(true)...)
	who, wrote := l.started, l.Signer.used()
	l.mu.Unlock()
	err := l.Flush(ctx)
	if who != nil {
		err = errors.Join(err, l.Note(ctx, *who, api.Event{Name: EventStop, Object: "audit", Detail: "process " + l.boot}))
	}
	if signed := l.Signer.Checkpoint(ctx); wrote || who != nil {
		err = errors.Join(err, signed) // else reported by Health and Alarm
	}
	l.mu.Lock()
	release, behind := l.release, len(l.unfinished) > 0
	l.release = nil
	l.mu.Unlock()
	if release != nil {
		release(behind)
	}
	return err
}
