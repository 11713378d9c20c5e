package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"sync/atomic"

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
	queue, err := openQueue(file)
	if err != nil {
		return nil, err
	}
	db := &DB{engine: SQLite, path: file, queue: queue}
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
	return db.retryBusy(ctx, func() error {
		// It only applies to a file without tables; Compact then releases free pages.
		if _, err := db.w.ExecContext(ctx, "PRAGMA auto_vacuum = INCREMENTAL"); err != nil {
			return db.explain(err)
		}
		var mode string
		err := db.w.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
		if err == nil && mode != "wal" {
			return fmt.Errorf("store: %s cannot be kept in write-ahead mode (it is %q)", db.path, mode)
		}
		return db.explain(err)
	})
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
