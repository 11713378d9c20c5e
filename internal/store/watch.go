package store

import (
	"context"
	"io"
	"path/filepath"
	"time"
)

// settle is how long events gather before they are told as one.
const settle = 250 * time.Millisecond

// Watch gives a value soon after any process wrote to the databases, until ctx
// ends. It is a hint: some are about nothing, and where the system cannot tell
// (ok is false) none come and the caller must look now and then.
func (s *Store) Watch(ctx context.Context) (written <-chan struct{}, ok bool) {
	if s.Core.engine != SQLite || s.Core.path == "" {
		return nil, false
	}
	events, err := watchFolder(filepath.Dir(s.Core.path))
	if err != nil {
		return nil, false
	}
	out := make(chan struct{}, 1)
	stop := context.AfterFunc(ctx, func() { _ = events.Close() })
	go func() {
		defer stop()
		tell(ctx, events, out)
	}()
	return out, true
}

// tell passes events on until they end.
func tell(ctx context.Context, events io.Reader, out chan<- struct{}) {
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
		select {
		case out <- struct{}{}:
		default:
		}
	}
}
