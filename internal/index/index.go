package index

import (
	"context"
	"errors"
	"sync"
	"time"

	"opdeck/api"
	"opdeck/internal/index/filter"
)

// Mode says what the index keeps.
type Mode int

// The modes.
const (
	Shared Mode = iota // in the store that all instances share
	Memory             // in this process only: give New a store in memory
	Off                // nothing: every question answers ErrOff
)

// Index is the local mirror of one machine account's operations. It is safe for
// many goroutines.
type Index struct {
	Store
	mode Mode
	now  func() time.Time

	mu      sync.Mutex
	subs    map[chan int64]struct{} // guarded by mu
	version int64                   // guarded by mu; the last one told
}

// New makes an index over a store. With Off the store may be nil.
func New(store Store, mode Mode, now func() time.Time) *Index {
	if mode == Off {
		store = offStore{}
	}
	return &Index{Store: store, mode: mode, now: now, subs: map[chan int64]struct{}{}}
}

// Mode tells what the index keeps.
func (x *Index) Mode() Mode { return x.mode }

// Page merges a page of the list. With Off it does nothing, as do the others.
func (x *Index) Page(ctx context.Context, ops []api.Operation, seen time.Time) (Merged, error) {
	entries := make([]Entry, len(ops))
	for i, o := range ops {
		entries[i] = Entry{Op: o, Origin: List, Seen: seen}
	}
	return x.Put(ctx, entries)
}

// Read merges the answer to a single read or a write.
func (x *Index) Read(ctx context.Context, op api.Operation, seen time.Time) (Merged, error) {
	return x.Put(ctx, []Entry{{Op: op, Origin: Read, Seen: seen}})
}

// Put merges states and tells those who wait for changes.
func (x *Index) Put(ctx context.Context, entries []Entry) (Merged, error) {
	if x.mode == Off || len(entries) == 0 {
		return Merged{}, nil
	}
	m, err := x.Store.Put(ctx, entries)
	if err == nil && m.Fresh() {
		_, err = x.Poll(ctx)
	}
	return m, err
}

// Event merges a webhook. The operation is owed a read unless the event gave
// words for all its codes and the index knew the operation.
func (x *Index) Event(ctx context.Context, e Event) (Merged, error) {
	if x.mode == Off {
		return Merged{}, nil
	}
	known, err := x.Get(ctx, e.OPID)
	if err != nil && !errors.Is(err, ErrNone) {
		return Merged{}, err
	}
	entry, same, err := e.entry(known, err == nil)
	if err != nil {
		return Merged{}, err
	}
	if same {
		return Merged{Same: 1}, nil
	}
	return x.Put(ctx, []Entry{entry})
}

// Changes gives a channel that receives the index's version after changes, of
// this process at once and of others when Watch sees them. Only the newest
// version waits in it. stop ends the subscription.
func (x *Index) Changes() (changes <-chan int64, stop func()) {
	c := make(chan int64, 1)
	x.mu.Lock()
	x.subs[c] = struct{}{}
	x.mu.Unlock()
	return c, func() {
		x.mu.Lock()
		delete(x.subs, c)
		x.mu.Unlock()
	}
}

// Poll asks the store for its version (one small read) and tells the
// subscribers when it has grown.
func (x *Index) Poll(ctx context.Context) (bool, error) {
	v, err := x.Version(ctx)
	if err != nil {
		return false, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if v == x.version {
		return false, nil
	}
	x.version = v
	for c := range x.subs {
		select {
		case <-c: // the older one nobody took
		default:
		}
		c <- v
	}
	return true, nil
}

// Watch looks for changes of other processes every interval until ctx ends.
// Trouble with the store does not end it.
func (x *Index) Watch(ctx context.Context, every time.Duration) {
	if x.mode == Off {
		return
	}
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			_, _ = x.Poll(ctx) // the next tick asks again
		}
	}
}

// Freshness is how old the index as a whole is.
type Freshness struct {
	AsOf     time.Time // when the newest page of the list was last read; zero for never
	Complete bool      // every page has been read once
	Owed     int       // operations that wait for a single read now, at most 1,000
}

// Freshness tells how old what the list shows is.
func (x *Index) Freshness(ctx context.Context) (Freshness, error) {
	p, err := LoadProgress(ctx, x.Store)
	if err != nil {
		return Freshness{}, err
	}
	owed, err := x.Owed(ctx, x.now(), 1000)
	return Freshness{AsOf: p.Newest, Complete: !p.Finished.IsZero(), Owed: len(owed)}, err
}

// Suggest is filter completion with the values that the index has seen.
func (x *Index) Suggest(ctx context.Context, input string, cursor int) []filter.Suggestion {
	return filter.Operations().Complete(input, cursor, func(field, typed string) []string {
		v, _ := x.Values(ctx, field, typed, 12) // no values are no suggestions
		return v
	})
}
