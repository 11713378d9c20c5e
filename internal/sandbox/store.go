package sandbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	sqlite "modernc.org/sqlite"
)

const schemaVersion = 3

// schema: customers, accounts and counterparties are documents. Times are Unix nanoseconds; ids of operations are made
// from their number (see opidOf), those of files are 16 bytes; the numbers of operations run without gaps from 0, the
// newest. What an operation shows beyond these columns is drawn from the seed and n when it is asked for.
const schema = `
CREATE TABLE setting(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE record(kind TEXT NOT NULL, n INTEGER NOT NULL, id TEXT NOT NULL, doc TEXT NOT NULL,
  PRIMARY KEY(kind, n), UNIQUE(kind, id)) WITHOUT ROWID;
CREATE TABLE operation(n INTEGER PRIMARY KEY, status INTEGER NOT NULL, type INTEGER NOT NULL, pay INTEGER NOT NULL,
  flags INTEGER NOT NULL, parent INTEGER, customer INTEGER NOT NULL, account INTEGER NOT NULL, account2 INTEGER,
  cpaccount INTEGER, created INTEGER NOT NULL, updated INTEGER NOT NULL);
CREATE TABLE file(n INTEGER PRIMARY KEY, guid BLOB NOT NULL, customer INTEGER NOT NULL,
  name TEXT NOT NULL, mime TEXT NOT NULL, size INTEGER NOT NULL, kind TEXT NOT NULL, info TEXT NOT NULL,
  locked INTEGER NOT NULL, created INTEGER NOT NULL, content BLOB);
CREATE TABLE link(op INTEGER NOT NULL, file INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY(op,
  file)) WITHOUT ROWID;
CREATE TABLE removal(id INTEGER PRIMARY KEY, at INTEGER NOT NULL, login TEXT NOT NULL, token TEXT NOT NULL,
  opid TEXT NOT NULL, document TEXT NOT NULL, outcome TEXT NOT NULL);
CREATE TABLE pair(id INTEGER PRIMARY KEY, access TEXT NOT NULL UNIQUE, refresh TEXT NOT NULL UNIQUE,
  origin TEXT NOT NULL, issued INTEGER NOT NULL, access_until INTEGER NOT NULL, refresh_until INTEGER NOT NULL,
  access_dead INTEGER NOT NULL DEFAULT 0, refresh_dead INTEGER NOT NULL DEFAULT 0);
CREATE TABLE request(id INTEGER PRIMARY KEY, at INTEGER NOT NULL, class TEXT NOT NULL);
CREATE INDEX request_class ON request(class, at);
CREATE TABLE counter(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE share(token TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE verifylink(id TEXT PRIMARY KEY, customer TEXT NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE outbox(id INTEGER PRIMARY KEY, hook_id TEXT NOT NULL, hook_type INTEGER NOT NULL, body TEXT NOT NULL,
  created INTEGER NOT NULL, next INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
  status TEXT NOT NULL DEFAULT '', state TEXT NOT NULL DEFAULT 'waiting');
CREATE INDEX outbox_next ON outbox(next) WHERE state = 'waiting';
`

// indexes are created after the sample data, which is several times faster.
const indexes = `
CREATE INDEX operation_created ON operation(created DESC, n);
CREATE INDEX operation_status ON operation(status);
CREATE INDEX operation_account ON operation(account);
CREATE INDEX operation_account2 ON operation(account2) WHERE account2 IS NOT NULL;
CREATE INDEX operation_customer ON operation(customer);
CREATE INDEX operation_parent ON operation(parent) WHERE parent IS NOT NULL;
CREATE UNIQUE INDEX file_guid ON file(guid);
CREATE INDEX file_customer ON file(customer, created, n);
CREATE INDEX link_file ON link(file);
`

// querier is a database or a transaction.
type querier interface {
	ExecContext(ctx context.Context, q string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, q string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, q string, args ...any) *sql.Row
}

// execute runs a statement.
func execute(ctx context.Context, q querier, text string, args ...any) error {
	_, err := q.ExecContext(ctx, text, args...)
	return err
}

// query returns the rows of a query, never nil; columns gives the fields of a row.
func query[T any](ctx context.Context, q querier, columns func(*T) []any, text string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []T{}
	for rows.Next() {
		var row T
		if err := rows.Scan(columns(&row)...); err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, rows.Err()
}

// only returns the first row, or a 404 when there is none.
func only[T any](rows []T, err error, what, id string) (row T, _ error) {
	if err == nil && len(rows) == 0 {
		err = notFound(what, id)
	}
	if err != nil {
		return row, err
	}
	return rows[0], nil
}

func dataSource(path string, busy time.Duration) string {
	if path == "" {
		return "file::memory:?_txlock=immediate"
	}
	q := url.Values{"_txlock": {"immediate"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds()),
		"journal_mode(WAL)", "synchronous(NORMAL)"}}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(), RawQuery: q.Encode()}
	return u.String()
}

