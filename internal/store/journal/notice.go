package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"opdeck/internal/domain/notify"
	"opdeck/internal/store"
)

// Notices stores what was told and what is to be sent in the core database. It implements notify.Store.
type Notices struct{ db *store.DB }

var _ notify.Store = (*Notices)(nil)

// NewNotices returns the notices of db.
func NewNotices(db *store.DB) *Notices { return &Notices{db: db} }

// State implements notify.Store.
func (s *Notices) State(ctx context.Context, scope string) (out notify.State, now time.Time, err error) {
	if now, err = s.db.Now(ctx); err != nil {
		return out, now, err
	}
	out, err = notices(s.db.QueryRow(ctx, "SELECT state FROM notify WHERE scope = ?", scope))
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return out, now, err
}

func notices(row *store.Row) (out notify.State, err error) {
	var body []byte
	if err := row.Scan(&body); err != nil {
		return out, err
	}
	return out, json.Unmarshal(body, &out)
}

// Update implements notify.Store.
func (s *Notices) Update(ctx context.Context, scope string, change func(*notify.State, time.Time) bool) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		if err := tx.Exec(ctx, "INSERT INTO notify (scope, state) VALUES (?, '{}') ON CONFLICT (scope) DO NOTHING",
			scope); err != nil {
			return err
		}
		state, err := notices(tx.QueryRow(ctx, "SELECT state FROM notify WHERE scope = ?"+tx.Engine().ForUpdate(), scope))
		if err != nil {
			return err
		}
		now, err := tx.Now(ctx)
		if err != nil || !change(&state, now) {
			return err
		}
		body, err := encode(state)
		if err != nil {
			return err
		}
		return tx.Exec(ctx, "UPDATE notify SET state = ? WHERE scope = ?", body, scope)
	})
}
