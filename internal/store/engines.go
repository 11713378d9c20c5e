package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite" // the pure Go engine

	"opdeck/internal/store/files"
)

// pragmas apply to every pooled connection; busy_timeout is liteWait, journal_size_limit logLimit. full: a reported
// commit survives a power cut (rule A5). normal: it survives anything else.
const (
	pragmas = "&_pragma=busy_timeout(2500)&_pragma=foreign_keys(ON)&_pragma=journal_size_limit(4194304)"
	full    = pragmas + "&_pragma=synchronous(FULL)"
	normal  = pragmas + "&_pragma=synchronous(NORMAL)"
)

// openSQLite opens file with two writing connections, whose transactions begin with the write lock and of which one
// is used at a time, and a few reading ones.
func openSQLite(ctx context.Context, file string, notice func(string)) (*DB, error) {
	return openDB(ctx, &DB{engine: SQLite, path: file}, notice)
}

func openDB(ctx context.Context, db *DB, notice func(string)) (*DB, error) {
	file := db.path
	queue, err := openQueue(file)
	if err != nil {
		return nil, err
	}
	db.queue = queue
	queue.slow, db.notices.send = db.slow, notice
	dsn := "file:" + (&url.URL{Path: file}).EscapedPath() + "?mode=rw&" // SQLite must not create the file
	for _, pool := range []struct {
		at   **sql.DB
		opts string
		size int
	}{
		{&db.w, "_txlock=immediate" + full, 1},
		{&db.unsynced, "_txlock=immediate" + normal, 1},
		{&db.r, "_pragma=query_only(1)" + normal, 4},
		{&db.observer.pool, "_pragma=query_only(1)" + normal, 1},
	} {
		p, err := openPool(&db.identity, dsn+pool.opts, pool.size)
		if err != nil { // only without the driver
			return nil, errors.Join(err, queue.close())
		}
		*pool.at = p
	}
	if err := db.begin(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// begin opens a connection, which keeps the write-ahead log in place.
func (db *DB) begin(ctx context.Context) error {
	if err := db.create(ctx); err != nil {
		return err
	}
	if err := db.identity.begin(db.path); err != nil {
		return err
	}
	var n int
	return db.explain(db.r.QueryRowContext(ctx, "SELECT COUNT(*) FROM sqlite_master").Scan(&n))
}

// create creates the file if missing. It removes the write-ahead log and its index of a deleted file, which SQLite
// would use for the new one.
func (db *DB) create(ctx context.Context) error {
	if _, err := os.Lstat(db.path); errors.Is(err, fs.ErrNotExist) {
		done, err := db.queue.acquire(ctx)
		if err != nil {
			return err
		}
		defer done()
		if _, err := os.Lstat(db.path); errors.Is(err, fs.ErrNotExist) { // no other process was faster
			for _, rest := range []string{"-wal", "-shm"} {
				err := os.Remove(db.path + rest)
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					return fileError(db.path+rest, err)
				}
				if err == nil {
					db.notice(db.path + " was missing. opdeck created a new one; its previous content is lost.")
				}
			}
		}
	}
	if err := files.OwnFile(db.path); err != nil {
		return fileError(db.path, err)
	}
	return nil
}

var memories atomic.Int64 // names of in-memory databases must be unique within a process

// openMemory opens a database that lives as long as the DB; one connection reads and writes.
func openMemory(r tableSet) (*DB, error) {
	name := fmt.Sprintf("file:opdeck-%s-%d?mode=memory&_txlock=immediate", r, memories.Add(1))
	w, err := sql.Open("sqlite", name+full)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	w.SetMaxOpenConns(1)
	w.SetMaxIdleConns(1)
	w.SetConnMaxLifetime(0)
	return &DB{engine: SQLite, w: w, r: w, unsynced: w}, nil
}

// isWAL reports whether readers and the writer do not block each other; true in memory.
func (db *DB) isWAL(ctx context.Context) (bool, error) {
	if db.path == "" {
		return true, nil
	}
	var mode string
	err := db.QueryRow(ctx, "PRAGMA journal_mode").Scan(&mode)
	return mode == "wal", err
}

// switchToWAL changes the file permanently. A reader that checks the version at the same time can still block it.
func (db *DB) switchToWAL(ctx context.Context) error {
	if db.path == "" {
		return nil
	}
	done, err := db.queue.acquire(ctx)
	if err != nil {
		return err
	}
	defer done()
	// It only applies to a file without tables; Compact then releases free pages.
	if _, err := db.w.ExecContext(ctx, "PRAGMA auto_vacuum = INCREMENTAL"); err != nil {
		return db.explain(err)
	}
	var mode string
	err = db.w.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
	if err == nil && mode != "wal" {
		return fmt.Errorf("store: %s cannot be kept in write-ahead mode (it is %q)", db.path, mode)
	}
	return db.explain(err)
}

// missingTable reports whether err means that a table does not exist.
func missingTable(err error) bool {
	var lite *sqlite.Error
	if errors.As(err, &lite) {
		return lite.Code()&0xff == 1 // SQLITE_ERROR: the statement does not compile
	}
	return sqlState(err) == "42P01"
}

// Tune runs pragmas on the writing connection of a SQLite file; it does nothing for other stores.
func (db *DB) Tune(ctx context.Context, pragmas ...string) error {
	if db.path == "" {
		return nil
	}
	for _, p := range pragmas {
		if _, err := db.w.ExecContext(ctx, p); err != nil {
			return db.explain(err)
		}
	}
	return nil
}

// openPostgres prepares a pool; the first query connects. Statements are not prepared on the server, so that a pooler
// in transaction mode may be in between.
func openPostgres(dsn string, notice func(string)) (*DB, error) {
	cfg, err := postgresConfig(dsn)
	if err != nil {
		return nil, err
	}
	session := "opdeck " + rand.Text()
	cfg.RuntimeParams["application_name"] = session
	pool := stdlib.OpenDB(*cfg)
	pool.SetMaxOpenConns(8)
	pool.SetMaxIdleConns(2)
	return &DB{engine: Postgres, dsn: dsn, session: session, w: pool, r: pool, unsynced: pool,
		notices: notices{send: notice}}, nil
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

// Connect opens a PostgreSQL connection outside the pool, which the caller closes.
func (db *DB) Connect(ctx context.Context) (*pgx.Conn, error) {
	cfg, err := postgresConfig(db.dsn)
	if err != nil {
		return nil, err
	}
	cfg.RuntimeParams["application_name"] = db.session
	return pgx.ConnectConfig(ctx, cfg)
}

// Stmt is a statement that a transaction runs repeatedly.
type Stmt struct {
	tx *Tx
	st *sql.Stmt
}

// Prepare prepares a statement. Close it before the transaction ends.
func (tx *Tx) Prepare(ctx context.Context, query string) (*Stmt, error) {
	st, err := tx.tx.PrepareContext(ctx, tx.db.bind(query))
	if err != nil {
		return nil, tx.explain(err)
	}
	return &Stmt{tx, st}, nil
}

// Exec runs the statement unless ctx has ended.
func (s *Stmt) Exec(ctx context.Context, args ...any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := s.st.ExecContext(context.WithoutCancel(ctx), args...) // a cancellable context costs a goroutine a call
	return s.tx.explain(err)
}

// Close frees the statement.
func (s *Stmt) Close() { _ = s.st.Close() }

// Inserter inserts rows, for PostgreSQL many per statement. SQLite gets one row per statement: a larger one keeps a
// journal to undo itself, which costs more than the calls.
type Inserter struct {
	tx    *Tx
	head  string
	width int
	rows  []any
	full  *Stmt
}

// NewInserter returns an inserter for "INSERT INTO t (a, b)" with width columns.
func (tx *Tx) NewInserter(head string, width int) *Inserter {
	return &Inserter{tx: tx, head: head, width: width}
}

func (in *Inserter) atOnce() int {
	if in.tx.Engine() == SQLite {
		return 1
	}
	return 40
}

// Add adds one row.
func (in *Inserter) Add(ctx context.Context, row ...any) (err error) {
	in.rows = append(in.rows, row...)
	if len(in.rows) < in.atOnce()*in.width {
		return nil
	}
	if in.full == nil {
		if in.full, err = in.tx.Prepare(ctx, in.text(in.atOnce())); err != nil {
			return err
		}
	}
	err = in.full.Exec(ctx, in.rows...)
	in.rows = in.rows[:0]
	return err
}

func (in *Inserter) text(rows int) string {
	one := "(" + Marks(in.width) + "), "
	return in.head + " VALUES " + strings.TrimSuffix(strings.Repeat(one, rows), ", ")
}

// Flush writes the remaining rows; the inserter must not be used afterwards.
func (in *Inserter) Flush(ctx context.Context) error {
	if in.full != nil {
		defer in.full.Close()
	}
	if len(in.rows) == 0 {
		return nil
	}
	return in.tx.Exec(ctx, in.text(len(in.rows)/in.width), in.rows...)
}

// Scan copies the columns of a row into dest.
type Scan func(dest ...any) error

// Each calls row for every row of a query; it stops at the first error.
func Each(ctx context.Context, q Querier, row func(Scan) error, query string, args ...any) error {
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	scan := func(dest ...any) error { return q.explain(rows.Scan(dest...)) }
	for rows.Next() {
		if err := row(scan); err != nil {
			return err
		}
	}
	return q.explain(rows.Err())
}

// List collects the results of row for each row of a query.
func List[T any](ctx context.Context, q Querier, row func(Scan) (T, error), query string, args ...any) ([]T, error) {
	var out []T
	err := Each(ctx, q, func(scan Scan) error {
		v, err := row(scan)
		out = append(out, v)
		return err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Value reads a row of one column.
func Value[T any](scan Scan) (v T, err error) {
	err = scan(&v)
	return v, err
}

// Find returns the single value of a query; found is false without a row.
func Find[T any](ctx context.Context, q Querier, query string, args ...any) (v T, found bool, err error) {
	err = q.QueryRow(ctx, query, args...).Scan(&v)
	if errors.Is(err, sql.ErrNoRows) {
		return v, false, nil
	}
	return v, err == nil, err
}

// Affected is how many rows an Exec changed.
func Affected(res sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Marks returns "?, ?, …" for n arguments.
func Marks(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

// Bit is a bool in the databases' form.
func Bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// listed bounds the values in one IN list.
const listed = 400

// EachIn is Each for a query that ends with IN, followed by the values of a list, some at a time.
func EachIn[T any](ctx context.Context, q Querier, list []T, row func(Scan) error, query string, args ...any) error {
	for part := range slices.Chunk(list, listed) {
		if err := Each(ctx, q, row, query+" ("+Marks(len(part))+")", with(args, part)...); err != nil {
			return err
		}
	}
	return nil
}

// ExecIn is EachIn for statements without results.
func ExecIn[T any](ctx context.Context, q Querier, list []T, query string, args ...any) error {
	for part := range slices.Chunk(list, listed) {
		if err := q.Exec(ctx, query+" ("+Marks(len(part))+")", with(args, part)...); err != nil {
			return err
		}
	}
	return nil
}

func with[T any](args []any, list []T) []any {
	out := slices.Clone(args)
	for _, v := range list {
		out = append(out, v)
	}
	return out
}
