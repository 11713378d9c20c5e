package retention

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var errBusy = errors.New("others write")

// fake is a store with some rows of one kind; each step of it may meet others.
type fake struct {
	mu      sync.Mutex
	ahead   time.Duration // of the host's clock
	mine    bool
	rows    []time.Time // when they ended
	busy    int         // steps that meet others
	done    int
	compact int
	batches []int
}

func (f *fake) Now(context.Context) (time.Time, error) { return time.Now().Add(f.ahead), nil }
func (f *fake) Take(context.Context, time.Duration, time.Duration) (bool, error) {
	return f.mine, nil
}
func (f *fake) End(_ context.Context, done bool) error {
	if done {
		f.done++
	}
	return nil
}
func (f *fake) Compact(context.Context) (bool, error) { f.compact++; return f.compact%3 != 0, nil }
func (f *fake) Shorten(context.Context) error         { return nil }
func (f *fake) Busy(err error) bool                   { return errors.Is(err, errBusy) }

func (f *fake) drop(_ context.Context, before, _ time.Time, limit int) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy > 0 {
		f.busy--
		return 0, errBusy
	}
	n := 0
	for len(f.rows) > 0 && n < limit && f.rows[0].Before(before) {
		f.rows, n = f.rows[1:], n+1
	}
	f.batches = append(f.batches, n)
	return n, nil
}

func (f *fake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.batches)
}

func pruner(f *fake, keep time.Duration) *Pruner {
	return &Pruner{Store: f, Rows: []Rows{{Name: "rows", Keep: keep, Drop: f.drop}}, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
}

func old(n int, age time.Duration) []time.Time {
	return slices.Repeat([]time.Time{time.Now().Add(-age)}, n)
}

func TestPass(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		name string
		fake *fake // nil: no trouble
		rows int
		age  time.Duration
		keep time.Duration
		left int
		err  error
	}{
		{name: "old rows go in batches", keep: day, rows: 450, age: 2 * day, left: 0},
		{name: "young rows stay", keep: day, rows: 450, age: day / 2, left: 450},
		{name: "of that very age they stay", keep: day, rows: 5, age: day, left: 5},
		{name: "just older they go", keep: day, rows: 5, age: day + time.Microsecond, left: 0},
		{name: "for ever", keep: 0, rows: 450, age: 1000 * day, left: 450},
		{name: "the store's clock is ahead", keep: day, fake: &fake{ahead: 10 * day}, rows: 5, age: day / 2, left: 5},
		{name: "the host's clock is ahead", keep: day, fake: &fake{ahead: -10 * day}, rows: 5, age: 2 * day, left: 5},
		{name: "others write a while", keep: day, fake: &fake{busy: 50}, rows: 450, age: 2 * day, left: 0},
		{name: "others write all the time", keep: day, fake: &fake{busy: 1e6}, rows: 5, age: 2 * day, left: 5, err: errBusy},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := c.fake
				if f == nil {
					f = &fake{}
				}
				f.rows = old(c.rows, c.age)
				f.mine = true
				removed, err := pruner(f, c.keep).Pass(t.Context())
				if len(f.rows) != c.left || removed != c.rows-c.left || !errors.Is(err, c.err) {
					t.Errorf("%d are left, %d were removed, %v", len(f.rows), removed, err)
				}
				for _, n := range f.batches {
					if n > batch {
						t.Errorf("a batch of %d", n)
					}
				}
				if f.compact%3 != 0 {
					t.Errorf("it was compacted %d times", f.compact)
				}
			})
		})
	}
}

// TestTurn: only who gets the turn works, and a turn that was not finished is not counted as done.
func TestTurn(t *testing.T) {
	for _, c := range []struct {
		mine        bool
		busy        int
		left, ended int
	}{{false, 0, 5, 0}, {true, 0, 0, 1}, {true, 1e6, 5, 0}} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{mine: c.mine, busy: c.busy, rows: old(5, 48*time.Hour)}
			if _, err := pruner(f, 24*time.Hour).Turn(t.Context()); (err != nil) != (c.busy > 0) {
				t.Error(err)
			}
			if len(f.rows) != c.left || f.done != c.ended {
				t.Errorf("%+v: %d rows are left, %d turns were done", c, len(f.rows), f.done)
			}
		})
	}
}

// TestRun: a program that just starts has the store for itself, and the end of the program ends the work at once.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := &fake{mine: true, rows: old(5000, 48*time.Hour)}
		ended := make(chan struct{})
		go func() { defer close(ended); pruner(f, 24*time.Hour).Run(ctx) }()
		time.Sleep(look - time.Second)
		synctest.Wait()
		if f.count() != 0 {
			t.Error("it began at once")
		}
		time.Sleep(look + time.Second + 30*time.Millisecond)
		synctest.Wait()
		if f.count() == 0 {
			t.Error("it did not begin")
		}
		cancel()
		<-ended
	})
}
