package opindex

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"opdeck/internal/domain/index"
	"opdeck/internal/store"
)

// sight converts a time of index_sight; the zero time for 0.
func sight(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return micros(us)
}

// manyUnseen is the limit of the count of rows that were never read.
const manyUnseen = 1000

// Sights summarises when rows were read.
func (x *Store) Sights(ctx context.Context) (index.Sights, error) {
	var s index.Sights
	var err error
	if s.Rows, err = countRows(ctx, x); err != nil {
		return s, err
	}
	var oldest, newest int64
	err = x.q.QueryRow(ctx, `SELECT
		COALESCE((SELECT MIN(seen_us) FROM index_sight WHERE scope = ? AND seen_us > 0), 0),
		COALESCE((SELECT MAX(seen_us) FROM index_sight WHERE scope = ?), 0),
		(SELECT count(*) FROM (SELECT 1 FROM index_sight WHERE scope = ? AND seen_us = 0 LIMIT ?) AS u),
		(SELECT count(*) FROM index_absent WHERE scope = ? AND gone_us > 0)`,
		x.scope, x.scope, x.scope, manyUnseen, x.scope).Scan(&oldest, &newest, &s.Unseen, &s.Gone)
	s.Oldest, s.Newest = sight(oldest), sight(newest)
	return s, err
}

// Candidates lists rows that no request since t has shown.
func (x *Store) Candidates(ctx context.Context, t time.Time, limit int) ([]string, error) {
	us := t.UnixMicro()
	return store.List(ctx, x.q, store.Value[string], `SELECT o.opid
		FROM index_sight s JOIN index_op o ON o.n = s.n WHERE s.scope = ? AND s.seen_us < ? AND s.asked_us < ?
		ORDER BY s.seen_us LIMIT ?`, x.scope, us, us, limit)
}

// ForgetSights clears the times of all reads.
func (x *Store) ForgetSights(ctx context.Context) error {
	return x.db.Exec(ctx, "UPDATE index_sight SET seen_us = 0, asked_us = 0 WHERE scope = ?", x.scope)
}

// gone returns an operation that left the list.
func (x *Store) gone(ctx context.Context, opid string) (index.Record, error) {
	var at, seen, changed int64
	var r index.Record
	var body []byte
	err := x.q.QueryRow(ctx,
		"SELECT gone_us, seen_us, changed_us, origin, body FROM index_absent WHERE scope = ? AND opid = ? AND gone_us > 0",
		x.scope, opid).
		Scan(&at, &seen, &changed, &r.Origin, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return r, index.ErrNone
	}
	if err != nil {
		return r, err
	}
	if r.Op, err = decodeOp(body); err == nil {
		err = x.name(ctx, &r.Op)
	}
	r.Seen, r.Changed, r.Gone = sight(seen), micros(changed), micros(at)
	return r, err
}

// Reset deletes all rows of the scope. The history remains.
func (x *Store) Reset(ctx context.Context, facts ...string) error {
	return x.db.Write(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, writeLock); err != nil {
			return err
		}
		ours := "(SELECT n FROM index_op WHERE scope = ?)"
		drop := []string{"DELETE FROM index_raw WHERE n IN " + ours}
		if !x.postgres() {
			drop = append(drop, "DELETE FROM index_words WHERE rowid IN "+ours)
		}
		drop = append(drop, "DELETE FROM index_op WHERE scope = ?", "DELETE FROM index_absent WHERE scope = ?",
			"DELETE FROM index_sum WHERE scope = ?",
			"UPDATE index_kind SET ops = 0, hi = 0, lo = 0, nanos = 0 WHERE scope = ?")
		for _, query := range drop {
			if err := tx.Exec(ctx, query, x.scope); err != nil {
				return err
			}
		}
		for _, name := range facts {
			if err := tx.Exec(ctx, "DELETE FROM index_meta WHERE scope = ? AND name = ?", x.scope, name); err != nil {
				return err
			}
		}
		return x.bump(ctx, tx)
	})
}
