package store

import (
	"context"
	"fmt"
	"os"
	"time"

	"opdeck/internal/store/files"
)

// turn lines up the writers of one SQLite file, within the process and across
// processes. SQLite alone lets waiting writers sleep and look again, so that a
// busy one keeps the lock for seconds; the kernel wakes ours when it is free.
// The file lock only orders: SQLite's own lock still decides, and a program
// that does not know the queue does no harm.
type turn struct {
	path string // of the database, for people
	file *os.File
	slot chan struct{}        // guards file: a token is there when nobody here writes
	slow func() (stop func()) // tells people of a long wait
	busy *patience
}

// openTurn opens the lock file of a database, which is never deleted.
func openTurn(path string) (*turn, error) {
	file := path + ".lock"
	f, err := files.OpenOwn(file)
	if err != nil {
		return nil, fileError(file, err)
	}
	t := &turn{path: path, file: f, slot: make(chan struct{}, 1), slow: func() func() { return func() {} }, busy: new(patience)}
	t.slot <- struct{}{}
	return t, nil
}

// take waits until the caller may write; done lets the next one in and may be
// called twice. A nil turn lets everybody in.
func (t *turn) take(ctx context.Context) (done func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	select {
	case <-t.slot:
	default:
		if err := t.await(ctx, t.slot, nil); err != nil {
			return nil, err
		}
	}
	ok, err := files.Lock(t.file, true, false)
	switch {
	case err != nil:
		t.slot <- struct{}{}
		return nil, fmt.Errorf("store: write queue: %w", err)
	case !ok:
		if err := t.wait(ctx); err != nil {
			return nil, err
		}
	}
	free := false
	return func() {
		if !free {
			free = true
			t.release()
		}
	}, nil
}

// await takes a token from c; it gives up with ctx, or as Busy when its patience
// ends.
func (t *turn) await(ctx context.Context, c <-chan struct{}, gaveUp func()) error {
	defer t.slow()()
	late := time.NewTimer(t.busy.left())
	defer late.Stop()
	var err error
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		err = t.busy.gaveUp(t.path, ctx.Err())
	case <-late.C:
		err = t.busy.gaveUp(t.path, nil)
	}
	if gaveUp != nil {
		gaveUp()
	}
	return err
}

// wait blocks in the kernel on another goroutine, so that the caller can give
// up. The slot stays taken until the lock came and was passed on.
func (t *turn) wait(ctx context.Context) error {
	got := make(chan struct{})
	var failed error
	go func() {
		_, failed = files.Lock(t.file, true, true)
		close(got)
	}()
	err := t.await(ctx, got, func() {
		go func() {
			if <-got; failed == nil {
				_ = files.Unlock(t.file)
			}
			t.slot <- struct{}{}
		}()
	})
	if err == nil && failed != nil {
		t.slot <- struct{}{}
		return fmt.Errorf("store: write queue: %w", failed)
	}
	return err
}

func (t *turn) release() {
	_ = files.Unlock(t.file)
	t.slot <- struct{}{}
}

func (t *turn) close() error {
	if t == nil {
		return nil
	}
	return t.file.Close()
}
