package opindex

import (
	"context"
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
