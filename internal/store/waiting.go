package store

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// How long a writer waits for the others: stuckWait during stuckFor after a wait
// that ended without the lock, so that a command with several writes does not wait
// as long for each of them.
const (
	busyWait  = 10 * time.Second
	stuckWait = time.Second
	stuckFor  = time.Minute
)

// liteWait is how long SQLite itself waits for a lock, which cannot be cut short.
const liteWait = 2500 * time.Millisecond

// patience is how long the writers of a file still wait.
type patience struct{ stuck atomic.Int64 } // when a wait ended without the lock, Unix time in ns; 0 since it was got

func (p *patience) left() time.Duration {
	if at := p.stuck.Load(); at != 0 && time.Since(time.Unix(0, at)) < stuckFor {
		return stuckWait
	}
	return busyWait
}

// gaveUp is the error of a wait that ended with ctxErr, or by itself.
func (p *patience) gaveUp(path string, ctxErr error) error {
	if errors.Is(ctxErr, context.Canceled) {
		return ctxErr
	}
	p.stuck.Store(time.Now().UnixNano())
	return &Error{Kind: Busy, Where: path, Err: ctxErr}
}

// patiently runs do, which writes, again while a program that knows no queue
// holds the file.
func (db *DB) patiently(ctx context.Context, do func() error) error {
	err := do()
	if db.turn == nil {
		return err
	}
	if !IsKind(err, Busy) {
		db.turn.busy.stuck.Store(0)
		return err
	}
	for end := time.Now().Add(db.turn.busy.left() - liteWait); IsKind(err, Busy) && ctx.Err() == nil && time.Now().Before(end); {
		err = do()
	}
	if IsKind(err, Busy) {
		return db.turn.busy.gaveUp(db.path, ctx.Err())
	}
	return err
}

// slowAfter is how long a store may keep its caller waiting before people are
// told what for.
const slowAfter = 2 * time.Second

// tellAgain is the least time between two notices of one database.
const tellAgain = 15 * time.Second

// notices tells people what a store waits for.
type notices struct {
	tell func(string) // nil: nobody is told

	mu   sync.Mutex
	last time.Time // guarded by mu
}

// notice tells a sentence, unless one was told a moment ago.
func (db *DB) notice(sentence string) {
	n := &db.notices
	if n.tell == nil {
		return
	}
	n.mu.Lock()
	late := time.Since(n.last) < tellAgain
	if !late {
		n.last = time.Now()
	}
	n.mu.Unlock()
	if !late {
		n.tell(sentence)
	}
}

// slow tells people what a call waits for when it takes long; stop must be
// called when it has ended.
func (db *DB) slow() (stop func()) {
	if db.notices.tell == nil {
		return func() {}
	}
	t := time.AfterFunc(slowAfter, func() { db.notice(db.waitsFor()) })
	return func() { t.Stop() }
}

func (db *DB) waitsFor() string {
	if db.engine == Postgres {
		return "Waiting for " + db.where() + ", which has not answered yet."
	}
	return "Waiting for " + db.where() + ", which another process holds; see which program has it open."
}
