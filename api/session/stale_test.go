package session

import (
	"context"
	"testing"
	"time"

	"opdeck/api/secret"
)

// lateStore keeps the row as it is after each mark and shows it once more
// when asked: someone who reads just before another gives the lease back.
type lateStore struct {
	Store
	marked *Row
	late   bool // the next Load shows marked
}

func (s *lateStore) Mark(ctx context.Context, key Key, m Mark) (time.Duration, error) {
	wait, err := s.Store.Mark(ctx, key, m)
	row, _ := s.Store.Load(ctx, key)
	s.marked = &row
	return wait, err
}

func (s *lateStore) Load(ctx context.Context, key Key) (Row, error) {
	if s.late {
		s.late = false
		return *s.marked, nil
	}
	return s.Store.Load(ctx, key)
}

// freeLock is a liveness lock that everyone gets and that no one holds.
type freeLock struct{}

func (freeLock) Hold(Key) (func(), bool) { return func() {}, true }
func (freeLock) Gone(Key) bool           { return true }

// A process that saw the lease before the refusal, and its lock free after it,
// gets the lease with an old row in hand. The refused password stays refused.
func TestRefusedPasswordIsSeenUnderTheLease(t *testing.T) {
	inWorld(t, func(w *world) {
		change := func(c *Config) {
			c.Password = func(context.Context) (secret.Value, error) { return secret.New("wrong"), nil }
			c.Liveness = freeLock{}
		}
		store := &lateStore{Store: w.store}
		a, b := w.on(store, change), w.on(store, change)
		w.kindIs(w.call(a), CredentialsRefused)
		store.late = true
		w.kindIs(w.call(b), CredentialsRefused)
		w.counts(1, 0)
	})
}
