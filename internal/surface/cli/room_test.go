package cli

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/internal/store"
)

// TestServeWaitsForRoom: a full disk is waited out, and said once; any other end is an end.
func TestServeWaitsForRoom(t *testing.T) {
	other := errors.New("another end")
	for _, full := range []error{&store.Error{Kind: store.Full, Where: "the store"}, fmt.Errorf("key: %w", syscall.ENOSPC)} {
		synctest.Test(t, func(t *testing.T) {
			tries, said := 0, 0
			began := time.Now()
			err := whenRoom(t.Context(), func(string) { said++ }, func() error {
				if tries++; tries < 4 {
					return full
				}
				return other
			})
			if !errors.Is(err, other) || tries != 4 || said != 1 || time.Since(began) != 3*roomEvery {
				t.Errorf("%v after %d tries and %s, said %d times", err, tries, time.Since(began), said)
			}
			ctx, cancel := context.WithTimeout(t.Context(), roomEvery/2)
			defer cancel()
			if err := whenRoom(ctx, func(string) {}, func() error { return full }); !errors.Is(err, full) {
				t.Errorf("interrupted: %v", err)
			}
		})
	}
}
