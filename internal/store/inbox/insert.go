package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"opdeck/internal/domain/receiver"
	"opdeck/internal/store"
)

// Insert implements receiver.Inbox.
func (b *Inbox) Insert(ctx context.Context, r receiver.Record) (out receiver.Result, err error) {
	err = b.write(ctx, func(tx *store.Tx, scope int64) error {
		if err := tx.Lock(ctx, writeLock); err != nil {
			return err
		}
		fits, err := b.tokenFits(ctx, tx, scope, r)
		if err != nil {
			return err
		}
		if !fits {
			out = receiver.Result{Outcome: receiver.OutcomeReused, Stored: receiver.Stored{Record: r}}
			return nil
		}
		out, err = b.insert(ctx, tx, scope, r, receiver.OutcomeNew)
		return err
	})
	return out, err
}

// insert adds a record; if its key has a row already, the same body is counted and another one is added beside it as a
// conflict. added is the outcome of a new row.
func (b *Inbox) insert(ctx context.Context, tx *store.Tx, scope int64, r receiver.Record, added receiver.Outcome) (
	receiver.Result, error) {
	old, err := b.hooks(ctx, tx, " AND h.hook_key = ?", r.Key)
	switch {
	case err != nil:
		return receiver.Result{}, err
	case len(old) == 0:
		s := receiver.Stored{Record: r, Deliveries: 1, LastAt: r.ReceivedAt}
		us := micros(r.ReceivedAt)
		err := tx.QueryRow(ctx, "INSERT INTO hook (scope, "+hookColumns+", last_us) VALUES ("+store.Marks(18)+
			") RETURNING seq", scope, r.Key, r.HookID, int64(r.Type), string(r.Object), string(r.ObjectID), string(r.CUID),
			r.Raw, r.Hash[:], us, string(r.Source), r.Verdict.Verifier, store.Bit(r.Verdict.Authenticated),
			store.Bit(r.Verdict.Bound), string(r.Status), string(r.Reason), r.Detail, us).Scan(&s.Seq)
		return receiver.Result{Outcome: added, Stored: s}, err
	case old[0].Hash != r.Hash && added == receiver.OutcomeNew:
		r.Key, r.Status = r.ConflictKey(), receiver.Conflict
		return b.insert(ctx, tx, scope, r, receiver.OutcomeConflict)
	}
	s := repeat(old[0], r)
	return receiver.Result{Outcome: receiver.OutcomeDuplicate, Stored: s}, b.update(ctx, tx, s)
}

// repeat counts another delivery of the same body. If it has better proof, the row is upgraded: for example first
// entered by hand, then sent by the service.
func repeat(s receiver.Stored, r receiver.Record) receiver.Stored {
	s.Deliveries++
	if r.ReceivedAt.After(s.LastAt) {
		s.LastAt = r.ReceivedAt
	}
	better := r.Verdict.Authenticated && (!s.Verdict.Authenticated || r.Verdict.Bound && !s.Verdict.Bound)
	if better {
		s.Verdict, s.Source = r.Verdict, r.Source
		if s.Status == receiver.Unverified {
			s.Status = receiver.Verified
		}
	}
	return s
}

func (b *Inbox) update(ctx context.Context, tx *store.Tx, s receiver.Stored) error {
	return tx.Exec(ctx, "UPDATE hook SET deliveries = ?, last_us = ?, source = ?, verifier = ?, authenticated = ?, "+
		"bound = ?, status = ? WHERE seq = ?", s.Deliveries, micros(s.LastAt), string(s.Source), s.Verdict.Verifier,
		store.Bit(s.Verdict.Authenticated), store.Bit(s.Verdict.Bound), string(s.Status), s.Seq)
}

