package store

import (
	"context"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// openPostgres opens a pool. Statements are sent without server-side
// preparation, so that a pooler in transaction mode may stand between.
func openPostgres(ctx context.Context, dsn string) (*DB, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("store: the PostgreSQL address cannot be read: %s", redactURL(dsn))
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	pool := stdlib.OpenDB(*cfg)
	pool.SetMaxOpenConns(8)
	pool.SetMaxIdleConns(2)
	if err := pool.PingContext(ctx); err != nil {
		_ = pool.Close()
		return nil, fmt.Errorf("store: PostgreSQL at %s does not answer: %w", redactURL(dsn), err)
	}
	return &DB{engine: Postgres, w: pool, r: pool}, nil
}

// redactURL drops user information and parameters.
func redactURL(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return "(unreadable)"
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// migrationLock is an arbitrary number that only opdeck's migrations take.
const migrationLock = 0x6f706465636b

// lockPostgres holds an advisory lock in a transaction of its own while the
// migrations run on another connection: it works behind a transaction pooler
// and ends with the connection.
func (db *DB) lockPostgres(ctx context.Context) (unlock func(), err error) {
	tx, err := db.w.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("store: migration lock: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrationLock)); err != nil {
		_ = tx.Rollback()
		return nil, fmt.Errorf("store: migration lock: %w", err)
	}
	return func() { _ = tx.Rollback() }, nil
}
