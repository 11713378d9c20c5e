package store

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

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

// Free returns an *Error of kind Busy if another process of this host holds the write lock of a file for two seconds,
// as far as the system names holders (Linux).
func (db *DB) Free(ctx context.Context) error {
	if db.engine == Postgres || db.path == "" {
		return nil
	}
	before := lockHolders(db.path)
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
	if slices.ContainsFunc(lockHolders(db.path), still) {
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

// Holders are the processes that hold the file of a Busy error locked, as far as the system says; on PostgreSQL none.
func (e *Error) Holders() []int {
	if e.Kind != Busy || !filepath.IsAbs(e.Where) {
		return nil
	}
	return lockHolders(strings.TrimSuffix(e.Where, ".lock"))
}
