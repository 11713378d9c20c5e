// Package store stores everything that opdeck's processes share: the session and its budgets, audit, approvals and
// journals (the core database), and the index of operations with the inbox of webhooks (the bulk database).
//
// There are two engines: SQLite for one host (two files, so that a bulk write never holds the lock that a session
// rotation waits for) and PostgreSQL for many (one database). Queries are written once, with "?" for arguments; only
// this package knows the differences between the engines. Packages that own a subject declare a Store interface; the
// implementations are in packages below this one, and pass the owner's suite on both engines.
package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"opdeck/internal/store/files"
)

// Options say where the databases are.
type Options struct {
	// URL is "sqlite" (two files in Dir), "sqlite:PATH" (the core file; the bulk file is beside it), "memory"
	// (nothing is kept), or a postgres:// URL.
	URL string
	// Dir is the state folder; it is created with mode 0700 if missing.
	Dir string
	// Upgrading is called before tables of an older program are changed, which takes a while for large ones; may be
	// nil.
	Upgrading func()
	// Notice gets a sentence when a caller waits for more than two seconds; may be nil. It is called from any
	// goroutine.
	Notice func(string)
	// KeepVersion makes an older store an error of kind Older instead of migrating it; nothing is changed.
	KeepVersion bool
	// Now replaces the store's clock (DB.Now), for tests and for programs with a time of their own; nil: the store's
	// clock.
	Now func() time.Time

	// Migrations replaces the program's migrations in tests; nil: the program's.
	Migrations fs.FS

	system func(dir string) (string, error) // for tests: the remote file system of dir
}

// Store holds the two databases. With PostgreSQL both are the same.
type Store struct {
	Core *DB
	Bulk *DB

	watching watchers
}

// Open opens and migrates the databases. Any number of processes may do so concurrently; one of them migrates. It
// first completes a replacement of the files that was interrupted (Replace).
func Open(ctx context.Context, opt Options) (*Store, error) {
	s, err := openURL(ctx, opt)
	for err == nil && s.Core.path != "" && replacing(s.Core.path) { // it began while the files were opened
		if err = s.Close(); err == nil {
			s, err = openURL(ctx, opt)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.Core.identity.opened(), s.Bulk.identity.opened(), s.readClocks(ctx, opt.Now)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// OpenAsIs opens the files of a SQLite store of any version, to copy them.
func OpenAsIs(ctx context.Context, core string) (*Store, error) {
	s := new(Store)
	var err error
	if s.Core, err = openSQLite(ctx, core, nil); err != nil {
		return nil, err
	}
	if s.Bulk, err = openSQLite(ctx, bulkPath(core), nil); err != nil {
		return nil, errors.Join(err, s.Core.Close())
	}
	return s, nil
}

func openURL(ctx context.Context, opt Options) (*Store, error) {
	if core, ok := corePath(opt.URL, opt.Dir); ok {
		return openFiles(ctx, core, opt)
	}
	switch {
	case opt.URL == "memory":
		return openPair(ctx, opt, openMemory)
	case strings.HasPrefix(opt.URL, "postgres://"), strings.HasPrefix(opt.URL, "postgresql://"):
		return openPair(ctx, opt, func(tableSet) (*DB, error) { return openPostgres(opt.URL, opt.Notice) })
	}
	return nil, fmt.Errorf("store: %q is not sqlite, sqlite:PATH or postgres://…", redactURL(opt.URL))
}

// corePath is the core file of a SQLite store; ok is false for another store.
func corePath(url, dir string) (core string, ok bool) {
	if url == "" || url == "sqlite" {
		return filepath.Join(dir, "opdeck.db"), true
	}
	return strings.CutPrefix(url, "sqlite:")
}

// bulkPath is the bulk file beside a core file.
func bulkPath(core string) string { return strings.TrimSuffix(core, ".db") + "-index.db" }

// Close closes both databases.
func (s *Store) Close() error {
	var errs []error
	if s.Bulk != s.Core {
		errs = append(errs, s.Bulk.Close())
	}
	if s.Core != nil {
		errs = append(errs, s.Core.Close())
	}
	return errors.Join(errs...)
}

// openFiles checks the folder before it opens or creates anything in it.
func openFiles(ctx context.Context, core string, opt Options) (*Store, error) {
	dir := filepath.Dir(core)
	if err := files.RefuseNetworkDisk(dir, opt.system); err != nil {
		return nil, fileError(dir, err)
	}
	if err := files.OwnFolder(dir); err != nil {
		return nil, fileError(dir, err)
	}
	if err := Resume(ctx, core); err != nil {
		return nil, err
	}
	bulk := bulkPath(core)
	return openPair(ctx, opt, func(r tableSet) (*DB, error) {
		if r == coreTables {
			return openSQLite(ctx, core, opt.Notice)
		}
		return openSQLite(ctx, bulk, opt.Notice)
	})
}

// openPair opens and migrates both databases; with PostgreSQL they are one.
func openPair(ctx context.Context, opt Options, open func(tableSet) (*DB, error)) (*Store, error) {
	s := new(Store)
	if opt.Upgrading != nil {
		opt.Upgrading = sync.OnceFunc(opt.Upgrading) // for both sets
	}
	for _, r := range []tableSet{coreTables, bulkTables} {
		db := s.Core
		if db == nil || db.engine == SQLite {
			var err error
			if db, err = open(r); err != nil {
				return nil, errors.Join(err, s.Close())
			}
		}
		if s.Core == nil {
			s.Core = db
		}
		s.Bulk = db
		if err := db.migrate(ctx, r, opt); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}
