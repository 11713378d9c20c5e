package audit

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// clockSlack is how far clocks of hosts that share a log may be apart before a
// record says that the clock went back.
const clockSlack = 2 * time.Second

// append stores r at the end of the chain. When the store reports an error the
// record is looked for: a commit whose answer got lost did happen.
func (l *Log) append(ctx context.Context, r *Record) error {
	err := l.opt.Store.Append(ctx, func(h Head) ([]Row, error) {
		var rows []Row
		if back := h.At.Sub(r.At); back > clockSlack {
			step, err := l.clockStep(r, back).row(h)
			if err != nil {
				return nil, err
			}
			rows = append(rows, step)
			h = step.head(h.Chain)
		}
		row, err := r.row(h)
		return append(rows, row), err
	})
	if err != nil && !l.stored(ctx, r) {
		return l.trouble(err)
	}
	l.fine()
	l.mu.Lock()
	if l.since++; l.since == 1 {
		l.first = l.opt.Now()
	}
	due := l.since >= l.opt.Every || l.since == 1 // the first starts Run's timer
	l.mu.Unlock()
	if due {
		l.rouse()
	}
	return nil
}

// clockStep is the record that goes before one whose clock went back.
func (l *Log) clockStep(r *Record, back time.Duration) *Record {
	return &Record{UID: l.newID(), At: r.At, Mono: r.Mono, Boot: r.Boot, Event: EventClock, Phase: PhaseNote,
		Code: code(EventClock, PhaseNote, ""), Context: r.Context, Build: r.Build,
		Detail: fmt.Sprintf("the clock is %s behind the record before", back.Round(time.Millisecond))}
}

func (r Row) head(chain string) Head { return Head{Chain: chain, N: r.Seq, Hash: r.Hash, At: r.At} }

// stored reports whether r is in the store after all.
func (l *Log) stored(ctx context.Context, r *Record) bool {
	if r.Seq == 0 {
		return false // it never got a place in the chain
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	row, err := l.opt.Store.Get(ctx, r.UID)
	if err != nil {
		return false
	}
	b, err := r.encode()
	return err == nil && bytes.Equal(b, row.Bytes)
}

// Flush stores the records that wait, in their order.
func (l *Log) Flush(ctx context.Context) error {
	if l.Health().Waiting == 0 {
		return nil
	}
	l.flushing.Lock()
	defer l.flushing.Unlock()
	for {
		l.mu.Lock()
		if len(l.pending) == 0 {
			l.mu.Unlock()
			return nil
		}
		r := l.pending[0]
		l.mu.Unlock()
		if !l.stored(ctx, r) {
			if err := l.append(ctx, r); err != nil {
				l.rouse()
				return err
			}
		}
		l.mu.Lock()
		l.pending = l.pending[1:]
		delete(l.flights, r.Ref)
		l.mu.Unlock()
	}
}
