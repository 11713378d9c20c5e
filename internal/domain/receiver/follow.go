package receiver

import (
	"context"
	"time"
)

// followPage is how many events one Next returns at most.
const followPage = 100

// Follower reads the inbox in order, events of other processes included. It is
// for one goroutine; a screen runs one Next at a time as a command.
type Follower struct {
	inbox Inbox
	seq   int64
	every time.Duration
	wake  <-chan struct{}
}

// Follow starts behind seq (0: from the first event; LastSeq: only new ones)
// and reads at least once in every. wake may be the channel of a Notify, which
// saves the wait when the receiver is in this process, or nil.
func Follow(inbox Inbox, seq int64, every time.Duration, wake <-chan struct{}) *Follower {
	return &Follower{inbox: inbox, seq: seq, every: every, wake: wake}
}

// Each gives what is chosen of all that comes to fn, in order, until ctx ends, and
// returns nil then; an error of the inbox or of fn ends it too.
func (f *Follower) Each(ctx context.Context, choose func(Stored) bool, fn func(Stored) error) error {
	for {
		events, err := f.Next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		for _, s := range events {
			if !choose(s) {
				continue
			}
			if err := fn(s); err != nil {
				return err
			}
		}
	}
}

// Next waits for events and returns them, oldest first, at least one. An error
// of the inbox leaves the place: call it again later.
func (f *Follower) Next(ctx context.Context) ([]Stored, error) {
	for {
		events, err := f.inbox.After(ctx, f.seq, followPage)
		if err != nil {
			return nil, err
		}
		if n := len(events); n > 0 {
			f.seq = events[n-1].Seq
			return events, nil
		}
		waitFor(ctx, f.every, f.wake)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}
