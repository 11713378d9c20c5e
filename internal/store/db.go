package store

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
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

// ForUpdate is the clause that locks the rows read by a SELECT in a writing transaction. SQLite needs none: the
// transaction holds the only write lock.
func (e Engine) ForUpdate() string {
	if e == Postgres {
		return " FOR UPDATE"
	}
	return ""
}

// DB is one database. Exec, Query and QueryRow run one statement in its own transaction; Write runs several in one.
// No transaction may be open during a wait for the network (session protocol rule A4). Errors are an *Error if opdeck
// knows their kind.
type DB struct {
	engine   Engine
	path     string      // SQLite: the file, "" in memory
	dsn      string      // PostgreSQL: for connections outside the pool
	w        *sql.DB     // one connection for writes (SQLite); the pool (PostgreSQL)
	r        *sql.DB     // readers (SQLite, query_only); the same pool (PostgreSQL)
	unsynced *sql.DB     // one connection for WriteUnsynced (SQLite); the same pool (PostgreSQL)
	queue    *writeQueue // SQLite file: the queue of writers; else nil
	memo     sync.Map
	stmts    statements // SQLite file: prepared statements
	source   timeSource // of Now

	notices  notices
	identity identity // SQLite file
	running  sync.Map // instances marked by this process

	observer observer                 // SQLite file
	ownWrite atomic.Pointer[ownWrite] // SQLite file
}

func (db *DB) Engine() Engine { return db.engine }

// Path is the SQLite file, "" otherwise.
func (db *DB) Path() string { return db.path }

// Close closes the connections. Those to a lost file stay open until the process ends, because SQLite would copy
// their log into a file that others may be using.
func (db *DB) Close() error {
	if db.identity.check(true) != nil {
		return db.queue.close()
	}
	errs := []error{db.observer.close(), db.w.Close()}
	if db.r != db.w {
		errs = append(errs, db.r.Close(), db.unsynced.Close())
	}
	return errors.Join(append(errs, db.queue.close())...)
}

// Querier is the common interface of a DB, a Tx and a snapshot.
type Querier interface {
	Exec(ctx context.Context, query string, args ...any) error
	Query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) *Row
	Engine() Engine
	Now(ctx context.Context) (time.Time, error)
	explain(error) error
}

// Row is the result of QueryRow.
type Row struct {
	db   *DB
	row  *sql.Row
	err  error
	stop func() // ends the notice of a long wait
}

// Scan copies the columns into dest; sql.ErrNoRows without a row. It must be called exactly once.
func (r *Row) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	err := r.row.Scan(dest...)
	r.stop()
	return r.db.explain(err)
}

// Exec runs one writing statement.
func (db *DB) Exec(ctx context.Context, query string, args ...any) error {
	_, err := db.Result(ctx, query, args...)
	return err
}

// Result is Exec that also returns the number of changed rows.
func (db *DB) Result(ctx context.Context, query string, args ...any) (sql.Result, error) {
	done, err := db.acquireWrite(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	defer db.slow()()
	var res sql.Result
	err = db.retryBusy(ctx, func() (err error) {
		res, err = db.w.ExecContext(ctx, db.bind(query), args...)
		return db.written(err)
	})
	return res, err
}

// acquireWrite waits for other writers and checks that the file was not replaced.
func (db *DB) acquireWrite(ctx context.Context) (done func(), err error) {
	if err := db.identity.check(true); err != nil {
		return nil, err
	}
	return db.queue.acquire(ctx)
}

// written is the error of a write whose commit returned err: a write to a file that was deleted or replaced is lost.
func (db *DB) written(err error) error {
	if err == nil {
		return db.identity.check(true)
	}
	return db.explain(err)
}

// Query reads rows from a snapshot that no writer blocks.
func (db *DB) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := db.identity.check(false); err != nil {
		return nil, err
	}
	defer db.slow()()
	rows, err := db.r.QueryContext(ctx, db.bind(query), args...)
	return rows, db.explain(err)
}

// QueryRow reads one row.
func (db *DB) QueryRow(ctx context.Context, query string, args ...any) *Row {
	if err := db.identity.check(false); err != nil {
		return &Row{db: db, err: err}
	}
	stop := db.slow()
	return &Row{db: db, row: db.r.QueryRowContext(ctx, db.bind(query), args...), stop: stop}
}

