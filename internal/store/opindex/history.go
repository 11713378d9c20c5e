package opindex

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/store"
)

// maxStates bounds the history of one operation; the oldest are dropped first, except the very first.
const maxStates = 50

// keepHistory saves the states of operations that are about to be replaced; ns are their numbers.
func (b *batch) keepHistory(ctx context.Context, ns []int64, opids []string) error {
	err := store.ExecIn(ctx, b.tx, ns, `INSERT INTO index_history
		(scope, opid, seq, at_us, updated_us, origin, body, ended_us) SELECT o.scope, o.opid,
		COALESCE((SELECT MAX(h.seq) FROM index_history h WHERE h.scope = o.scope AND h.opid = o.opid), 0) + 1,
		o.changed_us, o.updated_us, o.origin, r.body, CAST(? AS BIGINT)
		FROM index_op o JOIN index_raw r ON r.n = o.n WHERE o.n IN`, b.now)
	if err != nil {
		return err
	}
	return store.ExecIn(ctx, b.tx, opids, `DELETE FROM index_history WHERE seq > 1 AND scope = ?
		AND seq <= (SELECT MAX(h.seq) FROM index_history h
			WHERE h.scope = index_history.scope AND h.opid = index_history.opid) - ? AND opid IN`, b.x.scope, maxStates)
}

// History returns the states of an operation, oldest first, ending with the current one.
func (x *Store) History(ctx context.Context, opid string) ([]index.State, error) {
	present, err := x.Get(ctx, opid)
	if err != nil {
		return nil, err
	}
	var out []index.State
	err = store.Each(ctx, x.q, func(scan store.Scan) (err error) {
		var at int64
		var s index.State
		var body []byte
		if err := scan(&at, &s.Origin, &body); err != nil {
			return err
		}
		if s.Gone = len(body) == 0; !s.Gone {
			s.Op, err = decodeOp(body)
		} else if len(out) > 0 {
			s.Op = out[len(out)-1].Op
		}
		s.At = micros(at)
		out = append(out, s)
		return err
	}, "SELECT at_us, origin, body FROM index_history WHERE scope = ? AND opid = ? ORDER BY seq", x.scope, opid)
	if err != nil {
		return nil, err
	}
	for i := range out {
		if err := x.name(ctx, &out[i].Op); err != nil {
			return nil, err
		}
	}
	out = append(out,
		index.State{Op: present.Op, At: present.Changed, Origin: present.Origin, Current: present.Gone.IsZero()})
	if !present.Gone.IsZero() {
		out = append(out, index.State{Op: present.Op, At: present.Gone, Origin: index.Read, Current: true, Gone: true})
	}
	return out, nil
}

// decodeOp decodes a stored operation, which keeps body.
func decodeOp(body []byte) (o api.Operation, err error) {
	record, err := unpack(body)
	if err == nil {
		o, err = api.ReadOperation(record)
	}
	if err != nil {
		return o, fmt.Errorf("index: a stored operation cannot be read: %w", err)
	}
	return o, nil
}

func micros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// MarkSeen records that a person has seen the operation ("" for the list).
func (x *Store) MarkSeen(ctx context.Context, person, opid string, at time.Time) error {
	return x.db.Exec(ctx, `INSERT INTO index_look (scope, person, opid, at_us) VALUES (?, ?, ?, ?)
		ON CONFLICT (scope, person, opid) DO UPDATE SET at_us = excluded.at_us WHERE excluded.at_us > index_look.at_us`,
		x.scope, person, opid, at.UnixMicro())
}

// LastSeen is when the person last saw the operation; the zero time for never.
func (x *Store) LastSeen(ctx context.Context, person, opid string) (time.Time, error) {
	at, _, err := store.Find[int64](ctx, x.q, "SELECT at_us FROM index_look WHERE scope = ? AND person = ? AND opid = ?",
		x.scope, person, opid)
	return sight(at), err
}

// Owed lists operations whose single read is due, longest overdue first.
func (x *Store) Owed(ctx context.Context, now time.Time, limit int) ([]string, error) {
	return store.List(ctx, x.q, store.Value[string], `SELECT opid FROM (
		SELECT opid, doubt_us AS due FROM index_op WHERE scope = ? AND doubt > 0 AND doubt_us <= ?
		UNION ALL SELECT opid, due_us AS due FROM index_absent WHERE scope = ? AND due_us > 0 AND due_us <= ?) AS o
		ORDER BY due LIMIT ?`,
		x.scope, now.UnixMicro(), x.scope, now.UnixMicro(), limit)
}

// Owe makes a single read of an operation due.
func (x *Store) Owe(ctx context.Context, opid string, at time.Time) error {
	if !usableID(opid) {
		return nil
	}
	return x.db.Write(ctx, func(tx *store.Tx) error {
		n, err := store.Affected(tx.Result(ctx,
			"UPDATE index_op SET doubt = CASE WHEN doubt > 0 THEN doubt ELSE 1 END, doubt_us = ? "+
				"WHERE scope = ? AND opid_fold = ? AND opid = ?",
			at.UnixMicro(), x.scope, filter.FoldID(opid), opid))
		if err != nil || n > 0 {
			return err
		}
		return x.announce(ctx, tx, opid, at.UnixMicro())
	})
}

// Postpone delays a failed read.
func (x *Store) Postpone(ctx context.Context, opid string, until time.Time) error {
	return x.db.Write(ctx, func(tx *store.Tx) error {
		err := tx.Exec(ctx, "UPDATE index_op SET doubt_us = ? WHERE scope = ? AND opid_fold = ? AND opid = ? AND doubt > 0",
			until.UnixMicro(), x.scope, filter.FoldID(opid), opid)
		if err == nil {
			err = tx.Exec(ctx, "UPDATE index_absent SET due_us = ? WHERE scope = ? AND opid = ? AND due_us > 0",
				until.UnixMicro(), x.scope, opid)
		}
		return err
	})
}

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
		err := b.tx.QueryRow(ctx, `SELECT o.n, s.seen_us
			FROM index_op o JOIN index_sight s ON s.n = o.n WHERE o.scope = ? AND o.opid_fold = ? AND o.opid = ?`,
			b.x.scope, filter.FoldID(g.OPID), g.OPID).Scan(&n, &seen)
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
		if err := b.drop(ctx, []int64{n}); err != nil {
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
	if s.Rows, err = x.countRows(ctx); err != nil {
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
		for _, query := range []string{"DELETE FROM index_raw WHERE n IN (SELECT n FROM index_op WHERE scope = ?)",
			"DELETE FROM index_op WHERE scope = ?", "DELETE FROM index_sight WHERE scope = ?",
			"DELETE FROM index_absent WHERE scope = ?"} {
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
