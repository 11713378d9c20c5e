package store

import (
	"context"
	"database/sql"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"opdeck/api/limit"
)

// Shift is how far a test has moved the clock of several handles.
type Shift struct{ atomic.Int64 }

// Add moves the clock.
func (s *Shift) Add(d time.Duration) { s.Int64.Add(int64(d)) }

type shiftedClock struct {
	limit.Clock
	shift *Shift
}

func (c shiftedClock) Wall() time.Time { return c.Clock.Wall().Add(time.Duration(c.shift.Load())) }
func (c shiftedClock) Steady() time.Duration {
	return c.Clock.Steady() + time.Duration(c.shift.Load())
}

// NewShiftedSession is NewSession with a clock that shift moves, on a run of the
// machine called boot ("" for the real one).
func NewShiftedSession(ctx context.Context, core *DB, key Key, shift *Shift, boot string) (*Session, error) {
	c, err := shifted(ctx, core, shift, boot)
	if err != nil {
		return nil, err
	}
	return NewSession(ctx, core, SessionOptions{Key: key, clock: c})
}

func shifted(ctx context.Context, core *DB, shift *Shift, boot string) (clock, error) {
	if core.engine == Postgres {
		return shiftedServer{&serverClock{}, shift}, nil
	}
	steady, id, err := bootClock()
	if err != nil {
		return nil, err
	}
	if boot != "" {
		id = boot
	}
	return newHostClock(ctx, core, shiftedClock{systemClock{steady}, shift}, id)
}

// shiftedServer is the database's clock with an offset.
type shiftedServer struct {
	*serverClock
	shift *Shift
}

func (c shiftedServer) now(ctx context.Context, q Querier) (time.Duration, error) {
	at, err := c.serverClock.now(ctx, q)
	return at + time.Duration(c.shift.Load()), err
}

func (c shiftedServer) settle(us int64) time.Duration {
	return c.serverClock.settle(us) + time.Duration(c.shift.Load())
}

// WithSystem fakes the file system that folders are on.
func (o Options) WithSystem(name func(dir string) (string, error)) Options {
	o.system = name
	return o
}

// FillUp leaves no room for further pages.
func (db *DB) FillUp(t testing.TB) {
	t.Helper()
	for _, pool := range []*sql.DB{db.w, db.hasty} {
		var n, most int
		if err := pool.QueryRow("PRAGMA page_count").Scan(&n); err != nil {
			t.Fatal(err)
		}
		if err := pool.QueryRow("PRAGMA max_page_count = " + strconv.Itoa(n+2)).Scan(&most); err != nil {
			t.Fatal(err)
		}
	}
}

// LockFile takes an exclusive kernel lock.
func LockFile(f *os.File) error {
	_, err := lockFile(f, true, true)
	return err
}

// UnlockFile gives it back.
func UnlockFile(f *os.File) error { return unlockFile(f) }

// ForgetLook makes the next use look at the file's name, as it does a second later.
func (db *DB) ForgetLook() {
	db.identity.mu.Lock()
	defer db.identity.mu.Unlock()
	db.identity.looked = time.Time{}
}
