package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"opdeck/internal/host/wholefile"
)

// A file that was deleted under running processes still holds everything that they
// acknowledged, for as long as one of them has it open. The first that notices
// writes a copy of it under the old name, while the write queue keeps the others
// out; the copy notes which file it continues, so that the others know it for their
// own and go on with it. No process adopts a file without that note: what it holds
// in memory, such as the numbers of accounts, belongs to its own file.

// restorable reports whether the file may be put back, or may have been put back by
// another process.
func (id *identity) restorable() bool {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.lost != nil && (id.handle.deleted() || id.walGone())
}

// walGone reports that only the write-ahead log was deleted. The caller holds mu.
func (id *identity) walGone() bool {
	if id.main == nil || id.wal == nil || id.handle == nil {
		return false
	}
	is, err := os.Lstat(id.path)
	if err != nil || !os.SameFile(is, id.main) {
		return false
	}
	wal, err := os.Lstat(id.path + "-wal")
	return missing(err) || err == nil && wal.Size() == 0
}

// continuedTable lists in a copy which files it continues, and since when by the
// time of day.
const continuedTable = "opdeck_continued"

// restore writes the content of a deleted file under its name again, or takes over
// what another process has put back.
func (db *DB) restore(ctx context.Context) error {
	done, err := db.queue.acquire(ctx)
	if err != nil {
		return err
	}
	defer done()
	id := &db.identity
	id.mu.Lock()
	deleted, walGone := id.handle.deleted(), id.walGone()
	main := id.main
	id.mu.Unlock()
	dev, ino, ok := inode(main)
	if !ok {
		return fmt.Errorf("store: %s cannot be put back on this system", db.path)
	}
	_, err = os.Lstat(db.path)
	var use filePair // none: this process opens the copy first
	switch {
	case deleted && missing(err), walGone:
		if err := db.writeCopy(ctx, dev, ino, walGone); err != nil {
			return err
		}
		db.notice(db.path + " was deleted while it was in use; it was put back with all that it held.")
	case deleted && err == nil:
		if use, err = db.continues(ctx, dev, ino); err != nil {
			return err
		}
	default:
		return fmt.Errorf("store: %s cannot be put back", db.path)
	}
	return db.reopen(ctx, use)
}

// writeCopy writes the copy. With replace the main file is still there and only its
// log is gone.
func (db *DB) writeCopy(ctx context.Context, dev, ino int64, replace bool) error {
	f, err := os.CreateTemp(filepath.Dir(db.path), ".restore-*") // mode 0600
	if err != nil {
		return fileError(db.path, err)
	}
	tmp := f.Name()
	defer func() {
		for _, rest := range []string{"", "-wal", "-shm", "-journal"} {
			_ = os.Remove(tmp + rest)
		}
	}()
	if err := f.Close(); err != nil {
		return fileError(tmp, err)
	}
	if err := db.vacuumInto(ctx, tmp); err != nil {
		return err
	}
	if err := noteContinued(ctx, tmp, dev, ino, time.Now()); err != nil {
		return err
	}
	for _, rest := range []string{"-wal", "-shm"} { // they belong to the deleted file
		if err := os.Remove(db.path + rest); err != nil && !missing(err) {
			return fileError(db.path, err)
		}
	}
	put := wholefile.Link // never over somebody's file
	if replace {
		put = wholefile.Rename
	}
	return fileError(db.path, put(tmp, db.path))
}

// vacuumInto writes all that a connection of this process still sees to a file.
func (db *DB) vacuumInto(ctx context.Context, file string) error {
	var failed error
	for _, pool := range []*sql.DB{db.w, db.r, db.unsynced} { // whichever has a connection
		conn, err := pool.Conn(ctx)
		if err != nil {
			failed = err
			continue
		}
		_, _ = conn.ExecContext(ctx, "PRAGMA query_only = 0")
		_, failed = conn.ExecContext(ctx, "VACUUM INTO ?", file)
		if pool == db.r {
			_, _ = conn.ExecContext(ctx, "PRAGMA query_only = 1")
		}
		_ = conn.Close()
		if failed == nil {
			return nil
		}
	}
	return fmt.Errorf("store: %w", failed)
}

// noteContinued makes a finished store of the copy.
func noteContinued(ctx context.Context, file string, dev, ino int64, at time.Time) error {
	return withFile(file, func(copied *sql.DB) error {
		for _, q := range []string{"PRAGMA journal_mode = WAL", "CREATE TABLE IF NOT EXISTS " + continuedTable + " (dev INTEGER NOT NULL, ino INTEGER NOT NULL, at_us INTEGER NOT NULL)"} {
			if _, err := copied.ExecContext(ctx, q); err != nil {
				return err
			}
		}
		_, err := copied.ExecContext(ctx, "INSERT INTO "+continuedTable+" (dev, ino, at_us) VALUES (?, ?, ?)", dev, ino, at.UnixMicro())
		return err
	})
}

// continues reports, by nil, that the file in place is a copy of the one that this
// process had open, made since it opened it, and gives the files if somebody has
// opened the copy.
func (db *DB) continues(ctx context.Context, dev, ino int64) (filePair, error) {
	use, found := db.look()
	if !found { // the copy's log was deleted in turn
		return use, errors.New("it is being put back")
	}
	var n int
	err := withFile(db.path, func(is *sql.DB) error {
		return is.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+continuedTable+" WHERE dev = ? AND ino = ? AND at_us >= ?",
			dev, ino, db.identity.opened.Add(-time.Second).UnixMicro()).Scan(&n)
	})
	if err == nil && n == 0 {
		err = errors.New("another store is in its place")
	}
	return use, err
}

// withFile opens a database file on one connection of its own.
func withFile(file string, do func(*sql.DB) error) error {
	p, err := sql.Open("sqlite", "file:"+(&url.URL{Path: file}).EscapedPath()+"?mode=rw&_txlock=immediate"+full)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	p.SetMaxOpenConns(1)
	return errors.Join(do(p), p.Close())
}

// reopen makes the file in place this process's own: connections to the old one end
// when they are next used.
func (db *DB) reopen(ctx context.Context, use filePair) error {
	db.identity.mu.Lock()
	err := db.identity.adopt(use)
	db.identity.gen++
	db.identity.mu.Unlock()
	if err != nil {
		return err
	}
	db.observer.mu.Lock()
	db.observer.drop()
	db.observer.mu.Unlock()
	var n int
	if err := db.r.QueryRowContext(ctx, "SELECT COUNT(*) FROM sqlite_master").Scan(&n); err != nil { // opens the log
		return fmt.Errorf("store: %w", err)
	}
	return db.inUse()
}
