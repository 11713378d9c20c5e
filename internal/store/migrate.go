package store

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
)

// tableSet is one of the two sets of tables, each with its own migration history.
type tableSet string

const (
	coreTables tableSet = "core"
	bulkTables tableSet = "bulk"
)

//go:embed migrations
var migrations embed.FS

// Migrations are the migrations of this program, by set of tables and engine.
func Migrations() fs.FS { return migrations }

// history is a set of migrations: those of a program, or those of a database.
type history struct{ newest, count int64 }

// migrator migrates one set of tables to the version of dir's files.
type migrator struct {
	db  *DB
	set tableSet
	dir fs.FS
}

// migrate migrates the tables of r once, however many processes start together: the write lock of a file (SQLite) or
// a transaction's advisory lock (PostgreSQL) admits one; the others then find nothing to do.
func (db *DB) migrate(ctx context.Context, r tableSet, opt Options) error {
	var all fs.FS = migrations
	if opt.Migrations != nil {
		all = opt.Migrations
	}
	dir, err := fs.Sub(all, path.Join("migrations", string(r), db.engine.dir()))
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	known, err := knownHistory(dir)
	if err != nil {
		return err
	}
	m := migrator{db, r, dir}
	have, err := m.seenHistory(ctx)
	if err != nil {
		return err
	}
	if current, err := m.current(ctx, have, known); err != nil || current {
		return err
	}
	if err := m.refuseUnreleased(ctx, have); err != nil {
		return err
	}
	if have.count > 0 && have.count < known.count && opt.KeepVersion {
		return &Error{Kind: Older, Where: db.where(), text: fmt.Sprintf(
			"the %s tables have version %d, and this program needs version %d; opdeck migrate takes a snapshot and then "+
				"updates them", r, have.newest, known.newest)}
	}
	if err := db.switchToWAL(ctx); err != nil {
		return err
	}
	if have.count > 0 && have.count < known.count && opt.Upgrading != nil {
		opt.Upgrading()
	}
	return m.up(ctx)
}

// current reports whether the tables of r have this program's version; a newer version is an error of kind Newer.
func (m migrator) current(ctx context.Context, have, known history) (bool, error) {
	if have.newest > known.newest {
		return false, &Error{Kind: Newer, Where: m.db.where(), text: fmt.Sprintf(
			"the %s tables have version %d, but this program knows version %d; use the newer program, or give this one a "+
				"database of its own",
			m.set, have.newest, known.newest)}
	}
	if have.count < known.count {
		return false, nil
	}
	if m.db.engine == SQLite {
		return m.db.isWAL(ctx)
	}
	return true, nil
}

// refuseUnreleased is an error if a build between two releases made the tables: it numbered its migrations from 1
// again, and the first of them made a table that comes with a later one here.
func (m migrator) refuseUnreleased(ctx context.Context, have history) error {
	table, since := "audit_tree", int64(10)
	if m.set == bulkTables {
		table, since = "index_sight", 8
	}
	if have.count == 0 || have.newest >= since {
		return nil
	}
	err := m.db.QueryRow(ctx, "SELECT COUNT(*) FROM "+table).Scan(new(int))
	if missingTable(err) {
		return nil
	}
	now, seenErr := m.seenHistory(ctx)
	if seenErr == nil && now != have { // another process is migrating
		return m.refuseUnreleased(ctx, now)
	}
	err = cmp.Or(err, seenErr)
	return cmp.Or(err, error(&Error{Kind: Unreleased, Where: m.db.where(), text: fmt.Sprintf(
		"an unreleased build of opdeck made the %s tables, and no program can update them; use that build, or give this "+
			"program a database of its own", m.set)}))
}

func (r tableSet) table() string { return "opdeck_" + string(r) + "_version" }

func (e Engine) dir() string {
	if e == Postgres {
		return "postgres"
	}
	return "sqlite"
}

// seenHistory reads the database's migrations; none if the table is missing.
func (m migrator) seenHistory(ctx context.Context) (history, error) {
	var h history
	err := m.db.QueryRow(ctx, "SELECT COALESCE(MAX(version_id), 0), COUNT(DISTINCT version_id) FROM "+m.set.table()+
		" WHERE version_id > 0").
		Scan(&h.newest, &h.count)
	if missingTable(err) {
		return history{}, nil
	}
	return h, err
}

// Versions are the versions of the tables of both sets, 0 for none yet.
func (s *Store) Versions(ctx context.Context) (core, bulk int64, err error) {
	a, err := migrator{db: s.Core, set: coreTables}.seenHistory(ctx)
	if err != nil {
		return 0, 0, err
	}
	b, err := migrator{db: s.Bulk, set: bulkTables}.seenHistory(ctx)
	return a.newest, b.newest, err
}

func knownHistory(dir fs.FS) (history, error) {
	names, err := fs.Glob(dir, "*.sql")
	if err != nil {
		return history{}, fmt.Errorf("store: %w", err)
	}
	h := history{count: int64(len(names))}
	for _, n := range names {
		v, err := versionOf(n)
		if err != nil {
			return history{}, err
		}
		h.newest = max(h.newest, v)
	}
	return h, nil
}
