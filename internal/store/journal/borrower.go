package journal

import (
	"context"
	"encoding/json"
	"time"

	"opdeck/api/session"
	"opdeck/internal/domain/lending"
	"opdeck/internal/store"
)

// borrowerKept is how long the counts of a proxy are kept after its last post.
const borrowerKept = 24 * time.Hour

// Borrowers stores the counts of scripts in the core database. It implements lending.Board.
type Borrowers struct{ db *store.DB }

var _ lending.Board = (*Borrowers)(nil)

// NewBorrowers returns the board of db.
func NewBorrowers(db *store.DB) *Borrowers { return &Borrowers{db: db} }

// Post implements lending.Board.
func (s *Borrowers) Post(ctx context.Context, scope, process string, list []session.Borrower) error {
	return s.db.WriteUnsynced(ctx, func(tx *store.Tx) error {
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		for _, b := range list {
			body, err := json.Marshal(b)
			if err != nil {
				return err
			}
			err = tx.Exec(ctx, `INSERT INTO borrower (scope, process, name, body, seen_us) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (scope, process, name) DO UPDATE SET body = excluded.body, seen_us = excluded.seen_us`,
				scope, process, b.Name, string(body), now.UnixMicro())
			if err != nil {
				return err
			}
		}
		return tx.Exec(ctx, "DELETE FROM borrower WHERE seen_us < ? OR seen_us > ?", now.Add(-borrowerKept).UnixMicro(),
			now.UnixMicro())
	})
}

// Posts implements lending.Board.
func (s *Borrowers) Posts(ctx context.Context, scope string) ([]lending.Post, error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return nil, err
	}
	return store.List(ctx, s.db, func(scan store.Scan) (lending.Post, error) {
		var p lending.Post
		var body string
		var seen int64
		if err := scan(&body, &seen); err != nil {
			return p, err
		}
		p.Age = max(0, now.Sub(time.UnixMicro(seen)))
		return p, json.Unmarshal([]byte(body), &p.Borrower)
	}, "SELECT body, seen_us FROM borrower WHERE scope = ? ORDER BY name, process", scope)
}
