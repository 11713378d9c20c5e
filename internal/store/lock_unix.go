//go:build unix

package store

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lockMigration lets one process at a time create or change tables.
func (db *DB) lockMigration(ctx context.Context) (unlock func(), err error) {
	if db.engine == Postgres {
		return db.lockPostgres(ctx)
	}
	if db.path == "" {
		return func() {}, nil
	}
	f, err := os.OpenFile(db.path+".migrate", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("store: migration lock: %w", err)
	}
	return func() { _ = f.Close() }, nil
}
