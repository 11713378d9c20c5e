package journal

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/followup"
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

// Unsettled stores the writes of one account with an unknown outcome. It implements followup.Store.
type Unsettled struct {
	db      *store.DB
	context string
}

var _ followup.Store = (*Unsettled)(nil)

// NewUnsettled returns the writes of one account in core; context identifies it.
func NewUnsettled(core *store.DB, context string) *Unsettled {
	return &Unsettled{db: core, context: context}
}

// Now implements followup.Store.
func (u *Unsettled) Now(ctx context.Context) (time.Time, error) {
	now, err := u.db.Now(ctx)
	return now.Truncate(time.Microsecond), err
}

// Add implements followup.Store.
func (u *Unsettled) Add(ctx context.Context, r followup.Row, free func(followup.Row) bool) (*followup.Row, error) {
	var holder *followup.Row
	return holder, u.db.Write(ctx, func(tx *store.Tx) error {
		holder = nil
		for range 2 { // twice if the first holder of the claim is over
			if added, err := u.insert(ctx, tx, r); err != nil || added {
				return err
			}
			var err error
			if holder, err = u.holder(ctx, tx, r); err != nil || holder == nil || !free(*holder) {
				return err
			}
			if err = tx.Exec(ctx, `UPDATE unsettled SET claim = '' WHERE ref = ?`, holder.Ref); err != nil {
				return err
			}
			holder = nil
		}
		return nil
	})
}

// insert adds a row, unless its claim is held or it exists.
func (u *Unsettled) insert(ctx context.Context, tx *store.Tx, r followup.Row) (added bool, err error) {
	body, err := encode(r.Write)
	if err != nil {
		return false, err
	}
	n, err := store.Affected(tx.Result(ctx, `INSERT INTO unsettled
		(ref, context, object_id, state, body, claim, sent_us, until_us, looked_us, next_us, looks)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, r.Ref, u.context, r.ID, string(r.State), body,
		r.Claim, r.Sent.UnixMicro(), r.Until.UnixMicro(), orZero(r.Looked), r.Next.UnixMicro(), r.Reads))
	return n == 1, err
}

// holder returns the row with the claim of r; nil if r itself exists.
func (u *Unsettled) holder(ctx context.Context, tx *store.Tx, r followup.Row) (*followup.Row, error) {
	rows, err := store.List(ctx, tx, unsettledRow, unsettledColumns+`FROM unsettled WHERE context = ? AND claim = ?
		AND claim <> '' AND ref <> ?`, u.context, r.Claim, r.Ref)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

// orZero is t in µs, 0 for no time.
func orZero(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// Move implements followup.Store.
func (u *Unsettled) Move(ctx context.Context, was, r followup.Row) (bool, error) {
	if r.State == followup.NotSeen {
		r.Claim = ""
	}
	n, err := store.Affected(u.db.Result(ctx, `UPDATE unsettled
		SET state = ?, claim = ?, until_us = ?, looked_us = ?, next_us = ?, looks = ?
		WHERE ref = ? AND state = ? AND until_us = ? AND next_us = ? AND looks = ?`,
		string(r.State), r.Claim, r.Until.UnixMicro(), orZero(r.Looked), r.Next.UnixMicro(), r.Reads, was.Ref,
		string(was.State), was.Until.UnixMicro(), was.Next.UnixMicro(), was.Reads))
	return n == 1, err
}

const forgetUnsettled = `DELETE FROM unsettled WHERE ref = ? AND context = ?`

// Forget implements followup.Store.
func (u *Unsettled) Forget(ctx context.Context, ref string) error {
	return u.db.Exec(ctx, forgetUnsettled, ref, u.context)
}

// Rows implements followup.Store.
func (u *Unsettled) Rows(ctx context.Context) ([]followup.Row, error) {
	return store.List(ctx, u.db, unsettledRow, unsettledColumns+`FROM unsettled
		WHERE context = ? ORDER BY sent_us, ref LIMIT 1000`, u.context)
}

// UnsettledRefs are the writes of all accounts with an unknown outcome, by the UID of their intents.
func UnsettledRefs(ctx context.Context, core *store.DB) ([]string, error) {
	return store.List(ctx, core, store.Value[string], "SELECT ref FROM unsettled WHERE state <> 'not_seen' ORDER BY ref")
}

const unsettledColumns = `SELECT body, ref, state, claim, sent_us, until_us, looked_us, next_us, looks `

func unsettledRow(scan store.Scan) (r followup.Row, err error) {
	var sent, until, looked, next int64
	r.Write, err = decode[followup.Write](func(body ...any) error {
		return scan(append(body, &r.Ref, (*string)(&r.State), &r.Claim, &sent, &until, &looked, &next, &r.Reads)...)
	})
	r.Sent, r.Until, r.Looked, r.Next = fromMicros(sent), fromMicros(until), fromMicros(looked), fromMicros(next)
	return r, err
}

// fromMicros is a stored time; 0 is none.
func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
