package receiver

import (
	"context"
	"time"
)

// Retry is one event that could not be merged into the index and is tried again.
type Retry struct {
	Key    string
	Tries  int    // so far; 0: the event does not wait
	Reason string // of the last try, a sentence
	First  time.Time
	Last   time.Time
	Next   time.Time // when it is tried again
}

// Waiting reports whether the event waits to be merged again.
func (r Retry) Waiting() bool { return r.Tries > 0 }

// Backlog is how far the index is behind the inbox.
type Backlog struct {
	Behind  int64     // events that were not looked at yet; counted up to MaxBehind
	Waiting int64     // events that could not be merged and are tried again
	Oldest  time.Time // first try of the one that waits longest
	Next    time.Time // when one is tried again
	Reason  string    // why the last try of one failed
}

// MaxBehind is as far as Backlog counts.
const MaxBehind = 10_000

// Ledger keeps how far an inbox was merged into an index, and what could not be.
// Every event up to the mark is in the index or in the list of retries.
type Ledger interface {
	// Merged returns the mark: the Seq up to which events were merged or listed.
	Merged(ctx context.Context) (int64, error)
	// Advance lists the failures and moves the mark to seq, both or neither. The
	// mark never moves back; a failure that is listed already is counted again.
	Advance(ctx context.Context, seq int64, failed ...Retry) error
	// Settle takes a key off the list.
	Settle(ctx context.Context, key string) error
	// Due returns what is to be tried at now, the longest due first. A time of
	// another host's clock counts for no more than MaxRetry ahead.
	Due(ctx context.Context, now time.Time, limit int) ([]Retry, error)
	// Backlog sums up.
	Backlog(ctx context.Context) (Backlog, error)
}

// The pauses between the tries of one event: they double from the first to the
// last.
const (
	FirstRetry = 5 * time.Second
	MaxRetry   = time.Hour
)

// Again is r after one more failed try at now.
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
