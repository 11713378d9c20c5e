package inbox

import (
	"context"

	"opdeck/internal/store"
)

// account identifies the owner of an inbox.
type account struct{ baseURL, name string }

// in is the condition that a row of the table with that alias belongs to the account, with its arguments. Without a
// scope no row matches.
func (a account) in(alias string) (string, []any) {
	return alias + ".scope = (SELECT n FROM hook_scope WHERE base_url = ? AND account = ?)", []any{a.baseURL, a.name}
}

// write runs fn in a transaction with the account's scope number, which is created if missing.
func (b *Inbox) write(ctx context.Context, fn func(tx *store.Tx, scope int64) error) error {
	return b.db.Write(ctx, func(tx *store.Tx) error {
		scope, err := tx.Scope(ctx, "hook_scope", b.account.baseURL, b.account.name, writeLock)
		if err != nil {
			return err
		}
		return fn(tx, scope)
	})
}

// writeLock is an arbitrary lock number of the inbox's writers: it makes rows appear in the order of seq (PostgreSQL
// assigns numbers before commit).
const writeLock = 0x686f6f6b
