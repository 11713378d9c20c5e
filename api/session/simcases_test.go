package session

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/api/limit"
	"opdeck/api/secret"
)

// hourCase is one row of the protocol's failure table (section 2.5), played for
// an hour with eight processes.
type hourCase struct {
	name     string
	spoil    func(s *service)
	every    time.Duration // foreign login
	password string
	lag      bool

	logins, refreshes int // at most, ours
	least             int // logins at least
	refused           int // refreshes refused, at most
	unauthorized      int // × 401, at most
	errors            int // at most
	inMinute          int // logins in any minute, at most (0: six)
}

var hourCases = []hourCase{
	{name: "every answer to a refresh is lost", spoil: func(s *service) {
		s.after = func(n int, login bool,
			t *trip) {
			t.lost = !login
		}
	}, logins: 15, least: 13, refreshes: 14},
	{name: "every third answer to a refresh is lost", spoil: func(s *service) {
		s.after = func(n int, login bool, t *trip) { t.lost = !login && n%3 == 0 }
	}, logins: 6, least: 4, refreshes: 14},
	{name: "500 after processing", spoil: func(s *service) {
		s.after = func(_ int, login bool,
			t *trip) {
			t.status500 = !login
		}
	}, logins: 15, least: 13, refreshes: 14},
	{name: "rubbish on the first five logins", spoil: func(s *service) {
		s.after = func(n int, login bool,
			t *trip) {
			t.spoilt, t.spoiltLogin = login && n <= 5, true
		}
	}, logins: 6, least: 6, refreshes: 14, errors: 500, inMinute: 1},
	{name: "429 on every refresh", spoil: func(s *service) {
		s.after = func(_ int, login bool,
			t *trip) {
			t.throttled = !login
		}
	}, logins: 14, least: 12, refreshes: 60},
	{name: "replica lag", lag: true, logins: 1, least: 1, refreshes: 14, unauthorized: 60},
	{name: "foreign login every ten minutes", every: 10 * time.Minute, logins: 8, least: 5, refreshes: 14,
		unauthorized: 24, refused: 2},
	{name: "foreign login every minute", every: time.Minute, logins: 65, least: 30, refreshes: 20, unauthorized: 200,
		refused: 2, inMinute: 5},
	{name: "foreign login every ten seconds", every: 10 * time.Second, logins: 130, least: 60, refreshes: 10,
		unauthorized: 300, errors: 40, inMinute: 5},
	{name: "foreign login every second", every: time.Second, logins: 130, least: 60, refreshes: 10,
		unauthorized: 500, errors: 100, inMinute: 5},
	{name: "lives of 30 s", spoil: lives(30 * time.Second), logins: 90, refreshes: 60, least: 1},
	{name: "lives of 10 s", spoil: lives(10 * time.Second), logins: 360, refreshes: 60, least: 1},
	{name: "lives of 5 s", spoil: lives(5 * time.Second), logins: 360, refreshes: 60, least: 1},
	{name: "wrong password", password: "wrong", logins: 2, least: 2, errors: 1 << 20},
	{name: "two-factor demanded", spoil: func(s *service) { s.twoFactor = true }, logins: 2, least: 1, errors: 1 << 20},
	{name: "refresh tokens die with a login", spoil: func(s *service) { s.faults.strict = true }, every: 10 * time.Minute,
		logins: 8, least: 5, refreshes: 14, unauthorized: 24, refused: 6},
}

func lives(access time.Duration) func(*service) {
	return func(s *service) { s.accessTTL, s.refreshTTL = access, 3*access }
}

func TestFailureTable(t *testing.T) {
	for _, c := range hourCases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.play(t) })
		})
	}
}

