package store

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestQueueEndsWithItsWriters: close waits for the writer; waiting and later callers get an error that the queue is
// closed. No one uses the lock's file afterwards, which the race detector would see.
func TestQueueEndsWithItsWriters(t *testing.T) {
	q, err := openQueue(filepath.Join(t.TempDir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	done, err := q.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			for {
				done, err := q.acquire(t.Context())
				if err != nil {
					if !errors.Is(err, os.ErrClosed) {
						t.Error(err)
					}
					return
				}
				done()
			}
		})
	}
	writers.Go(func() {
		<-q.ended
		done()
	})
	if err := q.close(); err != nil {
		t.Error(err)
	}
	writers.Wait()
	if _, err := q.acquire(t.Context()); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	if err := q.close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
}
