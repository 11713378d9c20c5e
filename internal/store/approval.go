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
	"opdeck/internal/approval"
)

// ApprovalStore keeps requests for approval in the core database. It implements
// approval.Store.
type ApprovalStore struct{ db *DB }

var _ approval.Store = (*ApprovalStore)(nil)

// NewApproval returns the requests of db.
func NewApproval(db *DB) *ApprovalStore { return &ApprovalStore{db: db} }

// change runs fn in a transaction that no other change runs beside, and raises
// the version if fn says that something changed.
func (s *ApprovalStore) change(ctx context.Context, fn func(tx *Tx) (bool, error)) error {
	return s.db.Write(ctx, func(tx *Tx) error {
		var n int64
		if err := tx.QueryRow(ctx, "SELECT n FROM approval_version WHERE one = 1"+tx.Engine().ForUpdate()).Scan(&n); err != nil {
			return err
		}
		changed, err := fn(tx)
		if err != nil || !changed {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE approval_version SET n = ? WHERE one = 1", n+1)
		return err
	})
}

// Update changes the requests for one target.
func (s *ApprovalStore) Update(ctx context.Context, scope, requester, target string, change func([]approval.Request) ([]approval.Request, error)) error {
	return s.change(ctx, func(tx *Tx) (bool, error) {
		known, err := s.read(ctx, tx, "scope = ? AND requester = ? AND target = ? ORDER BY created_us DESC LIMIT 10", scope, requester, target)
		if err != nil {
			return false, err
		}
		ids := map[string]bool{}
		for _, r := range known {
			ids[r.ID] = true
		}
		changed, err := change(known)
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
func (s *ApprovalStore) Decide(ctx context.Context, scope, id string, from approval.State, now time.Time, change func(*approval.Request)) (approval.Request, error) {
	var r approval.Request
	err := s.change(ctx, func(tx *Tx) (bool, error) {
		var err error
		if r, err = s.one(ctx, tx, scope, id); err != nil {
			return false, err
		}
		if r.State != from || !now.Before(r.Expires) {
			return false, approval.ErrState
		}
		change(&r)
		return true, s.replace(ctx, tx, r)
	})
	return r, err
}

const approvalLive = "scope = ? AND state IN ('open', 'approved') AND expires_us <= ?"

// Lapse ends what has expired.
func (s *ApprovalStore) Lapse(ctx context.Context, scope string, now time.Time) ([]approval.Request, error) {
	var n int
	err := s.db.QueryRow(ctx, "SELECT COUNT(*) FROM approval WHERE "+approvalLive, scope, now.UnixMicro()).Scan(&n)
	if err != nil || n == 0 {
		return nil, err
	}
	var gone []approval.Request
	err = s.change(ctx, func(tx *Tx) (bool, error) {
		gone, err = s.read(ctx, tx, approvalLive+" ORDER BY created_us", scope, now.UnixMicro())
		if err != nil {
			return false, err
		}
		for i := range gone {
			gone[i].State = approval.Lapsed
			if err := s.replace(ctx, tx, gone[i]); err != nil {
				return false, err
			}
		}
		return len(gone) > 0, nil
	})
	if err != nil {
		return nil, err
	}
	return gone, nil
}

// Settle notes what became of a spent request.
func (s *ApprovalStore) Settle(ctx context.Context, scope, id string, v api.Verdict) error {
	return s.change(ctx, func(tx *Tx) (bool, error) {
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
	_, err = tx.Exec(ctx, "UPDATE approval SET state = ?, body = ? WHERE scope = ? AND id = ?", string(r.State), string(body), r.Scope, r.ID)
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
