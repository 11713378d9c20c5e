package receiver

import (
	"context"
	"time"
)

// followPage bounds the events of one Next.
const followPage = 100

// Follower reads the inbox in order, including events of other processes. It is not safe for concurrent use; a screen
// runs one Next at a time as a command.
type Follower struct {
	inbox Inbox
	seq   int64
	every time.Duration
	wake  <-chan struct{}
}

// Follow starts after seq (0: from the first event; LastSeq: only new ones) and polls at least once in every. wake
// may be the channel of a Notify, which avoids the wait if the receiver is in this process, or nil.
func Follow(inbox Inbox, seq int64, every time.Duration, wake <-chan struct{}) *Follower {
	return &Follower{inbox: inbox, seq: seq, every: every, wake: wake}
}

// Each passes the events that choose accepts to fn, in order, until ctx ends, and then returns nil; it also ends with
// an error of the inbox or of fn.
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

// Next waits for events and returns at least one, oldest first. After an error of the inbox the position is
// unchanged, so it can be called again.
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
