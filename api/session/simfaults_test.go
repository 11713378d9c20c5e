package session

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/api/limit"
)

var (
	simSeed  = flag.Uint64("sim.seed", 0, "play only this seed of the fault simulation")
	simHours = flag.Int("sim.hours", hoursByDefault, "simulated hours of faults")
)

// errStore is what a store that is away answers.
var errStore = errors.New("the store is away")

// sharedWorld is what all processes of one simulated hour share.
type sharedWorld struct {
	t     *testing.T
	seed  uint64
	svc   *service
	store Store
	clock *simClock
	mu    sync.Mutex
	fence map[string]int64 // highest seen per incarnation
	gen   map[string]int64
	jumps []time.Time
	holds map[string]int // liveness locks: process number, 0 none

	storeFails float64 // chance of a store operation failing
	crashes    float64
	stalls     float64
	liveness   bool

	calls, errs, killed int
	kinds               map[ErrKind]int
}

// watchedStore is one process's way to the store: it may fail, before or after
// the operation, and checks that counters only grow.
type watchedStore struct {
	Store
	w    *sharedWorld
	mu   sync.Mutex
	rnd  *rand.Rand
	down bool
}

// fate decides whether an operation fails, and whether it is done all the same.
func (s *watchedStore) fate() (before, after error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return errStore, nil
	}
	if p := s.rnd.Float64(); p < s.w.storeFails/2 {
		return errStore, nil
	} else if p < s.w.storeFails {
		return nil, errStore
	}
	return nil, nil
}

func (w *sharedWorld) grows(r Row) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.Fence < w.fence[r.Incarnation] || r.Gen < w.gen[r.Incarnation] {
		w.t.Errorf("seed %d: fence or generation went back: %d after %d, %d after %d", w.seed, r.Fence,
			w.fence[r.Incarnation], r.Gen, w.gen[r.Incarnation])
	}
	w.fence[r.Incarnation], w.gen[r.Incarnation] = r.Fence, r.Gen
}

func (s *watchedStore) Load(ctx context.Context, k Key) (Row, error) {
	before, after := s.fate()
	if before != nil {
		return Row{}, before
	}
	r, err := s.Store.Load(ctx, k)
	return r, errors.Join(err, after)
}

func (s *watchedStore) Enter(ctx context.Context, k Key, req limit.Request, ok func(Row) bool) (Row, limit.Grant,
	error) {
	before, after := s.fate()
	if before != nil {
		return Row{}, limit.Grant{}, before
	}
	r, g, err := s.Store.Enter(ctx, k, req, ok)
	return r, g, errors.Join(err, after)
}

func (s *watchedStore) Acquire(ctx context.Context, k Key, c Claim) (Row, bool, error) {
	before, after := s.fate()
	if before != nil {
		return Row{}, false, before
	}
	r, ok, err := s.Store.Acquire(ctx, k, c)
	s.w.grows(r)
	return r, ok, errors.Join(err, after)
}

func (s *watchedStore) Mark(ctx context.Context, k Key, m Mark) (time.Duration, error) {
	before, after := s.fate()
	if before != nil {
		return 0, before
	}
	wait, err := s.Store.Mark(ctx, k, m)
	return wait, errors.Join(err, after)
}

func (s *watchedStore) Install(ctx context.Context, k Key, in Install) (Row, error) {
	before, after := s.fate()
	if before != nil {
		return Row{}, before
	}
	r, err := s.Store.Install(ctx, k, in)
	s.w.grows(r)
	return r, errors.Join(err, after)
}

func (s *watchedStore) Release(ctx context.Context, k Key, r Release) error {
	before, after := s.fate()
	if before != nil {
		return before
	}
	return errors.Join(s.Store.Release(ctx, k, r), after)
}

// simLiveness is the kernel's locks of the simulated host.
type simLiveness struct {
	w *sharedWorld
	n int
}

func (l simLiveness) Hold(Key) (func(), bool) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	if l.w.holds["lock"] != 0 {
		return nil, false
	}
	l.w.holds["lock"] = l.n
	return func() { l.w.free(l.n) }, true
}

func (l simLiveness) Gone(Key) bool {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	return l.w.holds["lock"] == 0
}

func (w *sharedWorld) free(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.holds["lock"] == n {
		w.holds["lock"] = 0
	}
}

// chance draws a fault's probability: often none, sometimes much.
func chance(r *rand.Rand, most float64) float64 {
	if r.Float64() < 0.5 {
		return 0
	}
	return r.Float64() * most
}

