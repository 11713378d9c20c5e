package index

import (
	"context"
	"time"
)

// clock converts between this host's time and the store's, which may differ.
type clock struct {
	store Store
	now   func() time.Time // this host's
	// ahead is how far this host's clock is ahead of the store's, if fixed for several queries; nil: read for each.
	ahead *time.Duration
}

// apart is the difference below which two clocks count as equal.
const apart = 2 * time.Second

// shift is added to a store time for this host's time.
func (c clock) shift(ctx context.Context) (time.Duration, error) {
	if c.ahead != nil {
		return *c.ahead, nil
	}
	at, err := c.store.Now(ctx)
	ahead := c.now().Round(0).Sub(at)
	if max(ahead, -ahead) < apart {
		ahead = 0
	}
	return ahead, err
}

// StoreTime converts this host's time to the store's.
func (c clock) StoreTime(ctx context.Context, here time.Time) (time.Time, error) {
	if here.IsZero() {
		return here, nil
	}
	at, err := c.store.Now(ctx)
	return at.Add(-max(c.now().Sub(here), 0)), err
}

// Here converts a store time to this host's, never ahead of now.
func (c clock) Here(ctx context.Context, at time.Time) time.Time {
	by, err := c.shift(ctx)
	if err != nil {
		return at
	}
	return c.local(at, by)
}

func (c clock) local(at time.Time, by time.Duration) time.Time {
	if at.IsZero() {
		return at
	}
	if at, now := at.Add(by), c.now(); at.Before(now) {
		return at
	}
	return c.now().Round(0).UTC()
}
