package receiver_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/receiver/receivertest"
	"opdeck/internal/store"
	"opdeck/internal/store/inbox"
)

// faults decides which calls of a store fail, and which of these had happened.
type faults struct {
	mu   sync.Mutex                               // guards draw
	draw func(what string) (fails, happened bool) // nil: none fails
}

func (f *faults) set(draw func(what string) (fails, happened bool)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.draw = draw
}

func (f *faults) run(what string, do func() error) error {
	f.mu.Lock()
	draw := f.draw
	f.mu.Unlock()
	if draw == nil {
		return do()
	}
	fails, happened := draw(what)
	if !fails {
		return do()
	}
	if happened {
		if err := do(); err != nil {
			return err
		}
	}
	return errDisk
}

// shaky is an inbox and a ledger whose calls fail as faults say.
type shaky struct {
	*inbox.Inbox
	*faults
}

func (s shaky) Get(ctx context.Context, key string) (out receiver.Stored, err error) {
	err = s.run("get", func() (err error) { out, err = s.Inbox.Get(ctx, key); return })
	return out, err
}

func (s shaky) After(ctx context.Context, seq int64, n int) (out []receiver.Stored, err error) {
	err = s.run("after", func() (err error) { out, err = s.Inbox.After(ctx, seq, n); return })
	return out, err
}

func (s shaky) Merged(ctx context.Context) (out int64, err error) {
	err = s.run("merged", func() (err error) { out, err = s.Inbox.Merged(ctx); return })
	return out, err
}

func (s shaky) Advance(ctx context.Context, seq int64, failed ...receiver.Retry) error {
	return s.run("advance", func() error { return s.Inbox.Advance(ctx, seq, failed...) })
}

func (s shaky) Settle(ctx context.Context, key string) error {
	return s.run("settle", func() error { return s.Inbox.Settle(ctx, key) })
}

func (s shaky) Due(ctx context.Context, now time.Time, n int) (out []receiver.Retry, err error) {
	err = s.run("due", func() (err error) { out, err = s.Inbox.Due(ctx, now, n); return })
	return out, err
}

// world is an inbox, the index that its events are merged into, and some
// processes that merge.
type world struct {
	in     *inbox.Inbox
	faults faults
	now    time.Time
	acked  []string
	index  map[string]bool // what was merged
	poison map[string]bool // what cannot be
	procs  []*receiver.Merger
}

