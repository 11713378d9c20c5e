package app

import (
	"maps"
	"slices"
	"sync"
)

// observers calls functions with each event.
type observers[T any] struct {
	mu  sync.Mutex
	fns map[int]func(T) // guarded by mu
	n   int             // guarded by mu
}

func (o *observers[T]) add(fn func(T)) (stop func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fns == nil {
		o.fns = map[int]func(T){}
	}
	o.n++
	id := o.n
	o.fns[id] = fn
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.fns, id)
	}
}

func (o *observers[T]) notify(v T) {
	o.mu.Lock()
	fns := slices.Collect(maps.Values(o.fns))
	o.mu.Unlock()
	for _, fn := range fns {
		fn(v)
	}
}
