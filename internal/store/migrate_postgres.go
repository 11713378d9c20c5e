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

// migrationLock is an arbitrary number that only opdeck's migrations take.
const migrationLock = 0x6f706465636b

// Times of a process that waits while another one changes the tables. Each try
// is a transaction of its own, so that a waiter occupies no connection of a
// pooler, however small its pool is.
const (
	migrationTry  = 100 * time.Millisecond // between two tries, up to as much again
	migrationWait = 5 * time.Minute        // until it gives up: a large index takes a while
)

// upPostgres applies what is missing, one transaction for each migration, on the
// connection that holds the lock: nothing here needs a second connection while it
// has one, or a pooler with few of them would stand still for ever. The server
// frees the lock when the connection ends.
func (db *DB) upPostgres(ctx context.Context, r room, dir fs.FS, upgrading func()) error {
	began, told := time.Now(), false
	for {
		left, err := db.stepPostgres(ctx, r, dir, func() {
			if !told && upgrading != nil {
				upgrading()
			}
			told = true
		})
		switch {
		case err != nil:
			return err
		case left == stepDone:
			return nil
		case left == stepMore:
			continue
		}
		if time.Since(began) > migrationWait {
			return &Error{Kind: Busy, Where: db.where(), text: "another process has been changing the tables for " + migrationWait.String()}
		}
		db.notice("Waiting for another process that brings the tables in " + db.where() + " up to date.")
		pause := time.NewTimer(migrationTry + rand.N(migrationTry))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		}
	}
}

// step is what is left after one try.
type step int

const (
	stepDone   step = iota // the tables are as this program knows them
	stepMore               // one migration was applied; there may be more
	stepLocked             // another process is at it
)

// stepPostgres takes the lock if it is free and applies the oldest migration that
// is missing.
func (db *DB) stepPostgres(ctx context.Context, r room, dir fs.FS, upgrading func()) (step, error) {
	left := stepLocked
	err := db.Write(ctx, func(tx *Tx) error {
		var free bool
		if err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock(?)", int64(migrationLock)).Scan(&free); err != nil || !free {
			return err
		}
		names, have, err := db.notApplied(ctx, tx, r, dir)
		if err != nil {
			return err
		}
		if len(names) == 0 {
			left = stepDone
			return nil
		}
		left = stepMore
		if have {
			upgrading()
		}
		return db.apply(ctx, tx, r, dir, names[0])
	})
	return left, err
}

// notApplied names the migrations that were not applied, oldest first; have tells
// that some were before. It makes the table that counts them.
func (db *DB) notApplied(ctx context.Context, tx *Tx, r room, dir fs.FS) (names []string, have bool, err error) {
	names, err = fs.Glob(dir, "*.sql")
	if err != nil {
		return nil, false, fmt.Errorf("store: %w", err)
	}
	slices.Sort(names)
	var there bool
	if err := tx.QueryRow(ctx, "SELECT to_regclass(?) IS NOT NULL", r.table()).Scan(&there); err != nil {
		return nil, false, err
	}
	if !there {
		return names, false, db.countMigrations(ctx, tx, r)
	}
	seen, err := List(ctx, tx, Value[int64], "SELECT DISTINCT version_id FROM "+r.table()+" WHERE version_id > 0")
	names = slices.DeleteFunc(names, func(n string) bool { v, _ := versionOf(n); return slices.Contains(seen, v) })
	return names, len(seen) > 0, err
}

// countMigrations makes the table in which goose counts migrations.
func (db *DB) countMigrations(ctx context.Context, tx *Tx, r room) error {
	st, err := database.NewStore(db.dialect(), r.table())
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if err := st.CreateVersionTable(ctx, tx.tx); err != nil {
		return db.explain(err)
	}
	return db.explain(st.Insert(ctx, tx.tx, database.InsertRequest{Version: 0})) // as goose begins
}

// apply runs one migration and counts it.
func (db *DB) apply(ctx context.Context, tx *Tx, r room, dir fs.FS, name string) error {
	text, err := fs.ReadFile(dir, name)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	v, err := versionOf(name)
	if err != nil {
		return err
	}
	if _, err := tx.tx.ExecContext(ctx, upPart(string(text))); err != nil { // all statements in one exchange
		return fmt.Errorf("store: migration of %s to version %d: %w", r, v, db.explain(err))
	}
	_, err = tx.Exec(ctx, "INSERT INTO "+r.table()+" (version_id, is_applied) VALUES (?, ?)", v, true)
	return err
}

// upPart is what a migration file does on the way up.
func upPart(text string) string {
	_, up, _ := strings.Cut(text, "-- +goose Up")
	up, _, _ = strings.Cut(up, "-- +goose Down")
	return up
}

// versionOf is the number that a migration's file name begins with.
func versionOf(name string) (int64, error) {
	v, err := strconv.ParseInt(strings.SplitN(name, "_", 2)[0], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("store: migration %s has no number", name)
	}
	return v, nil
}
