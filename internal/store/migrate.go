package store

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// room is one of the two sets of tables, each with a migration history of its own.
type room string

const (
	roomCore room = "core"
	roomBulk room = "bulk"
)

//go:embed migrations
var migrations embed.FS

// migrate brings the tables of r to the newest version, once, however many
// processes start together: the host's lock file (SQLite) or a transaction's
// advisory lock (PostgreSQL) lets one through, the others look again.
func (db *DB) migrate(ctx context.Context, r room) error {
	dir, err := fs.Sub(migrations, path.Join("migrations", string(r), strings.ToLower(db.engine.dir())))
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	newest, err := newestVersion(dir)
	if err != nil || newest == 0 {
		return err
	}
	table := "opdeck_" + string(r) + "_version"
	switch have := db.version(ctx, table); {
	case have == newest:
		return nil
	case have > newest:
		return fmt.Errorf("store: the database is of version %d, this program knows %d: use the newer program", have, newest)
	}
	unlock, err := db.lockMigration(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if db.version(ctx, table) == newest {
		return nil
	}
	st, err := database.NewStore(db.dialect(), table)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	p, err := goose.NewProvider("", db.w, dir, goose.WithStore(st), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("store: migration of %s: %w", r, err)
	}
	return nil
}

func (e Engine) dir() string {
	if e == Postgres {
		return "postgres"
	}
	return "sqlite"
}

func (db *DB) dialect() database.Dialect {
	if db.engine == Postgres {
		return database.DialectPostgres
	}
	return database.DialectSQLite3
}

// version is the newest applied migration; 0 when there is none yet or the
// table is missing.
func (db *DB) version(ctx context.Context, table string) int64 {
	var v int64
	if err := db.QueryRow(ctx, "SELECT COALESCE(MAX(version_id), 0) FROM "+table).Scan(&v); err != nil {
		return 0
	}
	return v
}

func newestVersion(dir fs.FS) (int64, error) {
	names, err := fs.Glob(dir, "*.sql")
	if err != nil || len(names) == 0 {
		return 0, err
	}
	var newest int64
	for _, n := range names {
		v, err := strconv.ParseInt(strings.SplitN(n, "_", 2)[0], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("store: migration %s has no number", n)
		}
		newest = max(newest, v)
	}
	return newest, nil
}
