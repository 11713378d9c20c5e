package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"opdeck/internal/domain/receiver"
)

// Reject implements receiver.Rejects.
func (b *Inbox) Reject(ctx context.Context, counts []receiver.RejectCount, kept []receiver.Rejection) error {
	return b.write(ctx, func(tx *Tx, scope int64) error {
		for _, c := range counts {
			_, err := tx.Exec(ctx, `INSERT INTO hook_rejected_count (scope, reason, n, first_us, last_us, detail, source) VALUES (?, ?, ?, ?, ?, ?, ?)
 ON CONFLICT (scope, reason) DO UPDATE SET n = hook_rejected_count.n + excluded.n, last_us = excluded.last_us, detail = excluded.detail, source = excluded.source`,
				scope, c.Reason, c.N, inboxMicros(c.First), inboxMicros(c.Last), inboxSafe(c.Detail), inboxSafe(string(c.Source)))
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

// inboxSafe is s as PostgreSQL takes it.
func inboxSafe(s string) string { return strings.ReplaceAll(strings.ToValidUTF8(s, "?"), "\x00", "?") }

func addRejection(ctx context.Context, tx *Tx, scope int64, r receiver.Rejection) error {
	header, err := json.Marshal(r.Header)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	body := r.Body
	if body == nil {
		body = []byte{}
	}
	_, err = tx.Exec(ctx, `INSERT INTO hook_rejected (scope, at_us, status, reason, detail, source, algorithm, claims, request, header, body, size) VALUES (`+inboxMarks(12)+")",
		scope, inboxMicros(r.At), r.Status, r.Reason, inboxSafe(r.Detail), inboxSafe(string(r.Source)), inboxSafe(r.Algorithm),
		inboxSafe(strings.Join(r.Claims, " ")), inboxSafe(r.Request), inboxSafe(string(header)), body, r.Size)
	return err
}

// dropRejections keeps receiver.MaxRejected of an account.
func dropRejections(ctx context.Context, tx *Tx, scope int64) error {
	rows, err := tx.Query(ctx, "SELECT id, source FROM hook_rejected WHERE scope = ? ORDER BY id", scope)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var ids []int64
	var sources []receiver.Source
	for rows.Next() {
		var id int64
		var source string
		if err := rows.Scan(&id, &source); err != nil {
			return tx.db.explain(err)
		}
		ids, sources = append(ids, id), append(sources, receiver.Source(source))
	}
	if err := rows.Err(); err != nil {
		return tx.db.explain(err)
	}
	if err := rows.Close(); err != nil {
		return tx.db.explain(err)
	}
	for i, drop := range receiver.Overflow(sources, receiver.MaxRejected) {
		if !drop {
			continue
		}
		if _, err := tx.Exec(ctx, "DELETE FROM hook_rejected WHERE id = ?", ids[i]); err != nil {
			return err
		}
	}
	return nil
}

// Rejected implements receiver.Rejects.
func (b *Inbox) Rejected(ctx context.Context, limit int) ([]receiver.Rejection, error) {
	return b.rejections(ctx, " ORDER BY id DESC LIMIT ?", inboxPage(limit))
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
	rows, err := b.db.Query(ctx, "SELECT id, at_us, status, reason, detail, source, algorithm, claims, request, header, body, size FROM hook_rejected r WHERE "+where+rest,
		append(of, args...)...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var out []receiver.Rejection
	for rows.Next() {
		var r receiver.Rejection
		var at int64
		var source, claims, header string
		if err := rows.Scan(&r.ID, &at, &r.Status, &r.Reason, &r.Detail, &source, &r.Algorithm, &claims, &r.Request, &header, &r.Body, &r.Size); err != nil {
			return nil, b.db.explain(err)
		}
		if err := json.Unmarshal([]byte(header), &r.Header); err != nil {
			r.Header = nil // written by a program that differs
		}
		r.At, r.Source, r.Claims = inboxTime(at), receiver.Source(source), strings.Fields(claims)
		out = append(out, masked(ctx, r))
	}
	return out, b.db.explain(rows.Err())
}

// RejectCounts implements receiver.Rejects.
func (b *Inbox) RejectCounts(ctx context.Context) ([]receiver.RejectCount, error) {
	where, of := b.account.in("c")
	rows, err := b.db.Query(ctx, "SELECT reason, n, first_us, last_us, detail, source FROM hook_rejected_count c WHERE "+where+" ORDER BY last_us DESC, reason", of...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var out []receiver.RejectCount
	for rows.Next() {
		var c receiver.RejectCount
		var first, last int64
		var source string
		if err := rows.Scan(&c.Reason, &c.N, &first, &last, &c.Detail, &source); err != nil {
			return nil, b.db.explain(err)
		}
		c.First, c.Last, c.Source = inboxTime(first), inboxTime(last), receiver.Source(source)
		out = append(out, c)
	}
	return out, b.db.explain(rows.Err())
}
