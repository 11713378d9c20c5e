package inbox

import (
	"context"

	"opdeck/internal/store"
)

// account is whose inbox it is.
type account struct{ baseURL, name string }

// in is the condition that a row of the table called alias is the account's, with
// its arguments. It meets no row of an account that has none yet.
func (a account) in(alias string) (string, []any) {
	return alias + ".scope = (SELECT n FROM hook_scope WHERE base_url = ? AND account = ?)", []any{a.baseURL, a.name}
}

// write runs fn in a transaction with the number of the account's scope, which is
// made when it is not there yet.
func (b *Inbox) write(ctx context.Context, fn func(tx *store.Tx, scope int64) error) error {
	return b.db.Write(ctx, func(tx *store.Tx) error {
		scope, err := tx.Scope(ctx, "hook_scope", b.account.baseURL, b.account.name, writeLock)
		if err != nil {
			return err
		}
		return fn(tx, scope)
	})
}

// writeLock is an arbitrary number that only writers of the inbox take: rows then
// appear in the order of seq (PostgreSQL gives numbers out before commit).
const writeLock = 0x686f6f6b
