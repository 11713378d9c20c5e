package store

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// settle is how long events gather before they are reported as one.
const settle = 250 * time.Millisecond

// watchers are notified of writes; one watch of the folder serves all consoles of a server.
type watchers struct {
	mu   sync.Mutex
	subs map[chan struct{}]struct{} // guarded by mu
	end  context.CancelFunc         // guarded by mu: of the look; nil while no one watches
}

// Watch sends a value soon after any process wrote to the databases, until ctx ends. It is a hint: a value may come
// without a change; if the system does not support it, ok is false and the caller must poll.
func (s *Store) Watch(ctx context.Context) (written <-chan struct{}, ok bool) {
	if s.Core.engine != SQLite || s.Core.path == "" {
		return nil, false
	}
	w := &s.watching
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end == nil {
		events, err := watchFolder(filepath.Dir(s.Core.path))
		if err != nil {
			return nil, false
		}
		look, end := context.WithCancel(context.WithoutCancel(ctx))
		w.subs, w.end = map[chan struct{}]struct{}{}, end
		stop := context.AfterFunc(look, func() { _ = events.Close() })
		go func() {
			defer stop()
			w.look(look, events)
		}()
	}
	out := make(chan struct{}, 1)
	w.subs[out] = struct{}{}
	context.AfterFunc(ctx, func() { w.leave(out) })
	return out, true
}

// leave takes one away; the last one ends the look.
func (w *watchers) leave(out chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, there := w.subs[out]; !there {
		return
	}
	delete(w.subs, out)
	if len(w.subs) == 0 {
		w.end()
		w.subs, w.end = nil, nil
	}
}

// look passes events on to all until they end.
func (w *watchers) look(ctx context.Context, events *os.File) {
	buf := make([]byte, 4096)
	for {
		if _, err := events.Read(buf); err != nil {
			return
		}
		t := time.NewTimer(settle)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return
		}
		drainEvents(events, buf) // the first notification covers them
		w.notify(ctx)
	}
}

func (w *watchers) notify(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil { // those who watch now have a look of their own
		return
	}
	for out := range w.subs {
		select {
		case out <- struct{}{}:
		default:
		}
	}
}
