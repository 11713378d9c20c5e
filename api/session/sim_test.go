package session

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/api/limit"
	"opdeck/api/secret"
)

// simClock is a host's clock in virtual time; off moves what it shows.
type simClock struct {
	start time.Time
	mu    sync.Mutex
	wall  time.Duration
	tick  time.Duration
}

func newSimClock() *simClock { return &simClock{start: time.Now()} }

func (c *simClock) Wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.wall).Round(0)
}

func (c *simClock) Steady() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return 24*time.Hour + time.Since(c.start) + c.tick
}

func (c *simClock) jump(wall, steady time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall += wall
	c.tick += steady
}

const simURL, simAccount = "https://service.example", "machine@example.com"

// lockedRand is one actor's stream of chance.
func lockedRand(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// simManager makes a process on store.
func simManager(t testing.TB, store Store, clock Clock, auth *service, seed, stream uint64,
	change func(*Config)) *Manager {
	key := Key{BaseURL: simURL, Account: simAccount}
	rnd := lockedRand(seed, stream)
	var mu sync.Mutex
	random := func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return rnd.Float64()
	}
	budgets, err := limit.New(limit.Config{Store: store, Key: key, MaxWait: 4 * time.Minute, Random: random})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		BaseURL: simURL, Account: simAccount, Store: store, Limits: budgets, Auth: auth, Clock: clock,
		Password: func(context.Context) (secret.Value, error) { return secret.New("right"), nil },
		Log:      slog.New(slog.NewTextHandler(io.Discard, nil)),
		Owner:    Owner{Host: "host", PID: int(stream)},
		Random:   random,
	}
	if change != nil {
		change(&cfg)
	}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestFaultFreeHour holds the acceptance line of the protocol: one
// login, the least number of refreshes, nothing refused, no 401, for any number
// of processes.
func TestFaultFreeHour(t *testing.T) {
	for _, n := range []int{1, 2, 8, 32} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { faultFreeHour(t, n) })
		})
	}
}

func faultFreeHour(t *testing.T, n int) {
	const seed = 7
	svc, clock := newService(lockedRand(seed, 1)), newSimClock()
	store := NewMemory(clock)
	end := time.Now().Add(time.Hour)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			rnd := lockedRand(seed, uint64(100+i))
			m := simManager(t, store, clock, svc, seed, uint64(1000+i), nil)
			for time.Now().Before(end) {
				ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
				if err := m.Do(ctx, Route{Class: limit.Billing}, svc.send(limit.Billing, rnd)); err != nil {
					t.Errorf("process %d: %v", i, err)
				}
				cancel()
				time.Sleep(time.Duration(rnd.ExpFloat64() * float64(n) * 6 * float64(time.Second)))
			}
			if err := m.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	never := func(time.Time) bool { return false }
	margin := Defaults().margin(svc.accessTTL)
	atMost := int(math.Ceil(3600 / (svc.accessTTL - margin).Seconds()))
	if len(svc.logins) != 1 || len(svc.refreshes) > atMost || svc.refusedR != 0 || svc.status[401] != 0 {
		t.Errorf("%d logins, %d refreshes (at most %d), %d refused, %d × 401", len(svc.logins), len(svc.refreshes), atMost,
			svc.refusedR, svc.status[401])
	}
	if got := most(svc.calls[limit.Billing], time.Minute, never); got > 12 {
		t.Errorf("%d billing calls in a minute", got)
	}
	if svc.status[200] < 300 {
		t.Errorf("only %d calls came through", svc.status[200])
	}
}

// NewMemory is the store in memory that these tests run on: package sessiontest has it, which imports this one, so
// memory_test.go sets it.
var NewMemory func(Clock) Store
