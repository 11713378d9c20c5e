package index_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/index/indextest"
)

// service is a list of operations behind a budget of one call in five seconds,
// which people take before the sync.
type service struct {
	mu      sync.Mutex
	ops     []api.Operation // newest first
	next    time.Time       // guarded by mu; the next free slot
	waiting int             // guarded by mu; people in the queue
	calls   []time.Time     // guarded by mu
	pages   []int           // guarded by mu
	reads   []string        // guarded by mu
	slowest time.Duration   // guarded by mu; a person's wait
	fail    int             // guarded by mu; so many calls fail
}

const slot = 5 * time.Second

func (s *service) take(ctx context.Context, person bool) error {
	began := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if person {
		s.waiting++
		defer func() { s.waiting-- }()
	}
	for time.Now().Before(s.next) || !person && s.waiting > 0 {
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			s.mu.Lock()
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
		s.mu.Lock()
	}
	s.next = time.Now().Add(slot)
	s.calls = append(s.calls, time.Now())
	if person {
		s.slowest = max(s.slowest, time.Since(began))
	}
	if s.fail > 0 {
		s.fail--
		return &api.Error{Kind: api.Unavailable, Public: "The service does not answer."}
	}
	return nil
}

func (s *service) ListPage(ctx context.Context, at index.PageRef, size int) (index.Listed, error) {
	page := at.Page
	if err := s.take(ctx, false); err != nil {
		return index.Listed{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages = append(s.pages, page)
	from, to := min(page*size, len(s.ops)), min((page+1)*size, len(s.ops))
	return index.Listed{Items: s.ops[from:to], PageSize: size, Total: int64(len(s.ops)), Sent: time.Now()}, nil
}

func (s *service) Operation(ctx context.Context, opid string) (api.Operation, time.Time, error) {
	if err := s.take(ctx, false); err != nil {
		return api.Operation{}, time.Time{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads = append(s.reads, opid)
	for _, o := range s.ops {
		if strings.EqualFold(string(o.OPID), opid) {
			return o, time.Now(), nil
		}
	}
	return api.Operation{}, time.Time{}, &api.Error{Kind: api.NotFound, Rule: api.RuleOperationUnknown, Public: "Operation not found."}
}

func made(n int) []api.Operation {
	var ops []api.Operation
	for i := range n {
		ops = append(ops, indextest.Options{Customers: 50, Parties: 200}.Make(i))
	}
	return ops
}

func progress(t *testing.T, x *index.Index) index.Progress {
	t.Helper()
	p, err := index.LoadProgress(context.Background(), x.Unmasked())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func count(t *testing.T, x *index.Index) int64 {
	t.Helper()
	n, err := x.Count(context.Background(), filter.OperationExpr{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSyncResumesAndOneInstanceWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, done := open(t, time.Now)
		defer done()
		s := &service{ops: made(1000), fail: 2}
		run := func(owner string, d time.Duration) {
			ctx, stop := context.WithTimeout(context.Background(), d)
			defer stop()
			_ = index.NewSyncer(x, s, index.SyncOptions{Owner: owner, MaxAge: time.Hour}).Run(ctx)
		}
		var wg sync.WaitGroup
		wg.Go(func() { run("one", 45*time.Second) })
		wg.Go(func() { time.Sleep(time.Second); run("two", 10*time.Second) }) // while one holds the lease
		time.Sleep(12 * time.Second)
		if p := progress(t, x); p.Trouble != "The service does not answer." {
			t.Errorf("trouble is not reported: %+v", p)
		}
		wg.Wait()
		half := progress(t, x)
		if half.Pass.Page == 0 || !half.Last.Started.IsZero() || half.Trouble != "" {
			t.Fatalf("%+v", half)
		}
		run("two", 5*time.Minute)
		if n := count(t, x); n != 1000 {
			t.Errorf("%d operations", n)
		}
		seen, twice := map[int]bool{}, 0
		for _, p := range s.pages {
			if seen[p] {
				twice++
			}
			seen[p] = true
		}
		if twice > 1 { // the page that was on its way when the first one stopped
			t.Errorf("pages were read again: %v", s.pages)
		}
	})
}

// TestSyncDerivesRowsOfEarlierBuilds while it has nothing to read: a sync that runs for some minutes leaves none.
func TestSyncDerivesRowsOfEarlierBuilds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, done := open(t, time.Now)
		defer done()
		s := &service{ops: made(1200)}
		run := func(d time.Duration) {
			ctx, stop := context.WithTimeout(t.Context(), d)
			defer stop()
			_ = index.NewSyncer(x, s, index.SyncOptions{Owner: "one", MaxAge: time.Hour}).Run(ctx)
		}
		run(5 * time.Minute)
		if err := x.Unmasked().SetMeta(t.Context(), "derived", "0"); err != nil {
			t.Fatal(err)
		}
		run(time.Minute)
		if all, err := x.Unmasked().Derived(t.Context()); !all || err != nil || count(t, x) != 1200 {
			t.Errorf("all: %v, %v; %d operations", all, err, count(t, x))
		}
	})
}

func TestSyncReadsNewsDownToTheMarkAndOwedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		time.Sleep(time.Until(now.Add(time.Hour))) // behind all that is listed
		x, done := open(t, time.Now)
		defer done()
		s := &service{ops: made(500)}
		y := index.NewSyncer(x, s, index.SyncOptions{Owner: "one"})
		steps := func(n int) {
			for range n {
				wait, err := y.Step(ctx)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(wait)
			}
		}
		for progress(t, x).Last.Started.IsZero() {
			steps(1)
		}
		news := made(760)
		for i := range 260 { // 260 new ones are before the others, each newer than the one before
			o, at := news[500+i], time.Now().Add(time.Duration(i-260)*time.Millisecond)
			o.CreatedAt, o.UpdatedAt = api.At(at), api.At(at)
			s.ops = append([]api.Operation{o}, s.ops...)
		}
		s.pages = nil
		id := string(s.ops[300].OPID)
		if _, err := x.Event(ctx, index.Event{OPID: id, Updated: time.Now().Add(time.Hour), Seen: time.Now()}); err != nil {
			t.Fatal(err)
		}
		odd := strings.ToUpper(string(s.ops[301].OPID)) // REST spells it in other letters
		if _, err := x.Event(ctx, index.Event{OPID: odd, Updated: time.Now(), Seen: time.Now()}); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Event(ctx, index.Event{OPID: "nowhere", Updated: time.Now(), Seen: time.Now()}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		steps(7)
		if n := strings.Count(strings.Join(s.reads, " "), odd); n != 1 {
			t.Errorf("an id in other letters was read %d times: %v", n, s.reads)
		}
		if len(s.reads) == 0 || s.reads[0] != id && s.reads[0] != "nowhere" {
			t.Errorf("reads %v", s.reads)
		}
		if n := count(t, x); n != 761 {
			t.Errorf("%d operations", n)
		}
		if got := s.pages[:3]; got[0] != 0 || got[1] != 1 || got[2] != 2 {
			t.Errorf("pages %v", s.pages)
		}
		if f, err := x.Freshness(ctx); err != nil || !f.Complete || time.Since(f.AsOf) > 3*time.Minute {
			t.Errorf("%+v %v", f, err)
		}
	})
}

