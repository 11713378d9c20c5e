package index

import (
	"context"
	"errors"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/index/filter"
)

// Mode says where the index is stored.
type Mode int

// The modes.
const (
	Shared Mode = iota // in the store that all instances share
	Memory             // in this process only: pass New a store in memory
)

// Index is the local mirror of one machine account's operations. It is safe for concurrent use.
type Index struct {
	clock
	subscribers
	store Store
	mode  Mode
	// Beside is asked by filters for terms such as has:doubt. It is set before the first query; without it they match
	// nothing.
	Beside Beside
	// RefusedLocks reads the documents that the service refused to remove; nil: none is kept.
	RefusedLocks func(ctx context.Context) api.RefusedLocks
	// MaxAge is how old the newest read may be to be called now ([index] max_age). It is set like Beside.
	MaxAge time.Duration
}

// New returns an index over a store.
func New(store Store, mode Mode, now func() time.Time) *Index {
	return &Index{store: store, mode: mode, clock: clock{store: store, now: now}}
}

func (x *Index) Mode() Mode { return x.mode }

// Page merges a page of the list that was not read by the sync; sent is this host's time of the request.
func (x *Index) Page(ctx context.Context, ops []api.Operation, sent time.Time) (Merged, error) {
	return x.saw(ctx, List, ops, sent)
}

// Read merges the answer to a single read or a write; sent is this host's time of the request.
func (x *Index) Read(ctx context.Context, op api.Operation, sent time.Time) (Merged, error) {
	return x.saw(ctx, Read, []api.Operation{op}, sent)
}

func (x *Index) saw(ctx context.Context, from Origin, ops []api.Operation, sent time.Time) (Merged, error) {
	if len(ops) == 0 {
		return Merged{}, nil
	}
	at, err := x.StoreTime(ctx, sent)
	if err != nil {
		return Merged{}, err
	}
	entries := make([]Entry, len(ops))
	for i, o := range ops {
		entries[i] = Entry{Op: o, Origin: from, Seen: at}
	}
	return x.commit(ctx, Batch{Entries: entries})
}

// Named keeps names of customers and accounts that were read elsewhere than in operations: operations that lack them
// have them from then on.
func (x *Index) Named(ctx context.Context, customers []api.CustomerRef, sides []api.Party) error {
	if err := x.store.Named(ctx, customers, sides); err != nil {
		return err
	}
	_, err := x.Poll(ctx)
	return err
}

// Put merges states; their times are the store's.
func (x *Index) Put(ctx context.Context, entries []Entry) (Merged, error) {
	return x.commit(ctx, Batch{Entries: entries})
}

// commit commits a batch and notifies the subscribers.
func (x *Index) commit(ctx context.Context, b Batch) (Merged, error) {
	if len(b.Entries) == 0 && len(b.Gone) == 0 && b.Swap == nil {
		return Merged{}, nil
	}
	m, err := x.store.Put(ctx, b)
	if err == nil && m.fresh() {
		_, err = x.Poll(ctx)
	}
	return m, err
}

// Owe makes a single read of an operation due, even if it is not known.
func (x *Index) Owe(ctx context.Context, opid string) error {
	now, err := x.store.Now(ctx)
	if err != nil {
		return err
	}
	return x.store.Owe(ctx, opid, now)
}

// Event merges a webhook. A read of the operation becomes due unless the event has words for all codes and the index
// knew the operation.
func (x *Index) Event(ctx context.Context, e Event) (Merged, error) {
	known, err := x.store.Get(ctx, e.OPID)
	if err != nil && !errors.Is(err, ErrNone) {
		return Merged{}, err
	}
	if e.Seen, err = x.StoreTime(ctx, e.Seen); err != nil {
		return Merged{}, err
	}
	entry, same, err := e.entry(known, len(known.Op.Raw) > 0)
	if err != nil {
		return Merged{}, err
	}
	if same {
		return Merged{Same: 1}, nil
	}
	return x.Put(ctx, []Entry{entry})
}

// Unmasked returns the store, for the program itself: it does not check permissions.
func (x *Index) Unmasked() Store { return x.store }

// Version increases with every change by any process.
func (x *Index) Version(ctx context.Context) (int64, error) { return x.store.Version(ctx) }

// Poll reads the store's version (one small read) and notifies the subscribers if it has increased.
func (x *Index) Poll(ctx context.Context) (bool, error) {
	v, err := x.Version(ctx)
	if err != nil {
		return false, err
	}
	return x.announce(v), nil
}

// Watch polls for changes by other processes until ctx ends. It ignores errors of the store.
func (x *Index) Watch(ctx context.Context, every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			_, _ = x.Poll(ctx) // the next tick polls again
		}
	}
}

// Suggest is filter completion with values from the index.
func (x *Index) Suggest(ctx context.Context, input string, cursor int) []filter.Suggestion {
	return filter.Operations().Complete(input, cursor, func(field, typed string) []string {
		v, _ := x.Values(ctx, field, typed, 12) // without values there are no suggestions
		return v
	})
}
