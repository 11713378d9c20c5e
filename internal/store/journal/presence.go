package journal

import (
	"context"
	"time"

	"opdeck/api/limit"
	"opdeck/internal/domain/presence"
	"opdeck/internal/store"
)

// Presence stores which person has what open, in the core database. It implements presence.Store.
type Presence struct{ db *store.DB }

var _ presence.Store = (*Presence)(nil)

// NewPresence returns the places of db.
func NewPresence(db *store.DB) *Presence { return &Presence{db: db} }

// Put stores the place of a console and removes old ones.
func (s *Presence) Put(ctx context.Context, p presence.Place) error {
	return s.db.WriteUnsynced(ctx, func(tx *store.Tx) error {
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		since := now.Add(-max(0, p.Seen.Sub(p.Since)))
		err = tx.Exec(ctx, `INSERT INTO presence (console, scope, object, object_id, person, host, since_us, seen_us, dialog)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (console) DO UPDATE SET scope = excluded.scope, object = excluded.object, object_id = excluded.object_id,
person = excluded.person, host = excluded.host, since_us = excluded.since_us, seen_us = excluded.seen_us,
dialog = excluded.dialog`,
			p.Console, p.Scope, p.Object, p.ID, p.Person, p.Host, since.UnixMicro(), now.UnixMicro(), store.Bit(p.Dialog))
		if err != nil {
			return err
		}
		return tx.Exec(ctx, "DELETE FROM presence WHERE seen_us < ? OR seen_us > ?", now.Add(-presence.Kept).UnixMicro(),
			now.UnixMicro())
	})
}

// Leave removes the place of a console.
func (s *Presence) Leave(ctx context.Context, console string) error {
	return s.db.WriteUnsynced(ctx, func(tx *store.Tx) error {
		return tx.Exec(ctx, "DELETE FROM presence WHERE console = ?", console)
	})
}

// At returns who is at an object, oldest Since first.
func (s *Presence) At(ctx context.Context, scope, object, id string, within time.Duration,
	hostNow time.Time) ([]presence.Place, error) {
	return s.places(ctx, scope, hostNow, within, "object = ? AND object_id = ?", object, id)
}

// All returns all places in a scope, oldest Since first.
func (s *Presence) All(ctx context.Context, scope string, hostNow time.Time) ([]presence.Place, error) {
	return s.places(ctx, scope, hostNow, presence.Kept, "1 = 1")
}

func (s *Presence) places(ctx context.Context, scope string, hostNow time.Time, within time.Duration, where string,
	args ...any) ([]presence.Place, error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return nil, err
	}
	return store.List(ctx, s.db, func(scan store.Scan) (presence.Place, error) {
		p := presence.Place{Scope: scope}
		var from, seen int64
		var dialog int
		err := scan(&p.Object, &p.ID, &p.Console, &p.Person, &p.Host, &from, &seen, &dialog)
		p.Since, p.Seen = limit.ToWall(time.UnixMicro(from).UTC(), now, hostNow),
			limit.ToWall(time.UnixMicro(seen).UTC(), now, hostNow)
		p.Dialog = dialog == 1
		return p, err
	}, `SELECT object, object_id, console, person, host, since_us, seen_us, dialog FROM presence
WHERE scope = ? AND seen_us > ? AND `+where+` ORDER BY since_us, console`,
		append([]any{scope, now.Add(-within).UnixMicro()}, args...)...)
}
