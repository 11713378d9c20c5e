package store

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// openPostgres prepares a pool; the first query connects. Statements are not prepared on the server, so that a pooler
// in transaction mode may be in between.
func openPostgres(dsn string, notice func(string)) (*DB, error) {
	cfg, err := postgresConfig(dsn)
	if err != nil {
		return nil, err
	}
	pool := stdlib.OpenDB(*cfg)
	pool.SetMaxOpenConns(8)
	pool.SetMaxIdleConns(2)
	return &DB{engine: Postgres, dsn: dsn, w: pool, r: pool, unsynced: pool, notices: notices{send: notice}}, nil
}

// connectTimeout is how long a connection attempt may take, unless the address says connect_timeout.
const connectTimeout = 5 * time.Second

func postgresConfig(dsn string) (*pgx.ConnConfig, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("store: the PostgreSQL address cannot be read: %s", redactURL(dsn))
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectTimeout
	}
	return cfg, nil
}

// redactURL removes user information and parameters, which may hold a password.
func redactURL(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" {
		return "(unreadable)"
	}
	host := u.Host
	if host == "" {
		host = "(local)"
	}
	return u.Scheme + "://" + host + u.Path
}

// sqlState is the server's five-letter code, "" if err is not from the server.
func sqlState(err error) string {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return ""
	}
	return e.Code
}

// IdleLimit makes the server end the transaction of a stopped process, so that its locks do not outlive a lease. It
// is part of the locking statement.
const IdleLimit = "set_config('idle_in_transaction_session_timeout', '10s', true)"
