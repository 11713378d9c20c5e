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

	"opdeck/internal/store/files"
	"opdeck/internal/system/wholefile"
)

// ErrNoFiles: the store is not in files of SQLite.
var ErrNoFiles = errors.New("store: it is not in SQLite files")

// Files are the paths of the core and the bulk file of a SQLite store with this URL and state folder; ErrNoFiles for
// another store.
func Files(url, dir string) (core, bulk string, err error) {
	core, ok := corePath(url, dir)
	if !ok {
		return "", "", ErrNoFiles
	}
	return core, bulkPath(core), nil
}

// CopyTo writes both SQLite files to new files while other processes use them. Each copy shows one instant, the index
// the earlier one. ErrNoFiles for another store.
func (s *Store) CopyTo(ctx context.Context, core, bulk string) error {
	if s.Core.path == "" {
		return ErrNoFiles
	}
	return errors.Join(s.Bulk.copyTo(ctx, bulk), s.Core.copyTo(ctx, core))
}

func (db *DB) copyTo(ctx context.Context, file string) error {
	if err := files.OwnFile(file); err != nil {
		return fileError(file, err)
	}
	conn, err := db.r.Conn(ctx)
	if err != nil {
		return db.explain(err)
	}
	defer func() {
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA query_only = ON")
		_ = conn.Close()
	}()
	if _, err = conn.ExecContext(ctx, "PRAGMA query_only = OFF"); err == nil { // it forbids the copy, too
		_, err = conn.ExecContext(ctx, "VACUUM INTO ?", file)
	}
	var e *Error
	if err = db.explain(err); errors.As(err, &e) && e.Kind != Lost { // it is the copy that has no room
		return &Error{Kind: e.Kind, Where: file, Err: e.Err, text: e.text}
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
	return fn(&Tx{db: db, tx: tx})
}

// Placed is a file of a prepared folder, and the path at which it is used.
type Placed struct {
	Name string `json:"name"` // in the folder, with slashes
	Path string `json:"path"`
}

// prepared names the folder of a replacement that was decided. Renaming the prepared folder to it is the decision: a
// process that finds it puts its files in place before it opens the store, which is the old one or the new one.
func prepared(core string) string { return core + ".restoring" }

// placedList is the list of files in a prepared folder.
const placedList = "places.json"

// replacing reports whether a replacement was decided and is not complete.
func replacing(core string) bool {
	_, err := os.Lstat(prepared(core))
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

// Replace puts all files of the list in place, or none if it returns an error before that is decided. dir, which is
// beside core, holds them, and is used up. What they replace goes to a folder of the name aside. It returns a
// *HeldError if a process uses the store. A process that is killed meanwhile leaves the old files, or the rest of the
// work to the next Open.
func Replace(ctx context.Context, core, dir, aside string, list []Placed) error {
	done, err := lockFiles(ctx, core)
	if err != nil {
		return err
	}
	defer done()
	if err := Held(core); err != nil {
		return err
	}
	text, err := json.Marshal(replacement{aside, list})
	if err == nil {
		err = wholefile.Create(filepath.Join(dir, placedList), text)
	}
	if err == nil {
		err = wholefile.Rename(dir, prepared(core))
	}
	if err != nil {
		return fileError(core, err)
	}
	if err := Held(core); err != nil { // it opened the store before it could see the folder
		return errors.Join(err, wholefile.Rename(prepared(core), dir))
	}
	return putInPlace(core)
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
	if !replacing(core) {
		return nil
	}
	return putInPlace(core)
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

// replacement is the content of a placedList.
type replacement struct {
	Aside string   `json:"aside"`
	Files []Placed `json:"files"`
}

// putInPlace does what is left of a replacement. Each step may have been taken before.
func putInPlace(core string) error {
	dir := prepared(core)
	var r replacement
	text, err := os.ReadFile(filepath.Join(dir, placedList))
	switch {
	case errors.Is(err, fs.ErrNotExist): // all is in place, and the folder was being removed
	case err != nil:
		return fileError(dir, err)
	default:
		if err := json.Unmarshal(text, &r); err != nil {
			return fmt.Errorf("store: %s: %w", filepath.Join(dir, placedList), err)
		}
	}
	for _, f := range r.Files {
		name := filepath.FromSlash(f.Name)
		if err := putFile(filepath.Join(dir, name), f.Path, filepath.Join(r.Aside, name)); err != nil {
			return fileError(f.Path, err)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return fileError(dir, err)
	}
	return wholefile.SyncFolder(filepath.Dir(core))
}

// putFile moves a prepared file to its path, and what is there to aside: with its log, which must not meet the new
// file.
func putFile(from, path, aside string) error {
	if _, err := os.Lstat(from); err != nil {
		if errors.Is(err, fs.ErrNotExist) { // it is in place
			return nil
		}
		return err
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(aside), 0o700), os.MkdirAll(filepath.Dir(path), 0o700)); err != nil {
		return err
	}
	for _, end := range []string{"-wal", "-shm", ""} {
		_, err := os.Lstat(aside + end)
		if err == nil { // what is there now is of a program that does not know the folder
			err = os.Remove(path + end)
		} else {
			err = move(path+end, aside+end)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := move(from, path); err != nil {
		return err
	}
	return errors.Join(wholefile.SyncFolder(filepath.Dir(aside)), wholefile.SyncFolder(filepath.Dir(path)))
}

// move renames a file, or copies it to another file system and removes it.
func move(from, to string) error {
	err := os.Rename(from, to)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	content, err := os.ReadFile(from)
	if err == nil {
		err = wholefile.Replace(to, content)
	}
	if err == nil {
		err = os.Remove(from)
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
