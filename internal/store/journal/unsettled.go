package journal

import (
	"context"
	"time"

	"opdeck/internal/domain/followup"
	"opdeck/internal/store"
)

// Unsettled keeps the writes of one account whose outcome is not known. It
// implements followup.Store.
type Unsettled struct {
	db      *store.DB
	context string
}

var _ followup.Store = (*Unsettled)(nil)

// NewUnsettled returns the writes of one account in core; context names it.
func NewUnsettled(core *store.DB, context string) *Unsettled {
	return &Unsettled{db: core, context: context}
}

// Now implements followup.Store.
func (u *Unsettled) Now(ctx context.Context) (time.Time, error) {
	now, err := u.db.Now(ctx)
	return now.Truncate(time.Microsecond), err
}

// Add implements followup.Store.
func (u *Unsettled) Add(ctx context.Context, r followup.Row) error {
	body, err := encode(r.Write)
	if err != nil {
		return err
	}
	return u.db.Exec(ctx, `INSERT INTO unsettled (ref, context, object_id, state, body, sent_us, looked_us, next_us, looks)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (ref) DO NOTHING`,
		r.Ref, u.context, r.ID, string(r.State), body, r.Sent.UnixMicro(), orZero(r.Looked), r.Next.UnixMicro(), r.Reads)
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
	n, err := store.Affected(u.db.Result(ctx, `UPDATE unsettled SET state = ?, looked_us = ?, next_us = ?, looks = ?
		WHERE ref = ? AND state = ? AND next_us = ? AND looks = ?`,
		string(r.State), orZero(r.Looked), r.Next.UnixMicro(), r.Reads, was.Ref, string(was.State), was.Next.UnixMicro(),
		was.Reads))
	return n == 1, err
}

// Forget implements followup.Store.
func (u *Unsettled) Forget(ctx context.Context, ref string) error {
	return u.db.Exec(ctx, `DELETE FROM unsettled WHERE ref = ? AND context = ?`, ref, u.context)
}

// Rows implements followup.Store.
func (u *Unsettled) Rows(ctx context.Context) ([]followup.Row, error) {
	return store.List(ctx, u.db, func(scan store.Scan) (r followup.Row, err error) {
		var sent, looked, next int64
		r.Write, err = decode[followup.Write](func(body ...any) error {
			return scan(append(body, &r.Ref, (*string)(&r.State), &sent, &looked, &next, &r.Reads)...)
		})
		r.Sent, r.Looked, r.Next = fromMicros(sent), fromMicros(looked), fromMicros(next)
		return r, err
	}, `SELECT body, ref, state, sent_us, looked_us, next_us, looks FROM unsettled
		WHERE context = ? ORDER BY sent_us, ref LIMIT 1000`, u.context)
}

// fromMicros is a stored time; 0 is none.
func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
