package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Snapshot runs fn with the database as it is at one moment, however many
// questions fn asks. fn can only read.
func (db *DB) Snapshot(ctx context.Context, fn func(Querier) error) error {
	opt := &sql.TxOptions{ReadOnly: true}
	if db.engine == Postgres {
		opt.Isolation = sql.LevelRepeatableRead
	}
	tx, err := db.r.BeginTx(ctx, opt)
	if err != nil {
		return db.explain(err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	return fn(snapshot{db, tx})
}

// snapshot is a reading transaction.
type snapshot struct {
	db *DB
	tx *sql.Tx
}

var errSnapshot = errors.New("store: a snapshot is for reading")

func (s snapshot) Engine() Engine { return s.db.engine }

func (s snapshot) Now(ctx context.Context) (time.Time, error) { return s.db.nowOn(ctx, s) }

func (s snapshot) Exec(context.Context, string, ...any) (sql.Result, error) { return nil, errSnapshot }

func (s snapshot) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := s.tx.QueryContext(ctx, s.db.bind(query), args...)
	return rows, s.db.explain(err)
}

func (s snapshot) QueryRow(ctx context.Context, query string, args ...any) *Row {
	return &Row{db: s.db, row: s.tx.QueryRowContext(ctx, s.db.bind(query), args...), stop: func() {}}
}

func (s snapshot) explain(err error) error { return s.db.explain(err) }
