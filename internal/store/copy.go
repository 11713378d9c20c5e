package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"modernc.org/sqlite"

	"opdeck/internal/store/files"
	"opdeck/internal/system/wholefile"
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

// Snapshot runs fn with the database in one state, for any number of queries. fn can only read.
func (db *DB) Snapshot(ctx context.Context, fn func(Querier) error) error {
	if err := db.identity.check(false); err != nil {
		return err
	}
	opt := &sql.TxOptions{ReadOnly: true}
	if db.engine == Postgres {
		opt.Isolation = sql.LevelRepeatableRead
	}
	tx, err := db.r.BeginTx(ctx, opt)
	if err != nil {
		return db.explain(err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	return fn(&Tx{db: db, pool: db.r, tx: tx})
}

// Replacement is a file that takes the place of another one. All three paths are in one folder.
type Replacement struct {
	New   string `json:"new"`   // the prepared file
	Path  string `json:"path"`  // its place
	Aside string `json:"aside"` // where the file that is there goes; its -wal and -shm go with it
}

// A replacement of several files is decided when its list is stored beside the core file. A process that finds the list
// completes it before it opens the store, so that the store is the old one or the new one.
func replacementList(core string) string { return core + ".restoring" }

// replacing reports whether a list exists.
func replacing(core string) bool {
	_, err := os.Lstat(replacementList(core))
	return err == nil
}

// HeldError: another process has a file of the store open.
type HeldError struct {
	Path string
	PID  int // 0: not known
}

// Error is for logs; callers word it for people.
func (e *HeldError) Error() string { return "store: " + e.Path + " is in use by another process" }

// Held returns a *HeldError if another process has a file of the store open. The calling process must not have it
// open: the check would release SQLite's locks.
func Held(core string) error {
	for _, path := range []string{core, bulkPath(core)} {
		if pid, held := holder(path); held {
			return &HeldError{path, pid}
		}
	}
	return nil
}

// Replace puts all files in place, or none if it returns an error before the list is stored. It returns a *HeldError
// if a process uses the store. A process that is killed meanwhile leaves the old files or, for the next Open, the list.
func Replace(ctx context.Context, core string, list []Replacement) error {
	done, err := lockFiles(ctx, core)
	if err != nil {
		return err
	}
	defer done()
	if err := Held(core); err != nil {
		return err
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	if err := wholefile.Create(replacementList(core), text); err != nil {
		return fileError(core, err)
	}
	if err := Held(core); err != nil { // it opened the store before it could see the list
		return errors.Join(err, os.Remove(replacementList(core)))
	}
	return putInPlace(core, list)
}

// Resume completes a replacement that was interrupted; it waits for one that is in progress.
func Resume(ctx context.Context, core string) error {
	if !replacing(core) {
		return nil
	}
	done, err := lockFiles(ctx, core)
	if err != nil {
		return err
	}
	defer done()
	text, err := os.ReadFile(replacementList(core))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var list []Replacement
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		return fileError(replacementList(core), err)
	}
	return putInPlace(core, list)
}

// lockFiles excludes the writers of both files.
func lockFiles(ctx context.Context, core string) (done func(), err error) {
	var open []func()
	done = func() {
		for _, f := range slices.Backward(open) {
			f()
		}
	}
	for _, path := range []string{bulkPath(core), core} {
		q, err := openQueue(path)
		if err != nil {
			done()
			return nil, err
		}
		open = append(open, func() { _ = q.close() })
		release, err := q.acquire(ctx)
		if err != nil {
			done()
			return nil, err
		}
		open = append(open, release)
	}
	return done, nil
}

// putInPlace takes the steps that are left of a replacement and removes its list.
func putInPlace(core string, list []Replacement) error {
	for _, step := range replaceSteps(core, list) {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// replaceSteps are the steps of a replacement; each may have been taken before.
func replaceSteps(core string, list []Replacement) (steps []func() error) {
	var folders []string
	for _, r := range list {
		for _, end := range []string{"-wal", "-shm", ""} { // a log must not meet the new file
			steps = append(steps, func() error {
				if _, err := os.Lstat(r.New); errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				return fileError(r.Path+end, setAside(r.Path+end, r.Aside+end))
			})
		}
		steps = append(steps, func() error {
			if err := os.Rename(r.New, r.Path); !errors.Is(err, fs.ErrNotExist) {
				return fileError(r.Path, err)
			}
			return nil
		})
		folders = append(folders, filepath.Dir(r.Path))
	}
	slices.Sort(folders)
	for _, dir := range slices.Compact(folders) {
		steps = append(steps, func() error { return fileError(dir, wholefile.SyncFolder(dir)) })
	}
	return append(steps, func() error {
		if err := os.Remove(replacementList(core)); err != nil {
			return fileError(core, err)
		}
		return wholefile.SyncFolder(filepath.Dir(core))
	})
}

// setAside moves a file if it exists. If an earlier try moved one, what is there now is of a program that does not know
// the list, and goes.
func setAside(path, aside string) error {
	_, err := os.Lstat(aside)
	if err == nil {
		err = os.Remove(path)
	} else {
		err = os.Rename(path, aside)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// OwnFolderOf checks and creates the folder of a store's core file as Open does.
func OwnFolderOf(core string) error {
	dir := filepath.Dir(core)
	if err := files.RefuseNetworkDisk(dir, nil); err != nil {
		return fileError(dir, err)
	}
	if err := files.OwnFolder(dir); err != nil {
		return fileError(dir, err)
	}
	return nil
}
