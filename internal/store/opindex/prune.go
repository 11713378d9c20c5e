package opindex

import (
	"context"
	"time"

	"opdeck/internal/store"
)

// PruneHistory removes up to limit states that were replaced before a time by the store's clock, of all accounts, and
// returns how many.
func PruneHistory(ctx context.Context, bulk *store.DB, before time.Time, limit int) (n int, err error) {
	err = bulk.WriteIdle(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, writeLock); err != nil {
			return err
		}
		removed, err := store.Affected(tx.Result(ctx, `DELETE FROM index_history WHERE (scope, opid, seq) IN (
			SELECT scope, opid, seq FROM index_history WHERE ended_us < ? ORDER BY ended_us LIMIT ?)`,
			before.UnixMicro(), limit))
		n = int(removed)
		return err
	})
	return n, err
}

// goneBefore selects operations that are gone since before a time, except those with a read that is due.
const goneBefore = `SELECT scope, opid FROM index_absent WHERE gone_us > 0 AND gone_us < ? AND due_us = 0
	ORDER BY gone_us LIMIT ?`

// PruneGone removes up to limit operations that were found gone before a time by the store's clock, of all accounts,
// with their states and who has seen them, and returns how many.
func PruneGone(ctx context.Context, bulk *store.DB, before time.Time, limit int) (n int, err error) {
	err = bulk.WriteIdle(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, writeLock); err != nil {
			return err
		}
		for _, table := range []string{"index_history", "index_look", "index_absent"} {
			removed, err := store.Affected(tx.Result(ctx, "DELETE FROM "+table+" WHERE (scope, opid) IN ("+goneBefore+")",
				before.UnixMicro(), limit))
			if err != nil {
				return err
			}
			n = int(removed)
		}
		return nil
	})
	return n, err
}
