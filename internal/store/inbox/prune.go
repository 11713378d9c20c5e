package inbox

import (
	"context"
	"time"

	"opdeck/internal/store"
)

// ended selects deliveries last received before a time, except those that are not merged yet, and those that are the
// first body of a remembered token, which is compared when the token is used again.
const ended = `SELECT h.seq FROM hook h WHERE h.last_us < ?
	AND NOT EXISTS (SELECT 1 FROM hook_merged m WHERE m.scope = h.scope AND m.seq < h.seq)
	AND NOT EXISTS (SELECT 1 FROM hook_retry r WHERE r.scope = h.scope AND r.hook_key = h.hook_key)
	AND NOT EXISTS (SELECT 1 FROM hook_token t WHERE t.scope = h.scope AND t.body_sha256 = h.body_sha256
		AND t.until_us >= ?)
	ORDER BY h.last_us LIMIT ?`

// Prune removes up to limit deliveries last received before a time, of all accounts, with the attempts to forward
// them, and returns how many. Tokens have expired by now.
func Prune(ctx context.Context, bulk *store.DB, before, now time.Time, limit int) (n int, err error) {
	err = bulk.WriteIdle(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, writeLock); err != nil {
			return err
		}
		seqs, err := store.List(ctx, tx, store.Value[int64], ended, micros(before), micros(now.Add(-tokenSpare)), limit)
		if err != nil {
			return err
		}
		if n = len(seqs); n == 0 {
			return nil
		}
		these := "seq IN (" + store.Marks(n) + ")"
		args := argsOf(seqs, func(seq int64) any { return seq })
		if err := tx.Exec(ctx, "DELETE FROM hook_attempt WHERE (scope, hook_key) IN (SELECT scope, hook_key FROM hook WHERE "+
			these+")", args...); err != nil {
			return err
		}
		return tx.Exec(ctx, "DELETE FROM hook WHERE "+these, args...)
	})
	return n, err
}

// PruneRejected removes up to limit deliveries rejected before a time, of all accounts, and returns how many. The
// counts remain.
func PruneRejected(ctx context.Context, bulk *store.DB, before time.Time, limit int) (n int, err error) {
	err = bulk.WriteIdle(ctx, func(tx *store.Tx) error {
		removed, err := store.Affected(tx.Result(ctx, `DELETE FROM hook_rejected WHERE id IN (
			SELECT id FROM hook_rejected WHERE at_us < ? ORDER BY at_us LIMIT ?)`, micros(before), limit))
		n = int(removed)
		return err
	})
	return n, err
}
