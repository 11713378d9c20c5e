package journal

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/approval"
	"opdeck/internal/store"
)

// Approvals stores requests for approval in the core database. It implements approval.Store.
type Approvals struct{ db *store.DB }

var _ approval.Store = (*Approvals)(nil)

// NewApprovals returns the requests of db.
func NewApprovals(db *store.DB) *Approvals { return &Approvals{db: db} }

// Now is the store's clock.
func (s *Approvals) Now(ctx context.Context) (time.Time, error) { return s.db.Now(ctx) }

// change runs fn in a transaction that excludes other changes, and increments the version if fn reports a change. now
// is the store's time after the wait for the lock.
func (s *Approvals) change(ctx context.Context, fn func(tx *store.Tx, now time.Time) (bool, error)) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		var n int64
		if err := tx.QueryRow(ctx,
			"SELECT n FROM approval_version WHERE one = 1"+tx.Engine().ForUpdate()).Scan(&n); err != nil {
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
		return tx.Exec(ctx, "UPDATE approval_version SET n = ? WHERE one = 1", n+1)
	})
}

// Update changes the requests for one target.
func (s *Approvals) Update(ctx context.Context, scope, requester, target string,
	change func(time.Time, []approval.Request) ([]approval.Request, error)) error {
	return s.change(ctx, func(tx *store.Tx, now time.Time) (bool, error) {
		known, err := s.read(ctx, tx, "scope = ? AND requester = ? AND target = ? ORDER BY created_us DESC LIMIT 100", scope,
			requester, target)
		if err != nil {
			return false, err
		}
		ids := map[string]bool{}
		for i := range known {
			known[i].LimitTimes(now)
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
func (s *Approvals) Decide(ctx context.Context, scope, id string, from approval.State,
	change func(time.Time, *approval.Request)) (approval.Request, error) {
	var r approval.Request
	err := s.change(ctx, func(tx *store.Tx, now time.Time) (bool, error) {
		var err error
		if r, err = s.one(ctx, tx, scope, id); err != nil {
			return false, err
		}
		r.LimitTimes(now)
		if r.State != from || !now.Before(r.Expires) {
			return false, approval.ErrState
		}
		change(now, &r)
		return true, s.replace(ctx, tx, r)
	})
	return r, err
}

// approvalDue selects expired requests and those implausibly far ahead.
const approvalDue = "scope = ? AND state IN ('open', 'approved') AND (expires_us <= ? OR expires_us > ?)"

func dueArgs(scope string, now time.Time) []any {
	return []any{scope, now.UnixMicro(), now.Add(approval.Lifetime).UnixMicro()}
}

// Lapse ends expired requests and returns them.
func (s *Approvals) Lapse(ctx context.Context, scope string) ([]approval.Request, error) {
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
	err = s.change(ctx, func(tx *store.Tx, now time.Time) (bool, error) {
		gone = nil
		due, err := s.read(ctx, tx, approvalDue+" ORDER BY created_us", dueArgs(scope, now)...)
		if err != nil {
			return false, err
		}
		for _, r := range due {
			if !r.LimitTimes(now) {
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

// Settle records the outcome of a spent request.
func (s *Approvals) Settle(ctx context.Context, scope, id string, v api.Verdict) error {
	return s.change(ctx, func(tx *store.Tx, _ time.Time) (bool, error) {
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
func (s *Approvals) Get(ctx context.Context, scope, id string) (approval.Request, error) {
	return s.one(ctx, s.db, scope, id)
}

// List returns the newest requests first.
func (s *Approvals) List(ctx context.Context, f approval.Filter) ([]approval.Request, error) {
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

// Version increases with each change.
func (s *Approvals) Version(ctx context.Context) (int64, error) {
	var n int64
	err := s.db.QueryRow(ctx, "SELECT n FROM approval_version WHERE one = 1").Scan(&n)
	return n, err
}

func (s *Approvals) insert(ctx context.Context, tx *store.Tx, r approval.Request, requester string) error {
	body, err := encode(r)
	if err != nil {
		return err
	}
	return tx.Exec(ctx,
		"INSERT INTO approval (scope, id, requester, target, state, created_us, expires_us, body) "+
			"VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		r.Scope, r.ID, requester, r.Target, string(r.State), r.Created.UnixMicro(), r.Expires.UnixMicro(), body)
}

func (s *Approvals) replace(ctx context.Context, tx *store.Tx, r approval.Request) error {
	body, err := encode(r)
	if err != nil {
		return err
	}
	return tx.Exec(ctx, "UPDATE approval SET state = ?, expires_us = ?, body = ? WHERE scope = ? AND id = ?",
		string(r.State), r.Expires.UnixMicro(), body, r.Scope, r.ID)
}

func (s *Approvals) one(ctx context.Context, q store.Querier, scope, id string) (approval.Request, error) {
	r, err := decode[approval.Request](q.QueryRow(ctx, "SELECT body FROM approval WHERE scope = ? AND id = ?", scope,
		id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		err = approval.ErrNotFound
	}
	return r, err
}

func (s *Approvals) read(ctx context.Context, q store.Querier, where string, args ...any) ([]approval.Request, error) {
	return store.List(ctx, q, decode[approval.Request], "SELECT body FROM approval WHERE "+where, args...)
}
