package store

import (
	"context"

	"opdeck/internal/store/files"
)

// WriteIdle is WriteUnsynced for low-priority work: if anyone else writes to a SQLite file, or waits to, it does
// nothing and returns an *Error of kind Busy. A database server allows concurrent writers anyway.
func (db *DB) WriteIdle(ctx context.Context, fn func(tx *Tx) error) error {
	return db.writeIn(ctx, db.unsynced, db.whenIdle, fn)
}

// whenIdle acquires the right to write to a SQLite file if it is free.
func (db *DB) whenIdle(context.Context) (done func(), err error) {
	if err := db.identity.check(true); err != nil {
		return nil, err
	}
	return db.queue.tryAcquire()
}

// tryAcquire is acquire without waiting: other writers are an *Error of kind Busy.
func (q *writeQueue) tryAcquire() (done func(), err error) {
	if q == nil {
		return func() {}, nil
	}
	select {
	case <-q.slot:
	default:
		return nil, &Error{Kind: Busy, Where: q.path}
	}
	if ok, err := files.Lock(q.file, true, false); err != nil || !ok {
		q.slot <- struct{}{}
		return nil, &Error{Kind: Busy, Where: q.path, Err: err}
	}
	return func() {
		_ = files.Unlock(q.file)
		q.slot <- struct{}{}
	}, nil
}
