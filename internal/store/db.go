package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"opdeck/internal/store/files"
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
	index    bool        // SQLite file: what it holds is read again from the service
	dsn      string      // PostgreSQL: for connections outside the pool
	session  string      // PostgreSQL: the application_name of this process's connections
	w        *sql.DB     // one connection for writes (SQLite); the pool (PostgreSQL)
	r        *sql.DB     // readers (SQLite, query_only); the same pool (PostgreSQL)
	unsynced *sql.DB     // one connection for WriteUnsynced (SQLite); the same pool (PostgreSQL)
	queue    *writeQueue // SQLite file: the queue of writers; else nil
	memo     sync.Map
	migrated []func(context.Context, *Tx) error // check the versions of the tables before a write
	source   timeSource                         // of Now

	notices  notices
	identity identity // SQLite file
	running  sync.Map // instances marked by this process

	observer observer                 // SQLite file
	ownWrite atomic.Pointer[ownWrite] // SQLite file
}

// Engine is the engine of the database.
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
	res, err := db.w.ExecContext(ctx, db.bind(query), args...)
	return res, db.queue.wrote(ctx, db.written(err))
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
	db *DB
	tx *sql.Tx

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
	res, err := tx.tx.ExecContext(ctx, tx.db.bind(query), args...)
	return res, tx.db.explain(err)
}

// Query reads rows.
func (tx *Tx) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := tx.tx.QueryContext(ctx, tx.db.bind(query), args...)
	return rows, tx.db.explain(err)
}

