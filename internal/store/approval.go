package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/approval"
)

// ApprovalStore keeps requests for approval in the core database. It implements
// approval.Store.
type ApprovalStore struct{ db *DB }

var _ approval.Store = (*ApprovalStore)(nil)

// NewApproval returns the requests of db.
func NewApproval(db *DB) *ApprovalStore { return &ApprovalStore{db: db} }

// Now is the store's clock.
func (s *ApprovalStore) Now(ctx context.Context) (time.Time, error) { return s.db.Now(ctx) }

// change runs fn in a transaction that no other change runs beside, and raises
// the version if fn says that something changed. now is the store's time after the
// wait for the others.
func (s *ApprovalStore) change(ctx context.Context, fn func(tx *Tx, now time.Time) (bool, error)) error {
	return s.db.Write(ctx, func(tx *Tx) error {
		var n int64
		if err := tx.QueryRow(ctx, "SELECT n FROM approval_version WHERE one = 1"+tx.Engine().ForUpdate()).Scan(&n); err != nil {
			return err
		}
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		changed, err := fn(tx, now)
		if err != nil || !changed {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE approval_version SET n = ? WHERE one = 1", n+1)
		return err
	})
}

// Update changes the requests for one target.
func (s *ApprovalStore) Update(ctx context.Context, scope, requester, target string, change func(time.Time, []approval.Request) ([]approval.Request, error)) error {
	return s.change(ctx, func(tx *Tx, now time.Time) (bool, error) {
		known, err := s.read(ctx, tx, "scope = ? AND requester = ? AND target = ? ORDER BY created_us DESC LIMIT 10", scope, requester, target)
		if err != nil {
			return false, err
		}
		ids := map[string]bool{}
		for i := range known {
			known[i].Cut(now)
			ids[known[i].ID] = true
		}
		changed, err := change(now, known)
		if err != nil {
			return false, err
		}
		for _, r := range changed {
			if ids[r.ID] {
				err = s.replace(ctx, tx, r)
			} else {
				err = s.insert(ctx, tx, r, requester)
			}
			if err != nil {
				return false, err
			}
		}
		return len(changed) > 0, nil
	})
}

// Decide changes a request that is still in state from.
func (s *ApprovalStore) Decide(ctx context.Context, scope, id string, from approval.State, change func(time.Time, *approval.Request)) (approval.Request, error) {
	var r approval.Request
	err := s.change(ctx, func(tx *Tx, now time.Time) (bool, error) {
		var err error
		if r, err = s.one(ctx, tx, scope, id); err != nil {
			return false, err
		}
		r.Cut(now)
		if r.State != from || !now.Before(r.Expires) {
			return false, approval.ErrState
		}
		change(now, &r)
		return true, s.replace(ctx, tx, r)
	})
	return r, err
}

// approvalDue selects what has expired, and what lies further ahead than it can.
const approvalDue = "scope = ? AND state IN ('open', 'approved') AND (expires_us <= ? OR expires_us > ?)"

func dueArgs(scope string, now time.Time) []any {
	return []any{scope, now.UnixMicro(), now.Add(approval.Lifetime).UnixMicro()}
}

// Lapse ends what has expired.
func (s *ApprovalStore) Lapse(ctx context.Context, scope string) ([]approval.Request, error) {
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	var n int
	err = s.db.QueryRow(ctx, "SELECT COUNT(*) FROM approval WHERE "+approvalDue, dueArgs(scope, now)...).Scan(&n)
	if err != nil || n == 0 {
		return nil, err
	}
	var gone []approval.Request
	err = s.change(ctx, func(tx *Tx, now time.Time) (bool, error) {
		gone = nil
		due, err := s.read(ctx, tx, approvalDue+" ORDER BY created_us", dueArgs(scope, now)...)
		if err != nil {
			return false, err
		}
		for _, r := range due {
			if !r.Cut(now) {
				r.State = approval.Lapsed
				gone = append(gone, r)
			}
			if err := s.replace(ctx, tx, r); err != nil {
				return false, err
			}
		}
		return len(due) > 0, nil
	})
	if err != nil {
		return nil, err
	}
	return gone, nil
}

// Settle notes what became of a spent request.
func (s *ApprovalStore) Settle(ctx context.Context, scope, id string, v api.Verdict) error {
	return s.change(ctx, func(tx *Tx, _ time.Time) (bool, error) {
		r, err := s.one(ctx, tx, scope, id)
		if err != nil {
			return false, err
		}
		if r.State != approval.Spent {
			return false, approval.ErrState
		}
		r.Verdict = v
		return true, s.replace(ctx, tx, r)
	})
}

// Get returns one request.
func (s *ApprovalStore) Get(ctx context.Context, scope, id string) (approval.Request, error) {
	return s.one(ctx, s.db, scope, id)
}

// List returns the newest requests first.
func (s *ApprovalStore) List(ctx context.Context, f approval.Filter) ([]approval.Request, error) {
	where, args := "scope = ?", []any{f.Scope}
	if len(f.States) > 0 {
		where += " AND state IN (?" + strings.Repeat(", ?", len(f.States)-1) + ")"
		for _, st := range f.States {
			args = append(args, string(st))
		}
	}
	if f.Limit <= 0 {
		f.Limit = 100
	}
	return s.read(ctx, s.db, where+" ORDER BY created_us DESC, id LIMIT ?", append(args, f.Limit)...)
}

// Version is a number that grows with each change.
func (s *ApprovalStore) Version(ctx context.Context) (int64, error) {
	var n int64
	err := s.db.QueryRow(ctx, "SELECT n FROM approval_version WHERE one = 1").Scan(&n)
	return n, err
}

func (s *ApprovalStore) insert(ctx context.Context, tx *Tx, r approval.Request, requester string) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	_, err = tx.Exec(ctx, "INSERT INTO approval (scope, id, requester, target, state, created_us, expires_us, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		r.Scope, r.ID, requester, r.Target, string(r.State), r.Created.UnixMicro(), r.Expires.UnixMicro(), string(body))
	return err
}

func (s *ApprovalStore) replace(ctx context.Context, tx *Tx, r approval.Request) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	_, err = tx.Exec(ctx, "UPDATE approval SET state = ?, expires_us = ?, body = ? WHERE scope = ? AND id = ?",
		string(r.State), r.Expires.UnixMicro(), string(body), r.Scope, r.ID)
	return err
}

func (s *ApprovalStore) one(ctx context.Context, q Querier, scope, id string) (approval.Request, error) {
	var body string
	err := q.QueryRow(ctx, "SELECT body FROM approval WHERE scope = ? AND id = ?", scope, id).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return approval.Request{}, approval.ErrNotFound
	}
	if err != nil {
		return approval.Request{}, err
	}
	return decodeApproval(body)
}

func (s *ApprovalStore) read(ctx context.Context, q Querier, where string, args ...any) ([]approval.Request, error) {
	rows, err := q.Query(ctx, "SELECT body FROM approval WHERE "+where, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var out []approval.Request
	for rows.Next() {
		var body string
		if err := rows.Scan(&body); err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
		r, err := decodeApproval(body)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, s.db.explain(rows.Err())
}

func decodeApproval(body string) (approval.Request, error) {
	var r approval.Request
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		return r, fmt.Errorf("store: a request for approval cannot be read: %w", err)
	}
	return r, nil
}
