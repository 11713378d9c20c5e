package index_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/internal/domain/index"
)

// virtual is the bubble's clock.
type virtual struct{ start time.Time }

func (v virtual) Wall() time.Time       { return time.Now().Round(0) }
func (v virtual) Steady() time.Duration { return time.Since(v.start) }

// sent is one call that the limiter let go.
type sent struct {
	asked, at time.Time
	person    bool
}

// limited is a list of operations behind the real limiter with its default
// budgets.
type limited struct {
	budgets *limit.Budgets
	ops     []api.Operation

	mu    sync.Mutex
	calls []sent // guarded by mu
}

func (s *limited) take(ctx context.Context) error {
	c := sent{asked: time.Now(), person: !limit.IsBackground(ctx)}
	if _, err := s.budgets.Take(ctx, limit.Billing); err != nil {
		return err
	}
	c.at = time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, c)
	return nil
}

func (s *limited) ListPage(ctx context.Context, at index.PageRef, size int) (index.Listed, error) {
	page := at.Page
	if err := s.take(limit.Background(ctx)); err != nil {
		return index.Listed{}, err
	}
	from, to := min(page*size, len(s.ops)), min((page+1)*size, len(s.ops))
	return index.Listed{Items: s.ops[from:to], PageSize: size, Total: int64(len(s.ops)), Sent: time.Now()}, nil
}

func (s *limited) Operation(context.Context, string) (api.Operation, time.Time, error) {
	return api.Operation{}, time.Time{}, errors.New("nothing is owed")
}

// people make a call every 19 seconds, and every five minutes nine at once,
// which is more than background work leaves free.
func (s *limited) people(ctx context.Context, t *testing.T, wg *sync.WaitGroup) {
	for n := 1; ctx.Err() == nil; n++ {
		if limit.Sleep(ctx, 19*time.Second) != nil {
			return
		}
		calls := 1
		if n%16 == 0 {
			calls = 9
		}
		for range calls {
			wg.Go(func() {
				if err := s.take(ctx); err != nil && ctx.Err() == nil {
					t.Errorf("a person's call was refused: %v", err)
				}
			})
		}
	}
}

// TestSyncLeavesPeopleFirst runs the whole first sync against the real
// limiter in virtual time; OPDECK_TEST_LONG=1 that of 50,000 operations.
func TestSyncLeavesPeopleFirst(t *testing.T) {
	total := 5_000
	if os.Getenv("OPDECK_TEST_LONG") == "1" {
		total = 50_000
	}
	ops := made(total)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(context.Background())
		x, done := open(t, time.Now)
		defer done()
		budgets, err := limit.New(limit.Config{Store: limit.NewMemory(virtual{time.Now()}), Key: limit.Key{BaseURL: "https://a.test", Account: "m"}, MaxWait: 2 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		s := &limited{budgets: budgets, ops: ops}
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := index.NewSyncer(x, s, index.SyncOptions{Owner: "one", MaxAge: 10 * time.Minute}).Run(ctx); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		wg.Go(func() { s.people(ctx, t, &wg) })
		for range 1000 {
			time.Sleep(20 * time.Second)
			p := progress(t, x)
			if !p.Last.Finished.IsZero() {
				break
			}
			if _, ok := p.ETA(time.Now()); !ok && p.Pass.Read > int64(total/2) && p.Pass.Read < int64(total) {
				t.Errorf("no time left can be reported from %+v", p)
			}
		}
		stop()
		wg.Wait()
		if n := count(t, x); n != int64(total) || progress(t, x).Last.Finished.IsZero() {
			t.Errorf("%d operations of %d, %+v", n, total, progress(t, x))
		}
		checkCalls(t, s.calls)
	})
}

// checkCalls holds what was sent against the rule of twelve a minute, and
// against what people may expect.
func checkCalls(t *testing.T, calls []sent) {
	slices.SortFunc(calls, func(a, b sent) int { return a.at.Compare(b.at) })
	limitOf := limit.Recommended()[limit.Billing]
	var slowest time.Duration
	persons := 0
	for i, c := range calls {
		if i >= limitOf && c.at.Sub(calls[i-limitOf].at) < time.Minute {
			t.Fatalf("a call %d within a minute at %v", limitOf+1, c.at)
		}
		if !c.person {
			continue
		}
		persons++
		slowest = max(slowest, c.at.Sub(c.asked))
		for _, other := range calls {
			if !other.person && other.asked.Before(c.at) && other.at.After(c.asked.Add(limit.Soon)) && other.at.Before(c.at) {
				t.Fatalf("the sync called at %v while a person waited from %v to %v", other.at, c.asked, c.at)
			}
		}
	}
	if slowest > time.Minute || persons < 20 {
		t.Errorf("of %d people's calls one waited %v", persons, slowest)
	}
	t.Logf("%d calls, %d of people (slowest %v), %v of virtual time", len(calls), persons, slowest.Round(time.Millisecond), calls[len(calls)-1].at.Sub(calls[0].at).Round(time.Second))
}
