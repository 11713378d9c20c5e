package receiver

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"opdeck/api/untrusted"
	"opdeck/internal/system/listen"
)

const (
	mergePage  = 100             // events read together
	mergeDue   = 50              // retries per step
	firstPause = 2 * time.Second // after an error of the store; doubles
	lastPause  = time.Minute     // the longest pause
	maxReason  = 300             // characters kept of an error
)

// Merger merges the events of an inbox into an index, in order of arrival. An event that fails goes to the list of
// retries and does not block others. No event is skipped: if that fails too, the mark stays, and the same events are
// merged again later, which is idempotent.
type Merger struct {
	Inbox  Inbox
	Ledger Ledger
	// Take merges one event. It must be idempotent.
	Take func(ctx context.Context, s Stored) error
	// Passed is called once per process for each event that the mark passed; may be nil.
	Passed func(ctx context.Context, s Stored)
	Now    func() time.Time
	Log    *slog.Logger

	passed int64 // Seq of the last event passed to Passed
	lines  listen.LogLimit
}

// Run merges until ctx ends: when wake signals an event of this process's receiver (nil: there is none), and at least
// once in every. Errors of the store only delay it.
func (m *Merger) Run(ctx context.Context, wake <-chan struct{}, every time.Duration) {
	backOff := time.Duration(0)
	for ctx.Err() == nil {
		idle, err := m.Step(ctx)
		pause := every
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			backOff = min(max(2*backOff, firstPause), lastPause)
			pause = backOff
			if n, ok := m.lines.Allow(err.Error(), "", m.Now()); ok {
				m.Log.Warn("events cannot be merged now", "err", err, "held_back", n)
			}
		case idle == 0:
			backOff = 0
			continue
		default:
			backOff, pause = 0, min(every, idle)
		}
		waitFor(ctx, pause, wake)
	}
}

// waitFor waits for d, for ctx or for wake.
func waitFor(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-wake:
	case <-t.C:
	case <-ctx.Done():
	}
}

// Step merges a page of new events and retries what is due. It returns how long nothing is due, 0 if there is more.
func (m *Merger) Step(ctx context.Context) (idle time.Duration, err error) {
	n, err := m.mergeNew(ctx)
	if err != nil || n == mergePage {
		return 0, err
	}
	if n, err = m.retryDue(ctx); err != nil || n == mergeDue {
		return 0, err
	}
	b, err := m.Ledger.Backlog(ctx)
	if err != nil || b.Waiting == 0 {
		return MaxRetry, err
	}
	return min(max(b.Next.Sub(m.Now()), time.Second), MaxRetry), nil
}

// mergeNew merges the events after the mark.
func (m *Merger) mergeNew(ctx context.Context) (int, error) {
	mark, err := m.Ledger.Merged(ctx)
	if err != nil {
		return 0, err
	}
	events, err := m.Inbox.After(ctx, mark, mergePage)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	done := 0 // events passed by the mark
	for i, s := range events {
		failed := m.Take(ctx, s)
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		switch {
		case failed != nil:
			err = m.Ledger.Advance(ctx, s.Seq, Retry{}.Again(s.Key, why(failed), m.Now()))
			m.Log.Warn("event not merged; it is tried again", "key", s.Key, "err", failed)
		case i == len(events)-1:
			err = m.Ledger.Advance(ctx, s.Seq)
		default:
			continue
		}
		if err != nil {
			return 0, err
		}
		for ; done <= i; done++ {
			m.notify(ctx, events[done])
		}
	}
	return len(events), nil
}

func (m *Merger) notify(ctx context.Context, s Stored) {
	if s.Seq > m.passed && m.Passed != nil {
		m.Passed(ctx, s)
	}
	m.passed = max(m.passed, s.Seq)
}

// retryDue merges again the events whose retry is due.
func (m *Merger) retryDue(ctx context.Context) (int, error) {
	list, err := m.Ledger.Due(ctx, m.Now(), mergeDue)
	if err != nil {
		return 0, err
	}
	for _, r := range list {
		s, err := m.Inbox.Get(ctx, r.Key)
		if err == nil {
			err = m.Take(ctx, s)
		}
		switch {
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case err == nil, errors.Is(err, ErrNotFound):
			err = m.Ledger.Settle(ctx, r.Key)
		default:
			err = m.Ledger.Advance(ctx, 0, r.Again(r.Key, why(err), m.Now()))
		}
		if err != nil {
			return 0, err
		}
	}
	return len(list), nil
}

// why is an error for storage and display.
func why(err error) string {
	return untrusted.Text(strings.TrimSpace(err.Error())).Line(maxReason)
}

// Merge merges one event now for a waiting caller: a failure is listed for retry, as in Run, and returned.
func (m *Merger) Merge(ctx context.Context, s Stored) error {
	err := m.Take(ctx, s)
	if err == nil {
		if s.Retry.Waiting() {
			return m.Ledger.Settle(ctx, s.Key)
		}
		return nil
	}
	return errors.Join(err, m.Ledger.Advance(ctx, 0, s.Retry.Again(s.Key, why(err), m.Now())))
}
