package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"modernc.org/sqlite"

	"opdeck/internal/store/files"
)

// ErrNoFiles: the store is not in files of SQLite.
var ErrNoFiles = errors.New("store: it is not in SQLite files")

// copyPages is how many pages are copied before the context is checked.
const copyPages = 4096

// Files are the paths of the core and the bulk file of a SQLite store with this URL and state folder; ErrNoFiles for
// another store.
func Files(url, dir string) (core, bulk string, err error) {
	core, ok := corePath(url, dir)
	if !ok {
		return "", "", ErrNoFiles
	}
	return core, bulkPath(core), nil
}

// CopyTo copies both SQLite files into a folder, under their names, while other processes use them. The copies show
// one instant: writers of both files wait until both reads have begun, and no longer. ErrNoFiles for another store.
func (s *Store) CopyTo(ctx context.Context, dir string) error {
	if s.Core.path == "" {
		return ErrNoFiles
	}
	dbs := []*DB{s.Core, s.Bulk}
	reads, err := beginReads(ctx, dbs)
	defer func() {
		for _, conn := range reads {
			_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") // nothing was written
			_ = conn.Close()
		}
	}()
	if err != nil {
		return err
	}
	for i, db := range dbs {
		to := filepath.Join(dir, filepath.Base(db.path))
		if err := files.OwnFile(to); err != nil {
			return fileError(to, err)
		}
		if err := copyFile(ctx, reads[i], to); err != nil {
			return copyError(to, db.explain(err))
		}
	}
	return nil
}

// beginReads begins a read of each database at one instant. The caller closes the connections, also after an error.
func beginReads(ctx context.Context, dbs []*DB) (reads []*sql.Conn, err error) {
	for i := len(dbs) - 1; i >= 0; i-- { // the core last: a rotation waits for it
		done, err := dbs[i].acquireWrite(ctx)
		if err != nil {
			return nil, err
		}
		defer done()
	}
	for _, db := range dbs {
		conn, err := db.r.Conn(ctx)
		if err != nil {
			return reads, db.explain(err)
		}
		reads = append(reads, conn)
		if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
			return reads, db.explain(err)
		}
		var n int
		if err := conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM sqlite_master").Scan(&n); err != nil {
			return reads, db.explain(err)
		}
	}
	return reads, nil
}

// copyFile copies what the connection's transaction sees to an empty file.
func copyFile(ctx context.Context, from *sql.Conn, to string) error {
	return from.Raw(func(conn any) error {
		source, ok := conn.(interface {
			NewBackup(uri string) (*sqlite.Backup, error)
		})
		if !ok {
			return fmt.Errorf("store: %T cannot copy a database", conn)
		}
		b, err := source.NewBackup(to)
		if err != nil {
			return err
		}
		for more := true; more && err == nil; {
			if more, err = b.Step(copyPages); err == nil {
				err = ctx.Err()
			}
		}
		return errors.Join(err, b.Finish())
	})
}

// copyError names the copy instead of the database where the copy is the problem.
func copyError(to string, err error) error {
	var e *Error
	if errors.As(err, &e) && e.Kind != Lost {
		return &Error{Kind: e.Kind, Where: to, Err: e.Err, text: e.text}
	}
	if err == nil {
		return os.Chmod(to, 0o600)
	}
	return err
}

// Check reads the whole file of a database and returns an *Error of kind Damaged if SQLite finds a fault in it.
func Check(ctx context.Context, db *DB) error {
	said, err := List(ctx, db, Value[string], "PRAGMA integrity_check(1)")
	if err != nil {
		return err
	}
	if len(said) != 1 || said[0] != "ok" {
		return &Error{Kind: Damaged, Where: db.where()}
	}
	return nil
}
