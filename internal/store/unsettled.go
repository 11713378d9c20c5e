package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"opdeck/internal/domain/followup"
)

// Unsettled keeps the writes of one account whose outcome is not known. It
// implements followup.Store.
type Unsettled struct {
	db      *DB
	context string
	clock   clock
}

var _ followup.Store = (*Unsettled)(nil)

// Unsettled returns the writes of one account; context names it.
func (s *Store) Unsettled(ctx context.Context, context string) (*Unsettled, error) {
	c, err := openClock(ctx, s.Core)
	if err != nil {
		return nil, err
	}
	return &Unsettled{db: s.Core, context: context, clock: c}, nil
}

// Now implements followup.Store.
func (u *Unsettled) Now(ctx context.Context) (time.Time, error) {
	now, err := u.clock.now(ctx, u.db)
	return time.Unix(0, int64(now)).UTC().Truncate(time.Microsecond), err
}

// Add implements followup.Store.
func (u *Unsettled) Add(ctx context.Context, r followup.Row) error {
	body, err := json.Marshal(r.Write)
	if err != nil {
		return fmt.Errorf("store: unsettled: %w", err)
	}
	_, err = u.db.Exec(ctx, `INSERT INTO unsettled (ref, context, object_id, state, body, sent_us, looked_us, next_us, looks)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (ref) DO NOTHING`,
		r.Ref, u.context, r.ID, string(r.State), string(body), r.Sent.UnixMicro(), orZero(r.Looked), r.Next.UnixMicro(), r.Looks)
	return u.told(err)
}

// orZero is t in µs, 0 for no time.
func orZero(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func (u *Unsettled) told(err error) error {
	if err != nil {
		return fmt.Errorf("store: unsettled writes: %w", err)
	}
	return nil
}

// Move implements followup.Store.
func (u *Unsettled) Move(ctx context.Context, was, r followup.Row) (bool, error) {
	res, err := u.db.Exec(ctx, `UPDATE unsettled SET state = ?, looked_us = ?, next_us = ?, looks = ?
		WHERE ref = ? AND state = ? AND next_us = ? AND looks = ?`,
		string(r.State), orZero(r.Looked), r.Next.UnixMicro(), r.Looks, was.Ref, string(was.State), was.Next.UnixMicro(), was.Looks)
	if err != nil {
		return false, u.told(err)
	}
	n, err := res.RowsAffected()
	return n == 1, u.told(err)
}

// Forget implements followup.Store.
func (u *Unsettled) Forget(ctx context.Context, ref string) error {
	_, err := u.db.Exec(ctx, `DELETE FROM unsettled WHERE ref = ? AND context = ?`, ref, u.context)
	return u.told(err)
}

// Rows implements followup.Store.
func (u *Unsettled) Rows(ctx context.Context) ([]followup.Row, error) {
	rows, err := u.db.Query(ctx, `SELECT ref, state, body, sent_us, looked_us, next_us, looks FROM unsettled
		WHERE context = ? ORDER BY sent_us, ref LIMIT 1000`, u.context)
	if err != nil {
		return nil, u.told(err)
	}
	defer rows.Close()
	var out []followup.Row
	for rows.Next() {
		var r followup.Row
		var state, body string
		var sent, looked, next int64
		if err := rows.Scan(&r.Ref, &state, &body, &sent, &looked, &next, &r.Looks); err != nil {
			return nil, u.told(err)
		}
		if err := json.Unmarshal([]byte(body), &r.Write); err != nil {
			return nil, u.told(err)
		}
		r.State, r.Sent, r.Next = followup.State(state), time.UnixMicro(sent).UTC(), time.UnixMicro(next).UTC()
		if looked != 0 {
			r.Looked = time.UnixMicro(looked).UTC()
		}
		out = append(out, r)
	}
	return out, u.told(rows.Err())
}
