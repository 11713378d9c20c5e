// Package retention removes from the store what has ended and is older than configured: in one process at a time, a
// few rows at a time, and only while no one else writes.
package retention

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"
)

// Rows is one kind of rows with a retention.
type Rows struct {
	Name string        // for the log
	Keep time.Duration // after they ended; 0: for ever
	// Drop removes up to limit rows that ended before a time, and returns how many. It keeps rows that something
	// unfinished still needs.
	Drop func(ctx context.Context, before, now time.Time, limit int) (n int, err error)
}

// Store is what the Pruner needs of the store beside its rows.
type Store interface {
	// Now is the store's clock.
	Now(ctx context.Context) (time.Time, error)
	// Take gives this process the turn unless another one has it or a turn ended less than every ago. It lasts for
	// lease; another Take renews it.
	Take(ctx context.Context, every, lease time.Duration) (bool, error)
	// End ends the turn; done: nothing is left to do.
	End(ctx context.Context, done bool) error
	// Compact returns free pages to the disk, a few at a time; more: some are left.
	Compact(ctx context.Context) (more bool, err error)
	// Shorten truncates a large log, unless it is in use.
	Shorten(ctx context.Context) error
	// Busy reports whether err only means that others are writing.
	Busy(err error) bool
}

// How the work is divided. A turn that was not renewed for lease is over.
const (
	batch = 200 // rows
	every = time.Hour
	lease = 2 * time.Minute
	look  = time.Minute // between checks of logs and turns
	tries = 200         // while others write, before the next turn
)

// Pruner removes what is too old.
type Pruner struct {
	Store Store
	Rows  []Rows
	Now   func() time.Time // the host's clock
	Log   *slog.Logger
	// Pause waits between two steps; nil: a little more than four times the duration of the step.
	Pause func(ctx context.Context, took time.Duration)
}

// Run works in the background until ctx ends. It starts after a minute or two, so that a starting program has the
// store for itself.
func (p *Pruner) Run(ctx context.Context) {
	timer := time.NewTimer(look + rand.N(look))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		err := p.Store.Shorten(ctx)
		if err == nil {
			_, err = p.Turn(ctx)
		}
		if err != nil && ctx.Err() == nil && !p.Store.Busy(err) {
			p.Log.Warn("retention", "err", err)
		}
		timer.Reset(look)
	}
}

// Turn does what is due if this process gets the turn, and returns the number of removed rows.
func (p *Pruner) Turn(ctx context.Context) (removed int, err error) {
	if mine, err := p.Store.Take(ctx, every, lease); err != nil || !mine {
		return 0, err
	}
	removed, err = p.Pass(ctx)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if removed > 0 {
		p.Log.Info("retention", "removed", removed)
	}
	return removed, errors.Join(err, p.Store.End(end, err == nil))
}

// Pass does what is due now, regardless of turns.
func (p *Pruner) Pass(ctx context.Context) (removed int, err error) {
	now, err := p.now(ctx)
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, r := range p.Rows {
		if r.Keep <= 0 {
			continue
		}
		n, err := p.drop(ctx, r, now)
		if removed += n; err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.Name, err))
		}
	}
	errs = append(errs, p.repeat(ctx, func() (bool, error) { return p.Store.Compact(ctx) }), p.Store.Shorten(ctx))
	return removed, errors.Join(errs...)
}

// now is the earlier of the store's and the host's clocks, so that one that is ahead removes nothing.
func (p *Pruner) now(ctx context.Context) (time.Time, error) {
	now, err := p.Store.Now(ctx)
	if host := p.Now(); host.Before(now) {
		now = host
	}
	return now, err
}

// drop removes all rows of one kind that are too old.
func (p *Pruner) drop(ctx context.Context, r Rows, now time.Time) (removed int, err error) {
	err = p.repeat(ctx, func() (bool, error) {
		n, err := r.Drop(ctx, now.Add(-r.Keep), now, batch)
		removed += n
		return n == batch, err
	})
	return removed, err
}

// repeat repeats a step until nothing is left or others keep writing.
func (p *Pruner) repeat(ctx context.Context, step func() (more bool, err error)) error {
	busy := 0
	for prolonged := time.Now(); ; {
		began := time.Now()
		more, err := step()
		switch {
		case err != nil && p.Store.Busy(err) && busy < tries:
			busy++
		case err != nil || !more:
			return err
		default:
			busy = 0
		}
		if err := p.pause(ctx, time.Since(began)); err != nil {
			return err
		}
		if time.Since(prolonged) > lease/4 {
			prolonged = time.Now()
			if mine, err := p.Store.Take(ctx, every, lease); err != nil || !mine {
				return errors.Join(err, errOther)
			}
		}
	}
}

var errOther = errors.New("another process has taken over")

func (p *Pruner) pause(ctx context.Context, took time.Duration) error {
	if p.Pause != nil {
		p.Pause(ctx, took)
		return ctx.Err()
	}
	t := time.NewTimer(4*took + 10*time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
