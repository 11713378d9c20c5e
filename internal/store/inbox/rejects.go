package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"opdeck/internal/domain/receiver"
	"opdeck/internal/store"
)

// Reject implements receiver.Rejects.
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
		if len(kept) == 0 {
			return nil
		}
		return dropRejections(ctx, tx, scope)
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

// dropRejections keeps at most receiver.MaxRejected per account.
func dropRejections(ctx context.Context, tx *store.Tx, scope int64) error {
	var ids []int64
	var sources []receiver.Source
	err := store.Each(ctx, tx, func(scan store.Scan) error {
		var id int64
		var source string
		err := scan(&id, &source)
		ids, sources = append(ids, id), append(sources, receiver.Source(source))
		return err
	}, "SELECT id, source FROM hook_rejected WHERE scope = ? ORDER BY id", scope)
	if err != nil {
		return err
	}
	for i, drop := range receiver.Overflow(sources, receiver.MaxRejected) {
		if !drop {
			continue
		}
		if err := tx.Exec(ctx, "DELETE FROM hook_rejected WHERE id = ?", ids[i]); err != nil {
			return err
		}
	}
	return nil
}

// Rejected implements receiver.Rejects.
func (b *Inbox) Rejected(ctx context.Context, limit int) ([]receiver.Rejection, error) {
	return b.rejections(ctx, " ORDER BY id DESC LIMIT ?", page(limit))
}

// Rejection implements receiver.Rejects.
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

// RejectCounts implements receiver.Rejects.
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
