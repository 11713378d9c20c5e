package receiver

import (
	"context"
	"time"
)

// Retry is an event that could not be merged into the index and is retried.
type Retry struct {
	Key    string
	Tries  int    // so far; 0: it does not wait
	Reason string // of the last try, a sentence
	First  time.Time
	Last   time.Time
	Next   time.Time // time of the next try
}

// Waiting reports whether the event waits to be merged again.
func (r Retry) Waiting() bool { return r.Tries > 0 }

// Backlog is how far the index is behind the inbox.
type Backlog struct {
	Behind  int64     // events not merged or tried yet; counted up to MaxBehind
	Waiting int64     // events to be merged again
	Oldest  time.Time // first try of the longest waiting one
	Next    time.Time // time of the next try
	Reason  string    // of the last failure
}

// MaxBehind is the limit of Backlog.Behind.
const MaxBehind = 10_000

// Ledger records how far an inbox was merged into an index, and what failed. Every event up to the mark is in the
// index or in the list of retries.
type Ledger interface {
	// Merged returns the mark: the Seq up to which events were merged or listed for retry.
	Merged(ctx context.Context) (int64, error)
	// Advance lists the failures and moves the mark to seq in one transaction. The mark never moves back; another
	// failure of a listed event is counted.
	Advance(ctx context.Context, seq int64, failed ...Retry) error
	// Settle removes a key from the list.
	Settle(ctx context.Context, key string) error
	// Due returns the events to retry at now, longest overdue first. A time on another host's clock counts as at most
	// MaxRetry ahead.
	Due(ctx context.Context, now time.Time, limit int) ([]Retry, error)
	// Backlog summarises the ledger.
	Backlog(ctx context.Context) (Backlog, error)
}

// The intervals between tries of one event double from the first to the last.
const (
	FirstRetry = 5 * time.Second
	MaxRetry   = time.Hour
)

// Again is r after another failed try at now.
func (r Retry) Again(key, reason string, now time.Time) Retry {
	if r.Tries == 0 {
		r = Retry{Key: key, First: now}
	}
	pause := FirstRetry
	for range min(r.Tries, 20) {
		pause = min(2*pause, MaxRetry)
	}
	r.Tries++
	r.Reason, r.Last, r.Next = reason, now, now.Add(pause)
	return r
}
