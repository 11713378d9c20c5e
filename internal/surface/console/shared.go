package console

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/mask"
	"opdeck/internal/store"
	"opdeck/views/operations"
)

const (
	maxAnswers = 32  // per state of the index
	maxShared  = 600 // operations of one generation shared by consoles
)

// Shared is shared by the consoles of one server: most of them show the same rows, so those are read, decoded and
// stored once, until the index is written to. Masked and unmasked answers are separate, so that no one gets values
// that their role may not see.
type Shared struct {
	app      *app.App
	readings *readings

	mu      sync.Mutex
	stamp   store.Version            // guarded by mu: index version of the answers
	version int64                    // guarded by mu: likewise
	windows answers[index.Window]    // guarded by mu
	counts  answers[int64]           // guarded by mu
	young   map[string]api.Operation // guarded by mu: by mask and id
	old     map[string]api.Operation // guarded by mu: the previous generation
}

// NewShared returns the shared state for consoles of a.
func NewShared(a *app.App) *Shared {
	return &Shared{app: a, readings: newReadings(sharedFor), windows: answers[index.Window]{}, counts: answers[int64]{},
		young: map[string]api.Operation{}}
}

// answers maps queries to answers.
type answers[T any] map[string]*answer[T]

// answer is complete, or being read.
type answer[T any] struct {
	ready chan struct{} // closed when the rest is set
	value T
	err   error
}

// common is the list of operations for a console of a server.
type common struct {
	listing
	shared *Shared
}

// rowsFor is the index for the list of operations; without other consoles nothing is shared.
func (s *Shared) rowsFor(l listing) operations.Index {
	if s == nil {
		return l
	}
	return common{l, s}
}

// Window reads rows, or returns those that another console has read from the same state of the index. The slice is
// the caller's; the texts are shared.
func (c common) Window(ctx context.Context, q index.Query) (index.Window, error) {
	read := func() (index.Window, error) {
		w, err := c.listing.Window(ctx, q)
		c.shared.intern(mask.Needed(ctx), w.Rows)
		return w, err
	}
	if !c.shared.current(ctx) || !q.Filter.Empty() { // a filter may depend on the time
		return read()
	}
	q.Filter = filter.OperationExpr{}
	w, err := ask(ctx, c.shared, c.shared.windows, fmt.Sprintf("%v %+v", mask.Needed(ctx), q), read)
	w.Rows = slices.Clone(w.Rows)
	return w, err
}

// Consistent uses the shared answers if no one writes to the index meanwhile, else a snapshot of its own.
func (c common) Consistent(ctx context.Context, fn func(operations.Index) error) error {
	before, err := c.x.Version(ctx)
	if err != nil {
		return err
	}
	if err := fn(c); err != nil {
		return err
	}
	if after, err := c.x.Version(ctx); err != nil || after == before {
		return err
	}
	return c.listing.Consistent(ctx, fn)
}

// Count counts all rows once for each state of the index.
func (c common) Count(ctx context.Context, f filter.OperationExpr) (int64, error) {
	read := func() (int64, error) { return c.listing.Count(ctx, f) }
	if !c.shared.current(ctx) || !f.Empty() {
		return read()
	}
	return ask(ctx, c.shared, c.shared.counts, "", read)
}

// current reports whether answers can be shared, and drops those of an earlier state of the index. Only SQLite files
// have versions.
func (s *Shared) current(ctx context.Context) bool {
	stamp, versioned := s.app.Store.Version(ctx)
	if !versioned || s.app.Index.Mode() != index.Shared {
		return false
	}
	version, err := s.app.Index.Version(ctx)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if stamp = stamp.Index(); stamp != s.stamp || version != s.version {
		s.stamp, s.version = stamp, version
		clear(s.windows)
		clear(s.counts)
	}
	return true
}

// ask returns the answer to a query that was made already, or reads it while concurrent callers wait. If the reader
// is cancelled, each waiter reads for itself.
func ask[T any](ctx context.Context, s *Shared, all answers[T], question string, read func() (T, error)) (T, error) {
	s.mu.Lock()
	a, there := all[question]
	if !there {
		a = &answer[T]{ready: make(chan struct{})}
		if len(all) >= maxAnswers {
			clear(all)
		}
		all[question] = a
	}
	s.mu.Unlock()
	if !there {
		a.value, a.err = read()
		if a.err != nil {
			s.mu.Lock()
			if all[question] == a {
				delete(all, question)
			}
			s.mu.Unlock()
		}
		close(a.ready)
		return a.value, a.err
	}
	select {
	case <-a.ready:
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
	if a.err != nil {
		return read()
	}
	return a.value, nil
}

// intern replaces equal texts in rows by the copies of other consoles, so that an operation is stored once.
func (s *Shared) intern(masked bool, rows []index.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range rows {
		op := rows[i].Op
		if len(op.Raw) == 0 {
			continue
		}
		id := fmt.Sprint(masked, " ", op.OPID)
		held, there := s.young[id]
		if !there {
			held, there = s.old[id]
		}
		if there && bytes.Equal(held.Raw, op.Raw) {
			op = held
			rows[i].Op = held
		}
		if len(s.young) >= maxShared {
			s.old, s.young = s.young, map[string]api.Operation{}
		}
		s.young[id] = op
	}
}
