package store

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Engine is the kind of database behind a DB.
type Engine int

// The engines.
const (
	SQLite Engine = iota
	Postgres
)

// String names the engine for people.
func (e Engine) String() string { return [...]string{"SQLite", "PostgreSQL"}[e] }

// DB is one database. Exec, Query and QueryRow run one statement in a
// transaction of its own; Write runs several in one. No transaction may be open
// while anything waits for the network (session protocol rule A4).
type DB struct {
	engine Engine
	path   string  // SQLite: the file, "" in memory
	w      *sql.DB // one connection for writes (SQLite); the pool (PostgreSQL)
	r      *sql.DB // readers (SQLite, query_only); the same pool (PostgreSQL)
	memo   sync.Map
}

// Engine tells which engine db has.
func (db *DB) Engine() Engine { return db.engine }

// Path is the SQLite file, "" for other stores.
func (db *DB) Path() string { return db.path }

// Close closes the connections.
func (db *DB) Close() error {
	err := db.w.Close()
	if db.r != db.w {
		if e := db.r.Close(); err == nil {
			err = e
		}
	}
	return err
}

// Querier is what a DB and a Tx have in common.
type Querier interface {
	Exec(ctx context.Context, query string, args ...any) (sql.Result, error)
	Query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) *sql.Row
	Engine() Engine
}

// Exec runs one writing statement.
func (db *DB) Exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return db.w.ExecContext(ctx, db.bind(query), args...)
}

// Query reads rows from a snapshot that no writer blocks.
func (db *DB) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return db.r.QueryContext(ctx, db.bind(query), args...)
}

// QueryRow reads one row. For a statement that writes and returns a row
// (UPDATE … RETURNING) use WriteRow.
func (db *DB) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	return db.r.QueryRowContext(ctx, db.bind(query), args...)
}

// WriteRow runs one statement that writes and returns a row.
func (db *DB) WriteRow(ctx context.Context, query string, args ...any) *sql.Row {
	return db.w.QueryRowContext(ctx, db.bind(query), args...)
}

// Tx is a writing transaction: BEGIN IMMEDIATE in SQLite (rule A5), READ
// COMMITTED in PostgreSQL.
type Tx struct {
	db *DB
	tx *sql.Tx
}

// Engine tells which engine the transaction runs on.
func (tx *Tx) Engine() Engine { return tx.db.engine }

// Exec runs one statement.
func (tx *Tx) Exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return tx.tx.ExecContext(ctx, tx.db.bind(query), args...)
}

// Query reads rows.
func (tx *Tx) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return tx.tx.QueryContext(ctx, tx.db.bind(query), args...)
}

// QueryRow reads one row.
func (tx *Tx) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	return tx.tx.QueryRowContext(ctx, tx.db.bind(query), args...)
}

// Write runs fn in one writing transaction and commits if it returns nil.
func (db *DB) Write(ctx context.Context, fn func(tx *Tx) error) error {
	t, err := db.w.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("store: begin: %w", err)
	}
	if err := fn(&Tx{db: db, tx: t}); err != nil {
		_ = t.Rollback()
		return err
	}
	if err := t.Commit(); err != nil {
		return fmt.Errorf("store: commit: %w", err)
	}
	return nil
}

// bind turns "?" into "$1", "$2" … for PostgreSQL. Queries of this package hold
// no question mark inside quotes.
func (db *DB) bind(query string) string {
	if db.engine != Postgres {
		return query
	}
	if q, ok := db.memo.Load(query); ok {
		return q.(string)
	}
	var b strings.Builder
	n := 0
	for _, part := range strings.SplitAfter(query, "?") {
		if strings.HasSuffix(part, "?") {
			n++
			b.WriteString(strings.TrimSuffix(part, "?"))
			b.WriteString("$" + strconv.Itoa(n))
			continue
		}
		b.WriteString(part)
	}
	if strings.Count(query, "?") > 0 && len(query) < 4096 {
		db.memo.Store(query, b.String())
	}
	return b.String()
}