// Tx is a writing transaction: BEGIN IMMEDIATE in SQLite (rule A5), READ COMMITTED in PostgreSQL.
type Tx struct {
	db   *DB
	pool *sql.DB
	tx   *sql.Tx
	want []string // statements to prepare after the commit

	ignored bool
	before  fileVersion // if ignored
}

func (tx *Tx) Engine() Engine { return tx.db.engine }

func (tx *Tx) explain(err error) error { return tx.db.explain(err) }

// Exec runs one statement.
func (tx *Tx) Exec(ctx context.Context, query string, args ...any) error {
	_, err := tx.Result(ctx, query, args...)
	return err
}

// Result is Exec that also returns the number of changed rows.
func (tx *Tx) Result(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if st := tx.prepared(ctx, query); st != nil {
		res, err := st.ExecContext(ctx, args...)
		return res, tx.db.explain(err)
	}
	res, err := tx.tx.ExecContext(ctx, tx.db.bind(query), args...)
	return res, tx.db.explain(err)
}

// Query reads rows.
func (tx *Tx) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if st := tx.prepared(ctx, query); st != nil {
		rows, err := st.QueryContext(ctx, args...)
		return rows, tx.db.explain(err)
	}
	rows, err := tx.tx.QueryContext(ctx, tx.db.bind(query), args...)
	return rows, tx.db.explain(err)
}

// QueryRow reads one row.
func (tx *Tx) QueryRow(ctx context.Context, query string, args ...any) *Row {
	if st := tx.prepared(ctx, query); st != nil {
		return &Row{db: tx.db, row: st.QueryRowContext(ctx, args...), stop: func() {}}
	}
	return &Row{db: tx.db, stop: func() {}, row: tx.tx.QueryRowContext(ctx, tx.db.bind(query), args...)}
}

// Write runs fn in one writing transaction and commits if it returns nil. An *Error of kind Unknown means that the
// connection broke during the commit: read before repeating anything (rule A8).
func (db *DB) Write(ctx context.Context, fn func(tx *Tx) error) error {
	return db.writeIn(ctx, db.w, db.acquireWrite, fn)
}

// WriteUnsynced is Write for data that may be lost in a power cut, which also ends all processes of the host:
// budgets, history, presence. With SQLite it is several times faster, since it does not wait for the disk; the file
// stays consistent, and later ordinary writes make it durable.
func (db *DB) WriteUnsynced(ctx context.Context, fn func(tx *Tx) error) error {
	return db.writeIn(ctx, db.unsynced, db.acquireWrite, fn)
}

// writeIn runs fn in a transaction of pool once acquire permits it.
func (db *DB) writeIn(ctx context.Context, pool *sql.DB, acquire func(context.Context) (func(), error),
	fn func(tx *Tx) error) error {
	done, err := acquire(ctx)
	if err != nil {
		return err
	}
	defer done()
	stop := db.slow()
	if db.engine == Postgres {
		defer stop() // any statement may be slow
	}
	var opt *sql.TxOptions
	if db.engine == Postgres {
		opt = &sql.TxOptions{Isolation: sql.LevelReadCommitted}
	}
	var t *sql.Tx
	err = db.retryBusy(ctx, func() (err error) {
		t, err = pool.BeginTx(ctx, opt)
		return db.explain(err)
	})
	if db.engine == SQLite {
		stop() // the rest is our own work
	}
	if err != nil {
		return err
	}
	tx := &Tx{db: db, pool: pool, tx: t}
	if err := fn(tx); err != nil {
		_ = t.Rollback()
		return err
	}
	if err := t.Commit(); err != nil {
		return db.explainCommit(err)
	}
	if err := db.written(nil); err != nil {
		return err
	}
	if tx.ignored {
		db.ownWrite.Store(&ownWrite{tx.before, db.observe(ctx)})
	}
	tx.keep(ctx)
	return nil
}

// bind converts "?" to "$1", "$2" … for PostgreSQL. Queries in this package have no question mark in quotes.
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
	if n > 0 && len(query) < 4096 {
		db.memo.Store(query, b.String())
	}
	return b.String()
}
