package inbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"opdeck/internal/store"
)

// account is whose inbox it is; the zero value stands for the deliveries
// that belong to no account.
type account struct{ baseURL, name string }

// in is the condition that a row of the table called alias is the account's, with
// its arguments. It meets no row of an account that has none yet.
func (a account) in(alias string) (string, []any) {
	if a == (account{}) {
		return alias + ".scope = 0", nil
	}
	return alias + ".scope = (SELECT n FROM hook_scope WHERE base_url = ? AND account = ?)", []any{a.baseURL, a.name}
}

// errUnassigned says that something should be written that belongs to no account.
var errUnassigned = errors.New("store: nothing can be added to the unassigned events")

// write runs fn in a transaction with the number of the account's scope, which is
// made when it is not there yet.
func (b *Inbox) write(ctx context.Context, fn func(tx *store.Tx, scope int64) error) error {
	if b.account == (account{}) {
		return errUnassigned
	}
	return b.db.Write(ctx, func(tx *store.Tx) error {
		scope, err := b.scope(ctx, tx)
		if err != nil {
			return err
		}
		return fn(tx, scope)
	})
}

func (b *Inbox) scope(ctx context.Context, tx *store.Tx) (n int64, err error) {
	const known = "SELECT n FROM hook_scope WHERE base_url = ? AND account = ?"
	err = tx.QueryRow(ctx, known, b.account.baseURL, b.account.name).Scan(&n)
	if !errors.Is(err, sql.ErrNoRows) {
		return n, err
	}
	if err := b.lock(ctx, tx); err != nil {
		return 0, err
	}
	err = tx.QueryRow(ctx, known, b.account.baseURL, b.account.name).Scan(&n)
	if !errors.Is(err, sql.ErrNoRows) {
		return n, err
	}
	if err := tx.QueryRow(ctx, "SELECT COALESCE(MAX(n), 0) + 1 FROM hook_scope").Scan(&n); err != nil {
		return 0, err
	}
	if _, err := tx.Exec(ctx, "INSERT INTO hook_scope (n, base_url, account) VALUES (?, ?, ?)", n, b.account.baseURL, b.account.name); err != nil {
		return 0, fmt.Errorf("store: a new account: %w", err)
	}
	return n, nil
}

// writeLock is an arbitrary number that only writers of the inbox take: rows
// then appear in the order of seq (PostgreSQL gives numbers out before commit).
const writeLock = 0x686f6f6b

// lock keeps other writers of the inbox out until the transaction ends; store.SQLite
// does so by itself.
func (b *Inbox) lock(ctx context.Context, tx *store.Tx) error {
	if tx.Engine() != store.Postgres {
		return nil
	}
	_, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(?)", int64(writeLock))
	return err
}
