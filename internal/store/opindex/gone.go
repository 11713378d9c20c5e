package opindex

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/store"
)

// absent is an operation of index_absent.
type absent struct {
	opid                string
	gone, seen, changed int64
	origin              index.Origin
	body                []byte
}

// loadAbsent reads which of the unlisted rows are known to be gone or were announced.
func (b *batch) loadAbsent(ctx context.Context, rows []*opRow) error {
	var ids []string
	for _, r := range rows {
		if b.known[r.opid] == nil {
			ids = append(ids, r.opid)
		}
	}
	return store.EachIn(ctx, b.tx, ids, func(scan store.Scan) error {
		a := &absent{}
		err := scan(&a.opid, &a.gone, &a.seen, &a.changed, &a.origin, &a.body)
		b.absent[a.opid] = a
		return err
	}, "SELECT opid, gone_us, seen_us, changed_us, origin, body FROM index_absent WHERE scope = ? AND opid IN", b.x.scope)
}

// arrive handles an operation that is not in the list. A gone one returns only by a later request; a webhook about
// it, or one without data about an unknown operation, makes a read due.
func (b *batch) arrive(r *opRow) {
	a := b.absent[r.opid]
	switch {
	case r.origin == index.Hook && (a != nil && a.gone > 0 || r.updated == noTime):
		b.merged.Older++
		b.doubt[r.opid] = r
		return
	case a != nil && r.seen <= a.gone && a.gone <= b.now: // unless from a clock that was set back since
		b.merged.Older++
		return
	case a != nil:
		b.back[r.opid] = a
		delete(b.absent, r.opid)
	}
	b.write[r.opid] = r
	b.merged.New++
	b.touch(r.opid)
}

// comeBack moves returning operations from index_absent to the history.
func (b *batch) comeBack(ctx context.Context) error {
	for opid, a := range b.back {
		if err := b.tx.Exec(ctx, "DELETE FROM index_absent WHERE scope = ? AND opid = ?", b.x.scope, opid); err != nil {
			return err
		}
		if a.gone == 0 {
			continue
		}
		b.merged.Back++
		for _, s := range []struct {
			at, ended int64
			origin    index.Origin
			body      []byte
		}{{a.changed, a.gone, a.origin, a.body}, // an empty body: gone from here on
			{a.gone, b.now, index.Read, []byte{}}} {
			if err := b.tx.Exec(ctx, `INSERT INTO index_history (scope, opid, seq, at_us, updated_us, origin, body, ended_us)
				SELECT CAST(? AS BIGINT), CAST(? AS TEXT),
				COALESCE((SELECT MAX(h.seq) FROM index_history h WHERE h.scope = ? AND h.opid = ?), 0) + 1,
				CAST(? AS BIGINT), 0, CAST(? AS BIGINT), ?, CAST(? AS BIGINT)`,
				b.x.scope, opid, b.x.scope, opid, s.at, int64(s.origin), s.body, s.ended); err != nil {
				return err
			}
		}
	}
	return nil
}

// announce makes a read due for an operation that is not in the list.
func (x *Store) announce(ctx context.Context, tx *store.Tx, opid string, at int64) error {
	return tx.Exec(ctx, `INSERT INTO index_absent (scope, opid, gone_us, seen_us, changed_us, origin, due_us, body)
		VALUES (?, ?, 0, 0, ?, ?, ?, ?)
		ON CONFLICT (scope, opid) DO UPDATE SET due_us = excluded.due_us`, x.scope, opid, at, int64(index.Hook), at, []byte{})
}

// remove removes from the list what the service no longer has, unless a later request has shown it.
func (b *batch) remove(ctx context.Context, list []index.Gone) error {
	for _, g := range list {
		if _, written := b.write[g.OPID]; written {
			continue
		}
		at := min(g.At.UnixMicro(), b.now)
		var n, seen int64
		var words bool
		err := b.tx.QueryRow(ctx, "SELECT o.n, s.seen_us, "+hasWords+`
			FROM index_op o JOIN index_sight s ON s.n = o.n WHERE o.scope = ? AND o.opid_fold = ? AND o.opid = ?`,
			b.x.scope, filter.FoldID(g.OPID), g.OPID).Scan(&n, &seen, &words)
		switch {
		case errors.Is(err, sql.ErrNoRows): // announced only, or gone already
			if err := b.tx.Exec(ctx, "DELETE FROM index_absent WHERE scope = ? AND opid = ? AND gone_us = 0", b.x.scope,
				g.OPID); err != nil {
				return err
			}
			if err := b.tx.Exec(ctx, "UPDATE index_absent SET due_us = 0 WHERE scope = ? AND opid = ?", b.x.scope,
				g.OPID); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		case seen > at:
			continue
		}
		if err := b.tx.Exec(ctx, `INSERT INTO index_absent (scope, opid, gone_us, seen_us, changed_us, origin, due_us, body)
			SELECT o.scope, o.opid, CAST(? AS BIGINT), s.seen_us, o.changed_us, o.origin, 0, r.body
			FROM index_op o JOIN index_sight s ON s.n = o.n JOIN index_raw r ON r.n = o.n WHERE o.n = ?`,
			max(at, 1), n); err != nil {
			return err
		}
		one, worded := []int64{n}, []int64(nil)
		if words {
			worded = one
		}
		if err := b.drop(ctx, one, worded); err != nil {
			return err
		}
		b.merged.Gone++
		b.touch(g.OPID)
	}
	return nil
}

// noteAsked records whose single read was answered.
func (b *batch) noteAsked(ctx context.Context, opids []string) error {
	for _, opid := range opids {
		if err := b.tx.Exec(ctx,
			"UPDATE index_sight SET asked_us = ? WHERE n = "+
				"(SELECT n FROM index_op WHERE scope = ? AND opid_fold = ? AND opid = ?)",
			b.now, b.x.scope, filter.FoldID(opid), opid); err != nil {
			return err
		}
	}
	return nil
}

// swap replaces a fact that still has the value that the caller read.
func (b *batch) swap(ctx context.Context, s *index.Swap) error {
	if s == nil {
		return nil
	}
	query, args := "UPDATE index_meta SET value = ? WHERE scope = ? AND name = ? AND value = ?",
		[]any{s.New, b.x.scope, s.Name, s.Old}
	if s.Old == "" {
		query, args = `INSERT INTO index_meta (scope, name, value) VALUES (?, ?, ?)
			ON CONFLICT (scope, name) DO UPDATE SET value = excluded.value WHERE index_meta.value = ''`,
			[]any{b.x.scope, s.Name, s.New}
	}
	res, err := b.tx.Result(ctx, query, args...)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	b.merged.Swapped = n == 1
	return err
}

// noTime is the value that newRow writes for a record without a time.
var noTime = time.Time{}.UnixMicro()
