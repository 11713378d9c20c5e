package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pressly/goose/v3/database"
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
		if current {
			db.migrated = append(db.migrated, m.migratedTo(known))
		}
		return err
	}
	if have.count > 0 && have.count < known.count && opt.KeepVersion {
		return &Error{Kind: Older, Where: db.where(), text: fmt.Sprintf(
			"the %s tables have version %d, and this program needs version %d; opdeck migrate updates them",
			r, have.newest, known.newest)}
	}
	if err := db.switchToWAL(ctx); err != nil {
		return err
	}
	if have.count > 0 && have.count < known.count {
		if err := m.refuseOthers(ctx); err != nil {
			return err
		}
		if opt.Upgrading != nil {
			opt.Upgrading()
		}
	}
	if err := m.up(ctx); err != nil {
		return err
	}
	db.migrated = append(db.migrated, m.migratedTo(known))
	return nil
}

// migratedTo is the check of each later write: that no other program has migrated the tables since, and that they were
// not emptied or taken back.
func (m migrator) migratedTo(known history) func(ctx context.Context, tx *Tx) error {
	return func(ctx context.Context, tx *Tx) error {
		var newest int64
		err := tx.QueryRow(ctx, "SELECT COALESCE(MAX(version_id), 0) FROM "+m.set.table()).Scan(&newest)
		switch {
		case missingTable(err) || err == nil && newest < known.newest:
			return &Error{Kind: Lost, Where: m.db.where(), text: "was emptied or replaced by an older one"}
		case err == nil && newest > known.newest:
			return newer(m.db.where(), m.set, newest, known.newest)
		}
		return err
	}
}