func TestLeaseIsForOne(t *testing.T) {
	ctx := context.Background()
	x, done := open(t, fixed)
	defer done()
	lease := func(owner string, at time.Time) bool {
		ok, err := x.Unmasked().Lease(ctx, "l", owner, "", at, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if !lease("a", now) || lease("b", now.Add(59*time.Second)) || !lease("a", now.Add(59*time.Second)) || lease("b", now.Add(time.Minute)) || !lease("b", now.Add(2*time.Minute)) {
		t.Error("the lease is not exclusive, or never ends")
	}
	if err := x.Unmasked().Release(ctx, "l", "a"); err != nil || lease("c", now.Add(2*time.Minute)) {
		t.Error("a stranger released it", err)
	}
	if err := x.Unmasked().Release(ctx, "l", "b"); err != nil || !lease("c", now.Add(2*time.Minute)) {
		t.Error("it was not released", err)
	}
	if !lease("d", now) {
		t.Error("a lease that lies further ahead than any can is of a clock that was set back")
	}
}

// An index that is whole and fresh is left alone: the lease is not even taken, so
// that nothing is written and no one who watches the store wakes up.
func TestNothingToDoWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		x, done := open(t, time.Now)
		defer done()
		s := &service{ops: made(30)}
		one := index.NewSyncer(x, s, index.SyncOptions{Owner: "one", PageSize: 10, MaxAge: time.Minute})
		wait := time.Duration(0)
		for range 20 {
			var err error
			if wait, err = one.Step(ctx); err != nil {
				t.Fatal(err)
			}
			if wait > 0 {
				break
			}
		}
		if wait <= 0 {
			t.Fatal("the pass does not end")
		}
		if err := x.Unmasked().Release(ctx, "sync", "one"); err != nil {
			t.Fatal(err)
		}
		calls := len(s.calls)
		if again, err := one.Step(ctx); err != nil || again <= 0 || again > wait || len(s.calls) != calls {
			t.Errorf("wait %v (was %v), %d calls, %v", again, wait, len(s.calls)-calls, err)
		}
		if free, err := x.Unmasked().Lease(ctx, "sync", "two", "", time.Now(), time.Minute); err != nil || !free {
			t.Errorf("an idle process took the lease: %v", err)
		}
		if err := x.Unmasked().Release(ctx, "sync", "two"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // virtual
		if again, err := one.Step(ctx); err != nil || again != 0 || len(s.calls) != calls+1 {
			t.Errorf("once the newest page is old: wait %v, %d calls, %v", again, len(s.calls)-calls, err)
		}
	})
}

// What a first minute reads at once is no pace.
func TestETA(t *testing.T) {
	began := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		after time.Duration
		read  int64
		left  time.Duration
		ok    bool
	}{
		{time.Second, 800, 0, false},
		{59 * time.Second, 1200, 0, false},
		{2 * time.Minute, 2000, 18 * time.Minute, true},
		{20 * time.Minute, 20_000, 0, false},
	} {
		p := index.Progress{Total: 20_000, Pass: index.Pass{Read: c.read, Started: began}}
		if left, ok := p.ETA(began.Add(c.after)); left != c.left || ok != c.ok {
			t.Errorf("%d read after %v: %v %v, want %v %v", c.read, c.after, left, ok, c.left, c.ok)
		}
	}
}
