package store

import (
	"context"

	"opdeck/internal/store/files"
)

// WriteIdle is WriteUnsynced for work that can wait: while anybody else writes to a
// SQLite file, or waits to, it does nothing and returns an *Error of kind Busy. A server
// lets others in anyway.
func (db *DB) WriteIdle(ctx context.Context, fn func(tx *Tx) error) error {
	return db.writeIn(ctx, db.unsynced, db.whenIdle, fn)
}

// whenIdle takes the turn to write to a SQLite file if nobody has it.
func (db *DB) whenIdle(context.Context) (done func(), err error) {
	if err := db.identity.check(true); err != nil {
		return nil, err
	}
	return db.queue.tryAcquire()
}

// tryAcquire is acquire that does not wait: others who write are an *Error of kind Busy.
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
