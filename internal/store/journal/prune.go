package journal

import (
	"context"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/approval"
	"opdeck/internal/store"
)

// PruneJobs removes up to limit replacements that ended before a time, of all accounts, and returns how many.
func PruneJobs(ctx context.Context, core *store.DB, before time.Time, limit int) (n int, err error) {
	err = core.WriteIdle(ctx, func(tx *store.Tx) error {
		removed, err := store.Affected(tx.Result(ctx, `DELETE FROM job WHERE id IN (
			SELECT id FROM job WHERE done = 1 AND updated_us < ? ORDER BY updated_us LIMIT ?)`, before.UnixMicro(), limit))
		n = int(removed)
		return err
	})
	return n, err
}

// inDoubtAtMost bounds the old requests with an act in doubt that are skipped.
const inDoubtAtMost = 2000

// PruneApprovals removes up to limit ended requests for approval that were filed before a time, of all accounts, and
// returns how many. It keeps those whose act has an unknown outcome.
func PruneApprovals(ctx context.Context, core *store.DB, before time.Time, limit int) (n int, err error) {
	err = core.WriteIdle(ctx, func(tx *store.Tx) error {
		old, err := store.List(ctx, tx, decode[approval.Request], `SELECT body FROM approval
			WHERE state NOT IN ('open', 'approved') AND created_us < ? ORDER BY created_us LIMIT ?`,
			before.UnixMicro(), limit+inDoubtAtMost)
		if err != nil {
			return err
		}
		for _, r := range old {
			if n == limit {
				return nil
			}
			if r.State == approval.Spent && (r.Verdict == "" || r.Verdict == api.Unclear) {
				continue
			}
			if err := tx.Exec(ctx, "DELETE FROM approval WHERE scope = ? AND id = ?", r.Scope, r.ID); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return n, err
}
