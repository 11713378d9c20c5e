package journal

import (
	"context"
	"time"

	"opdeck/internal/domain/followup"
	"opdeck/internal/store"
)

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
	body, err := encode(r.Write)
	if err != nil {
		return nil, err
	}
	var holder *followup.Row
	return holder, u.db.Write(ctx, func(tx *store.Tx) error {
		holder = nil
		for range 2 { // twice if the first holder of the claim is over
			n, err := store.Affected(tx.Result(ctx, `INSERT INTO unsettled
				(ref, context, object_id, state, body, claim, sent_us, until_us, looked_us, next_us, looks)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, r.Ref, u.context, r.ID, string(r.State), body,
				r.Claim, r.Sent.UnixMicro(), r.Until.UnixMicro(), orZero(r.Looked), r.Next.UnixMicro(), r.Reads))
			if err != nil || n == 1 {
				return err
			}
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

// Forget implements followup.Store.
func (u *Unsettled) Forget(ctx context.Context, ref string) error {
	return u.db.Exec(ctx, `DELETE FROM unsettled WHERE ref = ? AND context = ?`, ref, u.context)
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