func (c hourCase) play(t *testing.T) {
	svc, clock := newService(lockedRand(5, 1)), newSimClock()
	if c.spoil != nil {
		c.spoil(svc)
	}
	if c.lag {
		svc.faults.lag = 1500 * time.Millisecond
	}
	store := NewMemory(clock)
	end := time.Now().Add(time.Hour)
	var wg sync.WaitGroup
	var mu sync.Mutex
	calls, failed := 0, 0
	kinds := map[ErrKind]int{}
	for i := range 8 {
		m := simManager(t, store, clock, svc, 5, uint64(100+i), func(cfg *Config) {
			if c.password != "" {
				cfg.Password = func(context.Context) (secret.Value, error) { return secret.New(c.password), nil }
			}
		})
		rnd := lockedRand(5, uint64(200+i))
		wg.Go(func() {
			time.Sleep(time.Duration(rnd.Int64N(int64(time.Second))))
			for time.Now().Before(end) {
				err := oneCall(m, svc, rnd)
				mu.Lock()
				calls++
				if err != nil {
					failed++
					var e *Error
					if errors.As(err, &e) {
						kinds[e.Kind]++
					}
				}
				mu.Unlock()
				time.Sleep(time.Duration(rnd.ExpFloat64() * float64(30*time.Second)))
			}
		})
	}
	if c.every > 0 {
		wg.Go(func() {
			for time.Now().Before(end) {
				time.Sleep(c.every)
				svc.foreignLogin()
			}
		})
	}
	wg.Wait()
	time.Sleep(time.Minute)
	t.Logf("%d logins, %d refreshes (%d refused), %d × 401, %d of %d calls failed %v", len(svc.logins), len(svc.refreshes),
		svc.refusedR, svc.status[401], failed, calls, kinds)
	never := func(time.Time) bool { return false }
	inMinute := most(svc.logins, time.Minute, never)
	if n := most(svc.refreshes, time.Minute, never); n > 1 {
		t.Errorf("%d refreshes in a minute", n)
	}
	if c.inMinute == 0 {
		c.inMinute = 6
	}
	if len(svc.logins) > c.logins || len(svc.logins) < c.least || len(svc.refreshes) > c.refreshes ||
		svc.refusedR > c.refused ||
		svc.status[401] > c.unauthorized || failed > c.errors || inMinute > c.inMinute {
		t.Errorf("beyond the table: %d logins in a minute; want %+v", inMinute, c)
	}
	begun := end.Add(2*time.Minute - time.Hour)
	if later := most(svc.logins, time.Minute, func(at time.Time) bool { return at.Before(begun) }); c.every > 0 &&
		later > 3 {
		t.Errorf("%d logins in a minute after the first two", later)
	}
	for token, n := range svc.presented {
		if n > 1 {
			t.Errorf("%s was presented %d times", token, n)
		}
	}
}

func oneCall(m *Manager, svc *service, rnd *rand.Rand) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return m.Do(ctx, Route{Class: limit.General}, svc.send(limit.General, rnd))
}

// TestStormOf401: the pair is revoked while 200 calls of four processes are on their way. One login serves them all.
func TestStormOf401(t *testing.T) {
	inWorld(t, func(w *world) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		arrived, most := 0, 0
		for range 4 {
			m := w.manager(func(c *Config) {
				c.Limits = roomy(w.T, w.store)
			})
			w.good(m)
			time.Sleep(4 * time.Second) // no young pair
			for range 50 {
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
					defer cancel()
					err := m.Do(ctx, Route{Class: limit.General}, func(_ context.Context, a Access) (int, http.Header, error) {
						mu.Lock()
						arrived++
						most = max(most, a.Attempt)
						mu.Unlock()
						time.Sleep(20 * time.Second) // until all are on their way
						return w.svc.call(limit.General, a.Token.Reveal(), a.Over, false), http.Header{}, nil
					})
					if err != nil {
						w.Error(err)
					}
				})
			}
		}
		time.Sleep(time.Second)
		mu.Lock()
		if arrived != 200 {
			w.Errorf("%d calls are on their way", arrived)
		}
		mu.Unlock()
		w.svc.foreignLogin()
		wg.Wait()
		if w.counts(2, 0); most > 3 {
			w.Errorf("a call was sent %d times", most)
		}
	})
}

// roomy are budgets that 200 calls at once do not meet.
func roomy(t *testing.T, store Store) *limit.Budgets {
	b, err := limit.New(limit.Config{Store: store, Key: Key{BaseURL: simURL, Account: simAccount}, MaxWait: time.Minute,
		PerMinute: map[limit.Class]int{limit.General: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}
