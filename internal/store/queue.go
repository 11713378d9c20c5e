package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"opdeck/internal/store/files"
)

// writeQueue queues the writers of one SQLite file, within the process and across processes. SQLite alone makes
// waiting writers poll, so that a busy one keeps the lock for seconds; here the kernel wakes them when the lock is
// free. The file lock only orders: SQLite's own lock still decides, and a program without the queue does no harm.
type writeQueue struct {
	path  string // of the database, for people
	file  *os.File
	slot  chan struct{}        // guards file: holds a token while no writer of this process is active
	ended chan struct{}        // closed by close: no more tokens
	once  sync.Once            // closes ended
	slow  func() (stop func()) // reports a long wait to people
	stuck atomic.Int64         // when a wait ended without the lock, Unix time in ns; 0 after the lock was acquired
}

// lockSuffix ends the name of the lock file.
const lockSuffix = ".lock"

// openQueue opens the lock file of a database, which is never deleted.
func openQueue(path string) (*writeQueue, error) {
	file := path + lockSuffix
	f, err := files.OpenOwn(file)
	if err != nil {
		return nil, fileError(file, err)
	}
	q := &writeQueue{path: path, file: f, slot: make(chan struct{}, 1), ended: make(chan struct{}),
		slow: func() func() { return func() {} }}
	q.slot <- struct{}{}
	return q, nil
}

// acquire waits until the caller may write; done admits the next one and may be called twice. A nil queue admits
// everyone.
func (q *writeQueue) acquire(ctx context.Context) (done func(), err error) {
	if q == nil {
		return func() {}, nil
	}
	select {
	case <-q.slot:
	default:
		if err := q.wait(ctx, q.slot, nil); err != nil {
			return nil, err
		}
	}
	ok, err := files.Lock(q.file, true, false)
	switch {
	case err != nil:
		q.slot <- struct{}{}
		return nil, fmt.Errorf("store: write queue: %w", err)
	case !ok:
		if err := q.waitForLock(ctx); err != nil {
			return nil, err
		}
	}
	free := false
	return func() {
		if !free {
			free = true
			_ = files.Unlock(q.file)
			q.slot <- struct{}{}
		}
	}, nil
}

// wait takes a token from c. It returns when ctx ends, or with Busy after the longest wait, and then calls gaveUp.
func (q *writeQueue) wait(ctx context.Context, c <-chan struct{}, gaveUp func()) error {
	defer q.slow()()
	late := time.NewTimer(q.longest())
	defer late.Stop()
	var err error
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		err = q.busy(ctx.Err())
	case <-late.C:
		err = q.busy(nil)
	case <-q.ended:
		err = fmt.Errorf("store: write queue: %w", os.ErrClosed)
	}
	if gaveUp != nil {
		gaveUp()
	}
	return err
}

// waitForLock blocks in the kernel on another goroutine, so that the caller can give up. The slot stays taken until
// the lock was acquired and released.
func (q *writeQueue) waitForLock(ctx context.Context) error {
	got := make(chan struct{})
	var failed error
	go func() {
		_, failed = files.Lock(q.file, true, true)
		close(got)
	}()
	err := q.wait(ctx, got, func() {
		go func() {
			if <-got; failed == nil {
				_ = files.Unlock(q.file)
			}
			q.slot <- struct{}{}
		}()
	})
	if err == nil && failed != nil {
		q.slot <- struct{}{}
		return fmt.Errorf("store: write queue: %w", failed)
	}
	return err
}

// close ends the queue once no writer of this process is active; waiting and later callers get os.ErrClosed. If a
// writer does not end within stuckWait, the file stays open until the process ends.
func (q *writeQueue) close() error {
	if q == nil {
		return nil
	}
	q.once.Do(func() { close(q.ended) })
	late := time.NewTimer(stuckWait)
	defer late.Stop()
	select {
	case <-q.slot:
		return q.file.Close()
	case <-late.C:
		return nil
	}
}

// How long a writer waits for the others: stuckWait during stuckFor after a wait that ended without the lock, so that
// a command with several writes does not wait that long for each.
const (
	busyWait  = 10 * time.Second
	stuckWait = time.Second
	stuckFor  = time.Minute
)

// liteWait is how long SQLite itself waits for a lock; it cannot be interrupted.
const liteWait = 2500 * time.Millisecond

// longest is how long a writer waits now.
func (q *writeQueue) longest() time.Duration {
	if at := q.stuck.Load(); at != 0 && time.Since(time.Unix(0, at)) < stuckFor {
		return stuckWait
	}
	return busyWait
}

// busy is the error of a wait that ended with ctxErr or timed out.
func (q *writeQueue) busy(ctxErr error) error {
	if errors.Is(ctxErr, context.Canceled) {
		return ctxErr
	}
	q.stuck.Store(time.Now().UnixNano())
	return &Error{Kind: Busy, Where: q.path, Err: ctxErr}
}

// wrote notes how a write under the queue ended. A program without the queue may hold the file for longer than SQLite
// itself waits.
func (q *writeQueue) wrote(ctx context.Context, err error) error {
	switch {
	case q == nil:
	case IsKind(err, Busy):
		return q.busy(ctx.Err())
	default:
		q.stuck.Store(0)
	}
	return err
}

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