func newWorld(t *testing.T, seed uint64) *sharedWorld {
	r := lockedRand(seed, 1)
	w := &sharedWorld{t: t, seed: seed, svc: newService(lockedRand(seed, 2)), clock: newSimClock(),
		fence: map[string]int64{}, gen: map[string]int64{},
		holds: map[string]int{}, kinds: map[ErrKind]int{}}
	w.store = NewMemory(w.clock)
	w.svc.faults = faults{notSent: chance(r, 0.3), lost: chance(r, 0.3), late: chance(r, 0.2), spoilt: chance(r, 0.3),
		refused500:  chance(r, 0.2),
		spoiltLogin: 0.05, // an unread login costs five minutes
		throttle:    chance(r, 0.2), strict: r.IntN(2) == 0}
	if r.IntN(3) == 0 {
		w.svc.faults.lag = time.Duration(r.Int64N(int64(1500 * time.Millisecond)))
	}
	if r.IntN(4) == 0 {
		w.svc.accessTTL = time.Duration(20+r.IntN(200)) * time.Second
		w.svc.refreshTTL = 3 * w.svc.accessTTL
	}
	w.storeFails, w.crashes, w.stalls = chance(r, 0.02), chance(r, 0.1), chance(r, 0.05)
	w.liveness = r.IntN(2) == 0
	return w
}

// TestFaultHours plays random hours of faults; each is reproducible from its
// number: go test -run TestFaultHours -sim.seed N.
func TestFaultHours(t *testing.T) {
	first, n := uint64(1), *simHours
	if *simSeed != 0 {
		first, n = *simSeed, 1
	}
	calls, errs, killed, logins, refreshes, refused := 0, 0, 0, 0, 0, 0
	kinds := map[ErrKind]int{}
	for seed := first; seed < first+uint64(n); seed++ {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, seed)
			w.hour()
			w.verdict()
			calls, errs, killed = calls+w.calls, errs+w.errs, killed+w.killed
			logins, refreshes, refused = logins+len(w.svc.logins), refreshes+len(w.svc.refreshes), refused+w.svc.refusedR
			for k, n := range w.kinds {
				kinds[k] += n
			}
		})
		if t.Failed() {
			t.Fatalf("seed %d broke an invariant; play it alone with -sim.seed %d", seed, seed)
		}
	}
	t.Logf("%d hours: %d calls, %d errors %v, %d killed; %d logins, %d refreshes, %d refused", n, calls, errs, kinds,
		killed, logins, refreshes, refused)
	if *simSeed == 0 && errs*10 > calls {
		t.Errorf("%d of %d calls failed", errs, calls)
	}
}

// TestFaultHourRepeats: the same seed plays the same hour.
func TestFaultHourRepeats(t *testing.T) {
	var digests []string
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, 7)
			w.hour()
			digests = append(digests, fmt.Sprint(w.calls, w.errs, w.kinds, w.killed, w.svc.logins, w.svc.refreshes,
				w.svc.calls[limit.Billing]))
		})
	}
	if digests[0] != digests[1] || digests[0] != digests[2] {
		t.Errorf("three runs differ:\n%.400s\n%.400s\n%.400s", digests[0], digests[1], digests[2])
	}
}

// hour runs twelve processes, a saboteur and, in a third of the hours, a foreign
// client.
func (w *sharedWorld) hour() {
	end := time.Now().Add(time.Hour)
	var wg sync.WaitGroup
	for i := range processes {
		wg.Go(func() { w.process(i, end) })
	}
	wg.Go(func() { w.saboteur(end) })
	wg.Wait()
	time.Sleep(5 * time.Minute) // what is still on its way comes to its end
}

// saboteur sets clocks and logs in from elsewhere.
func (w *sharedWorld) saboteur(end time.Time) {
	r := lockedRand(w.seed, 3)
	foreign, clocks := r.IntN(3) == 0, r.IntN(3)
	every := []time.Duration{10 * time.Second, time.Minute, 10 * time.Minute}[r.IntN(3)]
	for time.Now().Before(end) {
		time.Sleep(time.Duration(r.ExpFloat64() * float64(every)))
		if foreign {
			w.svc.foreignLogin()
		}
		if r.IntN(20) != 0 || clocks == 0 {
			continue
		}
		by := []time.Duration{40 * time.Second, -40 * time.Second, time.Hour, -time.Hour}[r.IntN(4)]
		if clocks == 1 { // the hosts' wall clock only
			w.clock.jump(by, 0)
			continue
		}
		w.mu.Lock()
		w.jumps = append(w.jumps, time.Now())
		w.mu.Unlock()
		w.clock.jump(by, by) // a store that goes by the wall clock
	}
}

// processes of one hour. Each has one caller, so that no two actors ever meet at
// the same nanosecond and an hour repeats exactly; in every fifth hour they have
// two, who share rotations, and the hour repeats but roughly.
const processes = 12

