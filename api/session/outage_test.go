package session

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"opdeck/api/limit"
)

// TestKilledHolder kills a holder at each point; the next call of another
// process pays no more than the protocol's table says.
func TestKilledHolder(t *testing.T) {
	for _, live := range []bool{false, true} {
		for point, want := range map[string]struct {
			extraLogins, refreshes int
			stall                  time.Duration
		}{
			"held": {0, 1, 5 * time.Second}, "marked": {1, 0, 15 * time.Second}, "answered": {1, 1, 15 * time.Second},
			"installed": {0, 1, 0},
		} {
			t.Run(fmt.Sprintf("%s/lock=%v", point, live), func(t *testing.T) {
				inWorld(t, func(w *world) {
					shared := &sharedWorld{holds: map[string]int{}}
					mk := func(n int) *Manager {
						return w.manager(func(c *Config) {
							if live {
								c.Liveness = simLiveness{shared, n}
							}
						})
					}
					victim, other := mk(1), mk(2)
					w.good(other)
					time.Sleep(271 * time.Second)
					ctx, kill := context.WithCancel(context.Background())
					victim.crash = func(at string) {
						if at == point {
							kill()
							shared.free(1)
							runtime.Goexit()
						}
					}
					_ = victim.Do(ctx, Route{Class: limit.General}, w.svc.send(limit.General, lockedRand(1, 1)))
					start := time.Now()
					w.good(other)
					stall := time.Since(start)
					if live {
						want.stall = min(want.stall, 200*time.Millisecond)
					}
					if stall > want.stall+500*time.Millisecond {
						t.Errorf("the next call took %s, want about %s", stall, want.stall)
					}
					w.counts(1+want.extraLogins, want.refreshes)
				})
			})
		}
	}
}

// away is a store that can be switched off.
type away struct {
	Memory
	off atomic.Bool
}

func (a *away) Load(ctx context.Context, k Key) (Row, error) {
	if a.off.Load() {
		return Row{}, errStore
	}
	return a.Memory.Load(ctx, k)
}

func (a *away) Enter(ctx context.Context, k Key, r limit.Request, ok func(Row) bool) (Row, limit.Grant, error) {
	if a.off.Load() {
		return Row{}, limit.Grant{}, errStore
	}
	return a.Memory.Enter(ctx, k, r, ok)
}

func (a *away) Install(ctx context.Context, k Key, in Install) (Row, error) {
	if a.off.Load() {
		return Row{}, errStore
	}
	return a.Memory.Install(ctx, k, in)
}

// ringing is a store with a bell.
type ringing struct {
	Memory
	bell chan struct{}
}

func (r *ringing) Changed(Key) (<-chan struct{}, func()) { return r.bell, func() {} }

func (r *ringing) Install(ctx context.Context, k Key, in Install) (Row, error) {
	row, err := r.Memory.Install(ctx, k, in)
	r.bell <- struct{}{}
	return row, err
}

// TestBellWakesWaiters: who waits for another process continues as soon as the
// store rings, not at its next poll.
func TestBellWakesWaiters(t *testing.T) {
	inWorld(t, func(w *world) {
		w.svc.after = func(_ int, _ bool, t *trip) { t.down = 3 * time.Second }
		st := &ringing{Memory: w.store, bell: make(chan struct{}, 8)}
		a, b := w.on(st, nil), w.on(st, func(c *Config) {
			c.Constants = Defaults()
			c.Constants.PollFirst, c.Constants.PollMax = 450*time.Millisecond, 450*time.Millisecond
		})
		go func() { _ = a.Refresh(context.Background()) }()
		time.Sleep(time.Second)
		start := time.Now()
		w.good(b)
		installed := w.svc.issued.Add(3 * time.Second)
		if d := time.Since(installed); d > 130*time.Millisecond { // the call itself takes up to 120 ms
			t.Errorf("the waiter's call ended %s after the pair came (it began %s before)", d, installed.Sub(start))
		}
		w.counts(1, 0)
	})
}

func TestWithoutStore(t *testing.T) {
	inWorld(t, func(w *world) {
		st := &away{Memory: w.store}
		m := w.on(st, nil)
		w.good(m)
		st.off.Store(true)
		time.Sleep(260 * time.Second)
		w.good(m) // from memory, before the hand-over
		if err := w.call(m); err != nil {
			w.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(limit.Background(context.Background()), time.Second)
		defer cancel()
		w.kindIs(m.Do(ctx, Route{Class: limit.General}, w.svc.send(limit.General, lockedRand(1, 1))), StoreUnavailable)
		time.Sleep(20 * time.Second)
		w.kindIs(w.call(m), StoreUnavailable)
		w.counts(1, 0)
		st.off.Store(false)
		w.good(m)
		w.counts(1, 1)
	})
}

// TestStoreAwayAtInstall is rule K2: the pair is kept until it is stored.
func TestStoreAwayAtInstall(t *testing.T) {
	inWorld(t, func(w *world) {
		st := &away{Memory: w.store}
		m := w.on(st, nil)
		m.crash = func(at string) { st.off.Store(at == "answered") }
		go func() { time.Sleep(3 * time.Second); st.off.Store(false) }()
		w.good(m)
		w.good(w.manager(nil))
		w.counts(1, 0)
	})
}

// TestClockSetBackWithDeadHolder: the lease of a dead holder ends in time although
// the host's clocks were set back by an hour (rules G2, G3).
func TestClockSetBackWithDeadHolder(t *testing.T) {
	inWorld(t, func(w *world) {
		victim, other := w.manager(nil), w.manager(nil)
		ctx, kill := context.WithCancel(context.Background())
		victim.crash = func(at string) {
			if at == "marked" {
				kill()
				runtime.Goexit()
			}
		}
		_ = victim.Do(ctx, Route{Class: limit.General}, w.svc.send(limit.General, lockedRand(1, 1)))
		w.clock.jump(-time.Hour, -time.Hour)
		start := time.Now()
		w.good(other)
		if d := time.Since(start); d > 16*time.Second {
			t.Errorf("the next call took %s", d)
		}
		w.counts(1, 0)
	})
}

// TestStoreWentBack is rule A3: a restored row is noticed, the spent refresh
// token is not presented again, and one login serves everyone.
func TestStoreWentBack(t *testing.T) {
	inWorld(t, func(w *world) {
		a, b := w.manager(nil), w.manager(nil)
		w.good(a)
		restore := w.store.Saved(a.key)
		time.Sleep(275 * time.Second)
		w.good(a)
		w.good(b)
		w.counts(1, 1)
		restore()
		w.good(a)
		w.good(b)
		w.good(w.manager(nil))
		w.counts(2, 1)
		s, err := b.Status(context.Background())
		if err != nil || s.Verdict.Cause != StoreWentBack || !s.Verdict.Healed {
			w.Fatalf("%+v, %v", s.Verdict, err)
		}
	})
}