// refuseOthers is an error while another opdeck has a session in a PostgreSQL database that is about to be migrated: it
// would go on with the older tables. Earlier versions did not name their sessions. For SQLite's files see Held.
func (m migrator) refuseOthers(ctx context.Context) error {
	if m.db.engine != Postgres {
		return nil
	}
	for began := time.Now(); ; {
		others, err := List(ctx, m.db, Value[string], `SELECT COALESCE(host(client_addr), 'this host') FROM pg_stat_activity
			WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()
				AND backend_type = 'client backend' AND application_name <> ?
				AND (application_name = '' OR application_name LIKE 'opdeck %')`, m.db.session)
		if err != nil || len(others) == 0 {
			return err
		}
		if time.Since(began) > leaving {
			slices.Sort(others)
			return &Error{Kind: InUse, Where: m.db.where(), text: fmt.Sprintf("%d sessions of opdeck are open (from %s), which "+
				"would go on with the older tables; stop every opdeck on every host, and migrate again", len(others),
				strings.Join(slices.Compact(others), ", "))}
		}
		select {
		case <-time.After(migrationTry):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// leaving is how long the server may take to end the session of a program that has ended.
const leaving = 2 * time.Second

// current reports whether the tables of r have this program's version; a newer version is an error of kind Newer.
func (m migrator) current(ctx context.Context, have, known history) (bool, error) {
	if have.newest > known.newest {
		return false, newer(m.db.where(), m.set, have.newest, known.newest)
	}
	if have.count < known.count {
		return false, nil
	}
	if m.db.engine == SQLite {
		return m.db.isWAL(ctx)
	}
	return true, nil
}

func newer(where string, set tableSet, have, known int64) *Error {
	return &Error{Kind: Newer, Where: where, text: fmt.Sprintf("the %s tables have version %d, but this program knows "+
		"version %d; use the newer program, or give this one a database of its own", set, have, known)}
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

// migrationLock is an arbitrary lock number of opdeck's migrations.
const migrationLock = 0x6f706465636b

// Times for a process that waits for another one's migration. Each try is its own transaction, so that a waiting
// process occupies no pooler connection.
const (
	migrationTry  = 100 * time.Millisecond // between tries, plus up to as much again
	migrationWait = 5 * time.Minute        // until it gives up: a large index takes a while
)

// up applies the missing migrations, each step one transaction, on the connection that holds the lock: a second
// connection could block forever behind a small pooler.
func (m migrator) up(ctx context.Context) error {
	began := time.Now()
	for {
		left, err := m.step(ctx)
		switch {
		case err != nil:
			return err
		case left == stepDone:
			return nil
		case left == stepMore:
			continue
		}
		if time.Since(began) > migrationWait {
			return &Error{Kind: Busy, Where: m.db.where(),
				text: "another process has been changing the tables for " + migrationWait.String()}
		}
		m.db.notice("Waiting for another process that is updating the tables in " + m.db.where() + ".")
		pause := time.NewTimer(migrationTry + rand.N(migrationTry))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		}
	}
}

// progress is the state after one try.
type progress int

const (
	stepDone   progress = iota // the tables have this program's version
	stepMore                   // something was applied; there may be more
	stepLocked                 // another process is migrating
)

// step takes the lock if it is free and applies the oldest missing migration; to an empty database it applies all, so
// that no one sees one that looks older.
func (m migrator) step(ctx context.Context) (progress, error) {
	left := stepLocked
	err := m.db.Write(ctx, func(tx *Tx) error {
		if m.db.engine == Postgres {
			var free bool
			if err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock(?)", int64(migrationLock)).Scan(&free); err != nil ||
				!free {
				return err
			}
		}
		names, err := m.notApplied(ctx, tx)
		if err != nil {
			return err
		}
		if len(names) == 0 {
			left = stepDone
			return nil
		}
		known, err := knownHistory(m.dir)
		if err != nil {
			return err
		}
		left = stepMore
		if int64(len(names)) < known.count {
			names = names[:1]
		}
		for _, name := range names {
			if err := m.apply(ctx, tx, name); err != nil {
				return err
			}
		}
		return nil
	})
	return left, err
}

// notApplied lists the missing migrations, oldest first. It creates goose's table if needed.
func (m migrator) notApplied(ctx context.Context, tx *Tx) (names []string, err error) {
	names, err = fs.Glob(m.dir, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	slices.Sort(names)
	query := "SELECT COUNT(*) FROM sqlite_master WHERE name = ?"
	if m.db.engine == Postgres {
		query = "SELECT CASE WHEN to_regclass(?) IS NULL THEN 0 ELSE 1 END"
	}
	var there int
	if err := tx.QueryRow(ctx, query, m.set.table()).Scan(&there); err != nil {
		return nil, err
	}
	if there == 0 {
		return names, m.countMigrations(ctx, tx)
	}
	seen, err := List(ctx, tx, Value[int64], "SELECT DISTINCT version_id FROM "+m.set.table()+" WHERE version_id > 0")
	return slices.DeleteFunc(names, func(n string) bool { v, _ := versionOf(n); return slices.Contains(seen, v) }), err
}

// countMigrations creates goose's table of migrations.
func (m migrator) countMigrations(ctx context.Context, tx *Tx) error {
	dialect := database.DialectSQLite3
	if m.db.engine == Postgres {
		dialect = database.DialectPostgres
	}
	st, err := database.NewStore(dialect, m.set.table())
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := st.CreateVersionTable(ctx, tx.tx); err != nil {
		return m.db.explain(err)
	}
	return m.db.explain(st.Insert(ctx, tx.tx, database.InsertRequest{Version: 0})) // goose's initial row
}

// apply runs one migration and records it.
func (m migrator) apply(ctx context.Context, tx *Tx, name string) error {
	text, err := fs.ReadFile(m.dir, name)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	v, err := versionOf(name)
	if err != nil {
		return err
	}
	if _, err := tx.tx.ExecContext(ctx, upPart(string(text))); err != nil { // all statements in one round trip
		return fmt.Errorf("store: migration of %s to version %d: %w", m.set, v, m.db.explain(err))
	}
	return tx.Exec(ctx, "INSERT INTO "+m.set.table()+" (version_id, is_applied) VALUES (?, ?)", v, true)
}

// upPart is the "up" part of a migration file.
func upPart(text string) string {
	_, up, _ := strings.Cut(text, "-- +goose Up")
	up, _, _ = strings.Cut(up, "-- +goose Down")
	return up
}

// versionOf is the number at the start of a migration's file name.
func versionOf(name string) (int64, error) {
	v, err := strconv.ParseInt(strings.SplitN(name, "_", 2)[0], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("store: migration %s has no number", name)
	}
	return v, nil
}

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
		size, err := sizeOf(part.db)
		if err != nil {
			return nil, err
		}
		size.Name = part.name
		out = append(out, size)
	}
	return out, nil
}

func sizeOf(db *DB) (size Size, err error) {
	if size.Data, err = fileSize(db.path); err != nil {
		return size, err
	}
	size.Log, err = fileSize(db.path + "-wal")
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
// PostgreSQL that is autovacuum's.
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