// QueryRow reads one row.
func (tx *Tx) QueryRow(ctx context.Context, query string, args ...any) *Row {
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
	t, err := pool.BeginTx(ctx, opt)
	err = db.queue.wrote(ctx, db.explain(err))
	if db.engine == SQLite {
		stop() // the rest is our own work
	}
	if err != nil {
		return err
	}
	tx := &Tx{db: db, tx: t}
	err = db.checkVersions(ctx, tx)
	if err == nil {
		err = fn(tx)
	}
	if err != nil {
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
	return nil
}

// checkVersions checks that the tables are still those of this program.
func (db *DB) checkVersions(ctx context.Context, tx *Tx) error {
	for _, check := range db.migrated {
		if err := check(ctx, tx); err != nil {
			return err
		}
	}
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

// fileConnector opens connections to a SQLite file, if it is still the file that this process opened first.
type fileConnector struct {
	id     *identity
	driver driver.Driver
	dsn    string
}

func openPool(id *identity, dsn string, size int) (*sql.DB, error) {
	named, err := sql.Open("sqlite", dsn) // does not open the file
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	p := sql.OpenDB(fileConnector{id, named.Driver(), dsn})
	p.SetMaxOpenConns(size)
	p.SetMaxIdleConns(size)
	return p, named.Close()
}

// Connect implements driver.Connector.
func (c fileConnector) Connect(context.Context) (driver.Conn, error) {
	if err := c.id.check(true); err != nil { // SQLite would create a log beside the wrong file
		return nil, err
	}
	conn, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	if err := c.id.check(true); err != nil { // it may have opened another file
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// Driver implements driver.Connector.
func (c fileConnector) Driver() driver.Driver { return c.driver }

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

// TakeTurn gives the caller the work of that name unless it was done within every, or
// another process is at it; until TakeTurn or EndTurn is called again the turn lasts
// for lease. A caller that has the turn prolongs it.
func (s *Store) TakeTurn(ctx context.Context, name, owner string, every, lease time.Duration) (mine bool, err error) {
	err = s.Core.WriteUnsynced(ctx, func(tx *Tx) error {
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		if err := tx.Exec(ctx, "INSERT INTO turn (name, owner, until_us, done_us) VALUES (?, '', 0, 0) "+
			"ON CONFLICT (name) DO NOTHING", name); err != nil {
			return err
		}
		at := now.UnixMicro() // what lies further ahead than it can is of a clock that was set back
		n, err := Affected(tx.Result(ctx, `UPDATE turn SET owner = ?, until_us = ? WHERE name = ?
			AND (owner = ? OR (owner = '' OR until_us <= ? OR until_us > ?) AND (done_us <= ? OR done_us > ?))`,
			owner, now.Add(lease).UnixMicro(), name, owner, at, now.Add(lease).UnixMicro(), now.Add(-every).UnixMicro(), at))
		mine = n == 1
		return err
	})
	return mine, err
}

// EndTurn gives the turn back; done says that the work need not be done again soon.
func (s *Store) EndTurn(ctx context.Context, name, owner string, done bool) error {
	return s.Core.WriteUnsynced(ctx, func(tx *Tx) error {
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		return tx.Exec(ctx, "UPDATE turn SET owner = '', until_us = 0, done_us = CASE WHEN ? = 1 THEN ? ELSE done_us END "+
			"WHERE name = ? AND owner = ?", Bit(done), now.UnixMicro(), name, owner)
	})
}

// Usable returns what would keep a write from being stored, as an *Error, as far as it can be asked without writing:
// the file was deleted or replaced, the file system or the server is read-only, the permissions, a full disk.
func (db *DB) Usable(ctx context.Context) error {
	if db.engine == Postgres {
		var readOnly bool
		err := db.QueryRow(ctx,
			"SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on'").Scan(&readOnly)
		if err != nil {
			return err
		}
		if readOnly {
			return &Error{Kind: ReadOnly, Where: db.where(), text: standby}
		}
		return nil
	}
	if db.path == "" {
		return nil
	}
	if err := db.identity.check(true); err != nil {
		return err
	}
	if err := writableFile(db.path); err != nil {
		return err
	}
	if noRoom(db.path) {
		return &Error{Kind: Full, Where: db.path}
	}
	return nil
}

// lockWait is how long another process may hold the write lock until it is trouble.
const lockWait = 2 * time.Second

// Free returns an *Error of kind Busy if another process of this host holds the write lock of a file for two seconds
// and nobody writes to it meanwhile, as far as the system names holders (Linux).
func (db *DB) Free(ctx context.Context) error {
	if db.engine == Postgres || db.path == "" {
		return nil
	}
	before, wrote := lockHolders(db.path), lastWrite(db.path)
	if len(before) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	err := db.WriteUnsynced(ctx, func(*Tx) error { return nil })
	if !IsKind(err, Busy) && !errors.Is(ctx.Err(), context.DeadlineExceeded) { // which ends a wait for SQLite
		return nil
	}
	still := func(pid int) bool { return slices.Contains(before, pid) } // not one of many that write, on a busy machine
	if slices.ContainsFunc(lockHolders(db.path), still) && lastWrite(db.path).Equal(wrote) {
		return &Error{Kind: Busy, Where: db.path, Err: err}
	}
	return nil
}

// standby is what a server says of itself that accepts no writes.
const standby = "accepts no writes: it is a standby, or set to be read-only; [store] url must name the primary server"

// onReadOnlyDisk is why a file system accepts no writes.
const onReadOnlyDisk = "is on a file system that is mounted read-only; mount it for writing"

// writableFile asks the system whether this user may write a file. It does not open it: closing it would end SQLite's
// locks of this process.
func writableFile(path string) error {
	err := mayWrite(path)
	if err == nil {
		return nil
	}
	return fileError(path, err)
}

// Mounted reports whether a ReadOnly error is about the file system or the server, and not about permissions.
func (e *Error) Mounted() bool { return e.Kind == ReadOnly && (e.text != "" || e.Code() == "25006") }

// lastWrite is when a SQLite file or its log was last written to, by the file system; zero: it has neither.
func lastWrite(path string) (at time.Time) {
	for _, name := range []string{path, path + "-wal"} {
		if info, err := os.Stat(name); err == nil && info.ModTime().After(at) {
			at = info.ModTime()
		}
	}
	return at
}

// Place is Where, for a lock file the database that it belongs to.
func (e *Error) Place() string { return strings.TrimSuffix(e.Where, lockSuffix) }

// InTurn reports whether the file of a Busy error was written to in the last 2.5 s: then nobody holds it, many want it.
func (e *Error) InTurn() bool {
	return e.Kind == Busy && filepath.IsAbs(e.Where) && time.Since(lastWrite(e.Place())).Abs() < liteWait
}

// Holders are the processes that hold the file of a Busy error locked, as far as the system says; on PostgreSQL none.
func (e *Error) Holders() []int {
	if e.Kind != Busy || !filepath.IsAbs(e.Where) {
		return nil
	}
	return lockHolders(e.Place())
}
