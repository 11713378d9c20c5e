package storetest

import (
	"context"
	"sync/atomic"
	"time"

	"opdeck/internal/store"
)

// Shift is how far a test has moved the clock of several handles.
type Shift struct{ atomic.Int64 }

// Add moves the clock.
func (s *Shift) Add(d time.Duration) { s.Int64.Add(int64(d)) }

// Clock is db's clock as shift moves it, on a run of the machine called boot (""
// for the real one).
func (s *Shift) Clock(db *store.DB, boot string) store.Clock {
	if boot == "" {
		boot = db.Clock().Boot()
	}
	return shifted{db.Clock(), s, boot}
}

type shifted struct {
	store.Clock
	shift *Shift
	boot  string
}

func (c shifted) by() time.Duration { return time.Duration(c.shift.Load()) }

func (c shifted) Time(ctx context.Context, q store.Querier) (time.Duration, error) {
	at, err := c.Clock.Time(ctx, q)
	return at + c.by(), err
}

func (c shifted) Settle(us int64) time.Duration { return c.Clock.Settle(us) + c.by() }

// Wall of PostgreSQL is made of the shifted time already.
func (c shifted) Wall(now time.Duration) time.Time {
	at := c.Clock.Wall(now)
	if c.Clock.Boot() != "" {
		at = at.Add(c.by())
	}
	return at
}

func (c shifted) Boot() string { return c.boot }