// inMemory is a store that waits for no disk.
func inMemory(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), store.Options{URL: "memory"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func newWorld(in *inbox.Inbox, procs int) *world {
	w := &world{in: in, now: clock, index: map[string]bool{}, poison: map[string]bool{},
		procs: make([]*receiver.Merger, procs)}
	for i := range w.procs {
		w.start(i)
	}
	return w
}

// start begins process i again: whatever it had in memory is gone.
func (w *world) start(i int) {
	s := shaky{w.in, &w.faults}
	w.procs[i] = &receiver.Merger{Inbox: s, Ledger: s, Take: w.take, Now: func() time.Time { return w.now },
		Log: slog.New(slog.DiscardHandler)}
}

func (w *world) take(_ context.Context, s receiver.Stored) error {
	if w.poison[s.Key] {
		return errors.New("it cannot be read")
	}
	return w.faults.run("take", func() error { w.index[s.Key] = true; return nil })
}

func (w *world) receive(t fatal, n int) {
	for range n {
		r := receivertest.Record(len(w.acked), "op")
		if _, err := w.in.Insert(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		w.acked = append(w.acked, r.Key)
	}
}

type fatal interface {
	Fatal(...any)
	Fatalf(string, ...any)
}

// check holds the promise: each event that was acknowledged is merged, or listed,
// or still before the mark.
func (w *world) check(t fatal) {
	ctx := context.Background()
	mark, err := w.in.Merged(ctx)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := w.in.After(ctx, 0, 1000)
	if err != nil || len(rows) != len(w.acked) {
		t.Fatal(len(rows), err)
	}
	for _, s := range rows {
		if s.Seq <= mark && !w.index[s.Key] && !s.Retry.Waiting() {
			t.Fatalf("event %d is behind the mark %d, not merged and not listed", s.Seq, mark)
		}
	}
}

// settle lets everything heal and time pass; then all is merged but the poison,
// which is listed.
func (w *world) settle(t fatal) {
	ctx := context.Background()
	w.faults.set(nil)
	for range 3 {
		w.now = w.now.Add(2 * receiver.MaxRetry)
		for range 2 {
			if _, err := w.procs[0].Step(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	b, err := w.in.Backlog(ctx)
	if err != nil || b.Behind != 0 || int(b.Waiting) != len(w.poison) {
		t.Fatalf("%+v with %d that cannot be merged, %v", b, len(w.poison), err)
	}
	for _, key := range w.acked {
		if w.index[key] == w.poison[key] {
			t.Fatalf("%s: merged %v, poison %v", key, w.index[key], w.poison[key])
		}
	}
}

var steps = []string{"take", "after", "merged", "advance", "settle", "due", "get"}

// Each step fails once, with and without having happened, and the process is
// killed there: nothing is passed over.
func TestMergeFailsAtEachStep(t *testing.T) {
	s := inMemory(t)
	for i, step := range steps {
		for _, happened := range []bool{false, true} {
			for at := range 4 {
				w := newWorld(inbox.New(s.Bulk, "https://service.test", fmt.Sprint(i, happened, at)), 1)
				w.receive(t, 5)
				w.poison[w.acked[2]] = true
				n := 0
				w.faults.set(func(what string) (bool, bool) {
					if what != step {
						return false, false
					}
					n++
					return n == at+1, happened
				})
				for range 6 {
					_, err := w.procs[0].Step(context.Background())
					w.check(t)
					if err != nil {
						w.start(0)
					}
					w.now = w.now.Add(time.Minute)
				}
				w.settle(t)
			}
		}
	}
}

// Rapid histories: deliveries, steps of several processes with failures anywhere,
// kills and clocks that jump. What was acknowledged is merged or in sight, always.
func TestMergeHistories(t *testing.T) {
	s := inMemory(t)
	history := 0
	rapid.Check(t, func(t *rapid.T) {
		history++
		w := newWorld(inbox.New(s.Bulk, "https://service.test", fmt.Sprint(history)), 2)
		bad := rapid.IntRange(0, 60).Draw(t, "percent that fails")
		w.faults.set(func(what string) (bool, bool) {
			return rapid.IntRange(0, 99).Draw(t, what) < bad, rapid.Bool().Draw(t, "happened")
		})
		for range rapid.IntRange(1, 25).Draw(t, "length") {
			who := rapid.IntRange(0, 1).Draw(t, "who")
			switch rapid.IntRange(0, 6).Draw(t, "what") {
			case 0, 1:
				w.receive(t, rapid.IntRange(1, 3).Draw(t, "deliveries"))
			case 2:
				if len(w.acked) > 0 {
					if key := rapid.SampledFrom(w.acked).Draw(t, "poison"); !w.index[key] {
						w.poison[key] = true
					}
				}
			case 3:
				w.start(who)
			case 4:
				w.now = w.now.Add(time.Duration(rapid.IntRange(-7200, 7200).Draw(t, "seconds")) * time.Second)
			default:
				_, _ = w.procs[who].Step(context.Background())
			}
			w.check(t)
		}
		w.settle(t)
	})
}

// An event that cannot be merged holds no one up, is tried at growing pauses, and
// leaves the list when it can be.
func TestMergePauses(t *testing.T) {
	in := inbox.New(inMemory(t).Bulk, "https://service.test", "machine")
	w := newWorld(in, 1)
	w.receive(t, 3)
	w.poison[w.acked[1]] = true
	var rests []time.Duration
	for range 16 {
		rest, err := w.procs[0].Step(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		rests = append(rests, rest)
		w.now = w.now.Add(rest)
	}
	want := []time.Duration{5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600, 3600, 3600, 3600}
	for i := range want {
		want[i] *= time.Second
	}
	if !slices.Equal(rests, want) || !w.index[w.acked[2]] {
		t.Error(rests)
	}
	w.poison = map[string]bool{}
	w.settle(t)
	if _, err := w.procs[0].Step(context.Background()); err != nil {
		t.Fatal(err)
	}
	// By hand: at once, and listed when it fails.
	w.receive(t, 1)
	w.poison[w.acked[3]] = true
	s, _ := in.Get(context.Background(), w.acked[3])
	if err := w.procs[0].Merge(context.Background(), s); err == nil {
		t.Error("merged")
	}
	w.check(t)
	if s, _ = in.Get(context.Background(), w.acked[3]); s.Retry.Tries != 1 || s.Retry.Reason != "it cannot be read" {
		t.Errorf("%+v", s.Retry)
	}
	w.poison = map[string]bool{}
	if err := w.procs[0].Merge(context.Background(), s); err != nil {
		t.Error(err)
	}
	w.settle(t)
}

// Run merges new events, pauses on store errors, passes each event once, and logs once a minute.
func TestMergeRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t)
		w := newWorld(inbox.New(s.Bulk, "https://service.test", "machine"), 1)
		m, reported, lines := w.procs[0], []string{}, &countLines{}
		m.Now, m.Log = time.Now, slog.New(slog.NewTextHandler(lines, nil))
		m.Passed = func(_ context.Context, s receiver.Stored) { reported = append(reported, s.Key) }
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		wake := make(chan struct{}, 10)
		go func() { defer close(done); m.Run(ctx, wake, 5*time.Second) }()
		w.receive(t, 2)
		wake <- struct{}{}
		synctest.Wait()
		if len(reported) != 2 || !w.index[w.acked[1]] {
			t.Error(reported)
		}
		w.faults.set(func(string) (bool, bool) { return true, false })
		w.receive(t, 2)
		time.Sleep(10 * time.Minute)
		if n := lines.n.Load(); n < 5 || n > 11 {
			t.Errorf("%d lines in ten minutes of trouble", n)
		}
		w.faults.set(nil)
		time.Sleep(2 * time.Minute)
		cancel()
		<-done
		if !slices.Equal(reported, w.acked) {
			t.Error(reported)
		}
	})
}