// store is the data file.
type store struct {
	db      *sql.DB
	writing sync.Mutex // one write of this process at a time
	clock   func() time.Time
	raised  chan struct{} // holds one token: something was put into the outbox
}

// openStore opens the file, and makes it with its sample data when it is new: of several processes, one fills it in
// one transaction and the others wait.
func openStore(ctx context.Context, o Options) (*store, error) {
	s := &store{clock: o.Now, raised: make(chan struct{}, 1)}
	if s.clock == nil {
		s.clock = time.Now
	}
	if o.Path != "" {
		// SQLite would make it readable for everyone; its side files copy the mode.
		f, err := os.OpenFile(o.Path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		f.Close()
	}
	var err error
	if s.db, err = sql.Open("sqlite", dataSource(o.Path, time.Minute)); err != nil {
		return nil, err
	}
	s.db.SetMaxOpenConns(4)
	if o.Path == "" {
		s.db.SetMaxOpenConns(1)
	}
	s.db.SetMaxIdleConns(4)
	err = whenFree(ctx, o.Path, func() error {
		return s.write(ctx, func(tx *sql.Tx) error {
			if err := populate(ctx, tx, o); err != nil {
				return err
			}
			return adopt(ctx, tx, o)
		})
	})
	if err != nil {
		s.db.Close()
	}
	return s, err
}

// freeWait is how long a process that opens the file waits for others that create it;
// one that takes longer has stopped.
const freeWait = 30 * time.Second

// whenFree repeats f while another process creates the file: SQLite waits for
// writers, but not for a process that changes the mode of the file. An error after
// freeWait names what it waited for.
func whenFree(ctx context.Context, path string, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, freeWait)
	defer cancel()
	for {
		err := f()
		if !isBusy(err) {
			return err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("sandbox: another process has kept %s busy for %v; end it and try again: %w", path, freeWait, err)
		}
	}
}

// populate fills a new file.
func populate(ctx context.Context, tx *sql.Tx, o Options) error {
	var version int
	err := tx.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version)
	if err != nil || version == schemaVersion {
		return err
	}
	if version > schemaVersion {
		return fmt.Errorf("sandbox: the data file has version %d, this program knows %d; choose another file", version,
			schemaVersion)
	}
	if err := drop(ctx, tx); err != nil { // sample data of an older version is made anew, with the same ids
		return err
	}
	if err := execute(ctx, tx, schema); err != nil {
		return err
	}
	st := newSettings(o)
	if err := seedData(ctx, tx, st); err != nil {
		return err
	}
	if err := storeSettings(ctx, tx, st); err != nil {
		return err
	}
	return execute(ctx, tx, indexes+fmt.Sprintf("PRAGMA user_version = %d;", schemaVersion))
}

// drop removes all tables.
func drop(ctx context.Context, tx *sql.Tx) error {
	var drops sql.NullString
	err := tx.QueryRowContext(ctx, `SELECT group_concat('DROP TABLE "' || name || '";', '') FROM sqlite_schema
		WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`).Scan(&drops)
	if err != nil {
		return err
	}
	return execute(ctx, tx, drops.String)
}

// adopt writes the options that are set into the file, if they change it.
func adopt(ctx context.Context, tx *sql.Tx, o Options) error {
	st, err := loadSettings(ctx, tx)
	if err != nil {
		return err
	}
	before := string(encode(st))
	if err := st.apply(o); err != nil || string(encode(st)) == before {
		return err
	}
	return storeSettings(ctx, tx, st)
}

func loadSettings(ctx context.Context, q querier) (st settings, err error) {
	var raw string
	if err = q.QueryRowContext(ctx, `SELECT value FROM setting WHERE name = 'settings'`).Scan(&raw); err != nil {
		return st, fmt.Errorf("sandbox: settings: %w", err)
	}
	return st, json.Unmarshal([]byte(raw), &st)
}

func storeSettings(ctx context.Context, q querier, st settings) error {
	return execute(ctx, q, `INSERT INTO setting(name, value) VALUES('settings', ?)
		ON CONFLICT(name) DO UPDATE SET value = excluded.value`, string(encode(st)))
}

// write runs f in one immediate transaction; an error of f undoes it. Begin and
// commit do not end with ctx. Handlers also give f's statements a context that
// does not (call.ctx): a request that was received is processed to its end.
func (s *store) write(ctx context.Context, f func(tx *sql.Tx) error) error {
	ctx = context.WithoutCancel(ctx)
	s.writing.Lock()
	defer s.writing.Unlock()
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func isBusy(err error) bool {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()&0xff == 5 || e.Code()&0xff == 6 // SQLITE_BUSY, SQLITE_LOCKED
	}
	return false
}

// marks returns "?,?,?" for n parameters.
func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }

func stamp(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }
