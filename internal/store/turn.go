package store

import (
	"context"
	"fmt"
	"os"
)

// turn lines up the writers of one SQLite file, within the process and across
// processes. SQLite alone lets waiting writers sleep and look again, so that a
// busy one keeps the lock for seconds; the kernel wakes ours when it is free.
// The file lock only orders: SQLite's own lock still decides, and a program
// that does not know the queue does no harm.
type turn struct {
	file *os.File
	slot chan struct{} // guards file: a token is there when nobody here writes
}

// openTurn opens the lock file path, which is never deleted.
func openTurn(path string) (*turn, error) {
	if err := ownFile(path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0o600) // Go opens close-on-exec
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	t := &turn{file: f, slot: make(chan struct{}, 1)}
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
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ok, err := lockFile(t.file, true, false)
	if err == nil && !ok {
		err = t.wait(ctx)
	} else if err != nil {
		t.slot <- struct{}{}
	}
	if err != nil {
		return nil, err
	}
	free := false
	return func() {
		if !free {
			free = true
			t.release()
		}
	}, nil
}

// wait blocks in the kernel on another goroutine, so that the caller can give up.
func (t *turn) wait(ctx context.Context) error {
	got := make(chan error, 1)
	go func() {
		_, err := lockFile(t.file, true, true)
		got <- err
	}()
	select {
	case err := <-got:
		if err != nil {
			t.slot <- struct{}{}
			return fmt.Errorf("store: write queue: %w", err)
		}
		return nil
	case <-ctx.Done():
		go func() { // the lock comes some day: pass it on
			if <-got == nil {
				_ = unlockFile(t.file)
			}
			t.slot <- struct{}{}
		}()
		return ctx.Err()
	}
}

func (t *turn) release() {
	_ = unlockFile(t.file)
	t.slot <- struct{}{}
}

func (t *turn) close() error {
	if t == nil {
		return nil
	}
	return t.file.Close()
}