// process lives, is killed, and is started again, until end.
func (w *sharedWorld) process(i int, end time.Time) {
	r := lockedRand(w.seed, uint64(100+i))
	time.Sleep(time.Duration(r.Int64N(int64(time.Second))))
	for life := 0; time.Now().Before(end); life++ {
		ctx, kill := context.WithCancel(context.Background())
		n := 1 + i + processes*life
		st := &watchedStore{Store: w.store, w: w, rnd: lockedRand(w.seed, uint64(10000+n))}
		m := simManager(w.t, st, w.clock, w.svc, w.seed, uint64(20000+n), func(c *Config) {
			if w.liveness {
				c.Liveness = simLiveness{w, n}
			}
		})
		crash := lockedRand(w.seed, uint64(30000+n))
		m.crash = func(string) {
			switch p := crash.Float64(); {
			case p < w.crashes:
				kill()
				w.free(n)
				runtime.Goexit()
			case p < w.crashes+w.stalls:
				time.Sleep(time.Duration(crash.Int64N(int64(40 * time.Second))))
			}
		}
		var wg sync.WaitGroup
		workers := 1
		if w.seed%5 == 0 {
			workers = 2
		}
		for worker := range workers {
			wg.Go(func() { w.worker(ctx, m, lockedRand(w.seed, uint64(40000+10*n+worker)), end) })
		}
		wg.Go(func() { w.outages(ctx, st, lockedRand(w.seed, uint64(50000+n)), end) })
		wg.Wait()
		kill()
		time.Sleep(time.Duration(r.Int64N(int64(5 * time.Second))))
	}
}

// outages cuts a process off the store now and then.
func (w *sharedWorld) outages(ctx context.Context, st *watchedStore, r *rand.Rand, end time.Time) {
	if w.storeFails == 0 {
		return
	}
	for time.Now().Before(end) && ctx.Err() == nil {
		_ = limit.Sleep(ctx, time.Duration(r.ExpFloat64()*float64(10*time.Minute)))
		st.mu.Lock()
		st.down = true
		st.mu.Unlock()
		_ = limit.Sleep(ctx, time.Duration(r.ExpFloat64()*float64(20*time.Second)))
		st.mu.Lock()
		st.down = false
		st.mu.Unlock()
	}
}

// worker makes calls, each with a deadline that it must be answered by.
func (w *sharedWorld) worker(process context.Context, m *Manager, r *rand.Rand, end time.Time) {
	classes := []limit.Class{limit.Billing, limit.Account, limit.Customer, limit.General}
	for time.Now().Before(end) && process.Err() == nil {
		ctx, cancel := context.WithTimeout(process, time.Duration(30+r.IntN(60))*time.Second)
		if r.IntN(5) == 0 {
			ctx = limit.Background(ctx)
		}
		deadline, _ := ctx.Deadline()
		class := classes[r.IntN(len(classes))]
		err := m.Do(ctx, Route{Class: class}, w.svc.send(class, r))
		if late := time.Since(deadline); late > 0 && process.Err() == nil {
			w.t.Errorf("seed %d: a caller was answered %s after its deadline", w.seed, late)
		}
		cancel()
		w.count(err, process.Err() != nil)
		_ = limit.Sleep(process, time.Duration(r.ExpFloat64()*float64(15*time.Second)))
	}
}

func (w *sharedWorld) count(err error, killed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	if killed {
		w.killed++
		return
	}
	var e *Error
	if errors.As(err, &e) {
		w.kinds[e.Kind]++
		w.errs++
		return
	}
	var x *limit.Exhausted
	if err != nil && !errors.As(err, &x) && !errors.Is(err, context.DeadlineExceeded) {
		w.t.Errorf("seed %d: an error without a type: %v", w.seed, err)
	}
}

// verdict holds what the service saw against the invariants.
func (w *sharedWorld) verdict() {
	for token, n := range w.svc.presented {
		if n > 1 {
			w.t.Errorf("seed %d: refresh token %s was presented %d times", w.seed, token, n)
		}
	}
	near := func(t time.Time) bool { // a jump of the store's own clock spoils the windows around it
		for _, j := range w.jumps {
			if t.After(j.Add(-time.Second)) && t.Sub(j) < 3*time.Minute {
				return true
			}
		}
		return false
	}
	check := func(what string, times []time.Time, n int) {
		if got := most(times, time.Minute, near); got > n {
			w.t.Errorf("seed %d: %d %s calls within a minute, %d allowed", w.seed, got, what, n)
		}
	}
	check("login", w.svc.logins, 6)
	check("refresh", w.svc.refreshes, 1)
	for class, n := range limit.Recommended() {
		check(string(class), w.svc.calls[class], n)
	}
}
