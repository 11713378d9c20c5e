package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Limits of a file beyond its data.
const (
	logLimit  = 4 << 20 // bytes of a write-ahead log that stay on disk after a checkpoint
	freePages = 512     // free pages that stay in a file for later writes
	vacuumed  = 256     // pages released at a time
)

// Size is the disk usage of a database, in bytes.
type Size struct {
	Name string // core or index; database for PostgreSQL, where all are in one
	Data int64
	Log  int64 // of the write-ahead log beside it
	Free int64 // of Data: pages without content
}

// Sizes returns the disk usage of the databases; none in memory.
func (s *Store) Sizes(ctx context.Context) ([]Size, error) {
	if s.Core.engine == Postgres {
		size := Size{Name: "database"}
		err := s.Core.QueryRow(ctx, "SELECT pg_database_size(current_database())").Scan(&size.Data)
		return []Size{size}, err
	}
	var out []Size
	for _, part := range []struct {
		name string
		db   *DB
	}{{"core", s.Core}, {"index", s.Bulk}} {
		if part.db.path == "" {
			continue
		}
		size, err := sizeOf(ctx, part.db)
		if err != nil {
			return nil, err
		}
		size.Name = part.name
		out = append(out, size)
	}
	return out, nil
}

func sizeOf(ctx context.Context, db *DB) (size Size, err error) {
	if size.Data, err = fileSize(db.path); err != nil {
		return size, err
	}
	if size.Log, err = fileSize(db.path + "-wal"); err != nil {
		return size, err
	}
	var free, page int64
	err = db.QueryRow(ctx, "SELECT (SELECT freelist_count FROM pragma_freelist_count), "+
		"(SELECT page_size FROM pragma_page_size)").Scan(&free, &page)
	size.Free = free * page
	return size, err
}

// fileSize is 0 for a missing file.
func fileSize(path string) (int64, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fileError(path, err)
	}
	return info.Size(), nil
}

// Compact releases some free pages of the files to the disk, while no one else writes; more: there are others. In
// PostgreSQL it makes the space of removed rows usable for others at once, however late autovacuum is.
func (s *Store) Compact(ctx context.Context) (more bool, err error) {
	if s.Core.engine == Postgres {
		return false, vacuumTables(ctx, s.Core)
	}
	for _, db := range []*DB{s.Core, s.Bulk} {
		if db.path == "" {
			continue
		}
		left, err := vacuum(ctx, db)
		if err != nil {
			return more, err
		}
		more = more || left > 0
	}
	return more, nil
}

// vacuum releases some free pages and returns how many remain to be released; after the last ones it checkpoints the
// log, which shortens the file.
func vacuum(ctx context.Context, db *DB) (left int64, err error) {
	var free int64
	if err := db.QueryRow(ctx, "SELECT freelist_count FROM pragma_freelist_count").Scan(&free); err != nil ||
		free <= freePages {
		return 0, err
	}
	err = db.WriteIdle(ctx, func(tx *Tx) error {
		return Each(ctx, tx, func(Scan) error { return nil }, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", vacuumed))
	})
	if left = max(0, free-freePages-vacuumed); err == nil && left == 0 {
		err = shorten(ctx, db)
	}
	return left, err
}

// deadTables are the tables of which a fifth is removed rows: the share at which autovacuum begins, too. Until then
// new rows make the files longer.
const deadTables = `SELECT quote_ident(relname) FROM pg_stat_user_tables
	WHERE schemaname = current_schema() AND n_dead_tup > 50 + n_live_tup / 5`

// vacuumTables vacuums PostgreSQL's tables without the lock that shortens a file.
func vacuumTables(ctx context.Context, db *DB) error {
	tables, err := List(ctx, db, Value[string], deadTables)
	for _, table := range tables {
		if _, err := db.w.ExecContext(ctx, "VACUUM (TRUNCATE FALSE) "+table); err != nil {
			return db.explain(err)
		}
	}
	return err
}

// Shorten truncates the write-ahead log of a file that is too long, if no one is reading or writing.
func (s *Store) Shorten(ctx context.Context) error {
	for _, db := range []*DB{s.Core, s.Bulk} {
		if db.path == "" {
			continue
		}
		if n, err := fileSize(db.path + "-wal"); err != nil || n <= logLimit {
			if err != nil {
				return err
			}
			continue
		}
		if err := shorten(ctx, db); err != nil {
			return err
		}
	}
	return nil
}

// shorten first checkpoints the log, which does not block others, and then truncates it without waiting.
func shorten(ctx context.Context, db *DB) error {
	done, err := db.whenIdle(ctx)
	if err != nil {
		return err
	}
	defer done()
	conn, err := db.unsynced.Conn(ctx)
	if err != nil {
		return db.explain(err)
	}
	defer func() { _ = conn.Close() }()
	defer func() {
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), fmt.Sprintf("PRAGMA busy_timeout = %d", liteWait.Milliseconds()))
	}()
	for _, pragma := range []string{"busy_timeout = 0", "wal_checkpoint(PASSIVE)", "wal_checkpoint(TRUNCATE)"} {
		if _, err := conn.ExecContext(ctx, "PRAGMA "+pragma); err != nil {
			return db.explain(err)
		}
	}
	return nil
}