// Reject adds to the counts and stores the last rejected deliveries; more than receiver.MaxRejected are dropped,
// oldest first.
func (b *Inbox) Reject(ctx context.Context, counts []receiver.RejectCount, kept []receiver.Rejection) error {
	return b.write(ctx, func(tx *store.Tx, scope int64) error {
		for _, c := range counts {
			err := tx.Exec(ctx, `INSERT INTO hook_rejected_count (scope, reason, n, first_us, last_us, detail, source)
 VALUES (?, ?, ?, ?, ?, ?, ?)
 ON CONFLICT (scope, reason) DO UPDATE SET n = hook_rejected_count.n + excluded.n, last_us = excluded.last_us,
 detail = excluded.detail, source = excluded.source`,
				scope, c.Reason, c.N, micros(c.First), micros(c.Last), clean(c.Detail), clean(string(c.Source)))
			if err != nil {
				return err
			}
		}
		for _, r := range kept {
			if err := addRejection(ctx, tx, scope, r); err != nil {
				return err
			}
		}
		return tx.Exec(ctx, `DELETE FROM hook_rejected WHERE scope = ? AND id <= (SELECT id FROM hook_rejected
 WHERE scope = ? ORDER BY id DESC LIMIT 1 OFFSET ?)`, scope, scope, receiver.MaxRejected)
	})
}

// clean is s without what PostgreSQL does not accept.
func clean(s string) string { return strings.ReplaceAll(strings.ToValidUTF8(s, "?"), "\x00", "?") }

func addRejection(ctx context.Context, tx *store.Tx, scope int64, r receiver.Rejection) error {
	header, err := json.Marshal(r.Header)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	body := r.Body
	if body == nil {
		body = []byte{}
	}
	return tx.Exec(ctx, `INSERT INTO hook_rejected (scope, at_us, status, reason, detail, source, algorithm, claims,
 request, header, body, size) VALUES (`+store.Marks(12)+")",
		scope, micros(r.At), r.Status, r.Reason, clean(r.Detail), clean(string(r.Source)), clean(r.Algorithm),
		clean(strings.Join(r.Claims, " ")), clean(r.Request), clean(string(header)), body, r.Size)
}

// Rejected returns the newest deliveries first.
func (b *Inbox) Rejected(ctx context.Context, limit int) ([]receiver.Rejection, error) {
	return b.rejections(ctx, " ORDER BY id DESC LIMIT ?", page(limit))
}

// Rejection returns one, or receiver.ErrNotFound.
func (b *Inbox) Rejection(ctx context.Context, id int64) (receiver.Rejection, error) {
	list, err := b.rejections(ctx, " AND id = ?", id)
	if err == nil && len(list) == 0 {
		err = receiver.ErrNotFound
	}
	if err != nil {
		return receiver.Rejection{}, err
	}
	return list[0], nil
}

func (b *Inbox) rejections(ctx context.Context, rest string, args ...any) ([]receiver.Rejection, error) {
	where, of := b.account.in("r")
	return store.List(ctx, b.db, func(scan store.Scan) (receiver.Rejection, error) {
		var r receiver.Rejection
		var at int64
		var source, claims, header string
		if err := scan(&r.ID, &at, &r.Status, &r.Reason, &r.Detail, &source, &r.Algorithm, &claims, &r.Request, &header,
			&r.Body, &r.Size); err != nil {
			return r, err
		}
		if err := json.Unmarshal([]byte(header), &r.Header); err != nil {
			r.Header = nil // in another program's format
		}
		r.At, r.Source, r.Claims = fromMicros(at), receiver.Source(source), strings.Fields(claims)
		return masked(ctx, r), nil
	}, "SELECT id, at_us, status, reason, detail, source, algorithm, claims, request, header, body, size FROM "+
		"hook_rejected r WHERE "+where+rest, append(of, args...)...)
}

// RejectCounts returns the counts, most recent reason first.
func (b *Inbox) RejectCounts(ctx context.Context) ([]receiver.RejectCount, error) {
	where, of := b.account.in("c")
	return store.List(ctx, b.db, func(scan store.Scan) (receiver.RejectCount, error) {
		var c receiver.RejectCount
		var first, last int64
		var source string
		err := scan(&c.Reason, &c.N, &first, &last, &c.Detail, &source)
		c.First, c.Last, c.Source = fromMicros(first), fromMicros(last), receiver.Source(source)
		return c, err
	}, "SELECT reason, n, first_us, last_us, detail, source FROM hook_rejected_count c WHERE "+where+
		" ORDER BY last_us DESC, reason", of...)
}
