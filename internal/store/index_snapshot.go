package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"opdeck/internal/domain/index"
)

// Now is the time of the store's clock.
func (x *OperationIndex) Now(ctx context.Context) (time.Time, error) {
	now, err := x.now(ctx, x.q)
	return time.Unix(0, int64(now)).UTC(), err
}

// Snapshot runs fn with the index as it is at one moment, however many
// questions fn asks.
func (x *OperationIndex) Snapshot(ctx context.Context, fn func(index.Store) error) error {
	if _, ok := x.q.(snapshot); ok {
		return fn(x)
	}
	opt := &sql.TxOptions{ReadOnly: true}
	if x.postgres() {
		opt.Isolation = sql.LevelRepeatableRead
	}
	tx, err := x.db.r.BeginTx(ctx, opt)
	if err != nil {
		return x.db.explain(err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	at := *x
	at.q = snapshot{x.db, tx}
	return fn(&at)
}

// snapshot is a reading transaction.
type snapshot struct {
	db *DB
	tx *sql.Tx
}

var errSnapshot = errors.New("store: a snapshot is for reading")

func (s snapshot) Engine() Engine { return s.db.engine }

func (s snapshot) Exec(context.Context, string, ...any) (sql.Result, error) { return nil, errSnapshot }

func (s snapshot) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := s.tx.QueryContext(ctx, s.db.bind(query), args...)
	return rows, s.db.explain(err)
}

func (s snapshot) QueryRow(ctx context.Context, query string, args ...any) *Row {
	return &Row{db: s.db, row: s.tx.QueryRowContext(ctx, s.db.bind(query), args...), stop: func() {}}
}
