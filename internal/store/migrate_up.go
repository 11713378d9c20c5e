package store

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pressly/goose/v3/database"
)

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
