package store

import (
	"context"
	"database/sql"
)

// Snapshot runs fn with the database in one state, for any number of queries. fn can only read.
func (db *DB) Snapshot(ctx context.Context, fn func(Querier) error) error {
	if err := db.identity.check(false); err != nil {
		return err
	}
	opt := &sql.TxOptions{ReadOnly: true}
	if db.engine == Postgres {
		opt.Isolation = sql.LevelRepeatableRead
	}
	tx, err := db.r.BeginTx(ctx, opt)
	if err != nil {
		return db.explain(err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	return fn(&Tx{db: db, pool: db.r, tx: tx})
}
