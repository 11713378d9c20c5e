package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// What a file may hold beside its data.
const (
	logLimit  = 4 << 20 // bytes that a write-ahead log keeps on the disk after it was copied
	freePages = 512     // pages that a file keeps for what is written next
	vacuumed  = 256     // pages given back at a time
)

// Size is what a database takes on the disk, in bytes.
type Size struct {
	Name string // core or index; database for PostgreSQL, where all are in one
	Data int64
	Log  int64 // of the write-ahead log beside it
	Free int64 // of Data: pages without content
}

// Sizes measures the databases; none in memory.
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

// fileSize is 0 for a file that is not there.
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

// Compact gives some free pages of the files back to the disk, while nobody else
// writes; more says that there are others. PostgreSQL reuses its own.
func (s *Store) Compact(ctx context.Context) (more bool, err error) {
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

// vacuum gives some free pages back and returns how many are left to be; with the last
// ones the log goes into the file, which is shorter only then.
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

// Shorten empties the write-ahead log of a file where it is longer than it should
// be and nobody reads or writes just now.
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

// shorten copies the log into the file first, beside which others read and write, and
// then cuts it without waiting for anybody.
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
