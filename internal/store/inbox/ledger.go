package inbox

import (
	"context"
	"time"

	"opdeck/internal/domain/receiver"
	"opdeck/internal/store"
)

// Merged implements receiver.Ledger.
func (b *Inbox) Merged(ctx context.Context) (seq int64, err error) {
	where, of := b.account.in("m")
	seq, _, err = store.Find[int64](ctx, b.db, "SELECT seq FROM hook_merged m WHERE "+where, of...)
	return seq, err
}

// Advance implements receiver.Ledger.
func (b *Inbox) Advance(ctx context.Context, seq int64, failed ...receiver.Retry) error {
	return b.write(ctx, func(tx *store.Tx, scope int64) error {
		for _, r := range failed {
			err := tx.Exec(ctx, `INSERT INTO hook_retry (scope, hook_key, tries, reason, first_us, last_us, next_us)
 VALUES (?, ?, ?, ?, ?, ?, ?)
 ON CONFLICT (scope, hook_key) DO UPDATE SET tries = hook_retry.tries + 1, reason = excluded.reason,
 last_us = excluded.last_us, next_us = excluded.next_us`,
				scope, r.Key, r.Tries, r.Reason, micros(r.First), micros(r.Last), micros(r.Next))
			if err != nil {
				return err
			}
		}
		if seq == 0 {
			return nil
		}
		return tx.Exec(ctx, `INSERT INTO hook_merged (scope, seq) VALUES (?, ?)
 ON CONFLICT (scope) DO UPDATE SET seq = excluded.seq WHERE excluded.seq > hook_merged.seq`, scope, seq)
	})
}

// Settle implements receiver.Ledger.
func (b *Inbox) Settle(ctx context.Context, key string) error {
	where, of := b.account.in("hook_retry")
	return b.db.Exec(ctx, "DELETE FROM hook_retry WHERE "+where+" AND hook_key = ?", append(of, key)...)
}

// Due implements receiver.Ledger.
func (b *Inbox) Due(ctx context.Context, now time.Time, limit int) ([]receiver.Retry, error) {
	where, of := b.account.in("r")
	return store.List(ctx, b.db, func(scan store.Scan) (receiver.Retry, error) {
		var r receiver.Retry
		var first, last, next int64
		err := scan(&r.Key, &r.Tries, &r.Reason, &first, &last, &next)
		r.First, r.Last, r.Next = fromMicros(first), fromMicros(last), fromMicros(next)
		return r, err
	}, "SELECT hook_key, tries, reason, first_us, last_us, next_us FROM hook_retry r WHERE "+where+
		" AND (next_us <= ? OR next_us > ?) ORDER BY next_us LIMIT ?",
		append(of, micros(now), micros(now.Add(receiver.MaxRetry)), limit)...)
}

// Backlog implements receiver.Ledger.
func (b *Inbox) Backlog(ctx context.Context) (out receiver.Backlog, err error) {
	where, of := b.account.in("r")
	var first, next int64
	err = b.db.QueryRow(ctx, "SELECT COUNT(*), COALESCE(MIN(first_us), 0), COALESCE(MIN(next_us), 0) FROM hook_retry r "+
		"WHERE "+where, of...).Scan(&out.Waiting, &first, &next)
	if err != nil {
		return out, err
	}
	if out.Waiting > 0 {
		out.Oldest, out.Next = fromMicros(first), fromMicros(next)
		// none: settled meanwhile
		out.Reason, _, err = store.Find[string](ctx, b.db,
			"SELECT reason FROM hook_retry r WHERE "+where+" ORDER BY last_us DESC LIMIT 1", of...)
		if err != nil {
			return out, err
		}
	}
	mark, err := b.Merged(ctx)
	if err != nil {
		return out, err
	}
	where, of = b.account.in("h")
	err = b.db.QueryRow(ctx, "SELECT COUNT(*) FROM (SELECT seq FROM hook h WHERE "+where+" AND seq > ? LIMIT ?) behind",
		append(of, mark, receiver.MaxBehind)...).Scan(&out.Behind)
	return out, err
}
