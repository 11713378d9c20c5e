package journal

import (
	"context"
	"encoding/json"
	"time"

	"opdeck/internal/domain/answers"
	"opdeck/internal/store"
)

// Answers stores what real calls have shown last in the core database. It implements answers.Store.
type Answers struct{ db *store.DB }

var _ answers.Store = (*Answers)(nil)

// NewAnswers returns the answers of db.
func NewAnswers(db *store.DB) *Answers { return &Answers{db: db} }

// Put implements answers.Store.
func (s *Answers) Put(ctx context.Context, scope string, list []answers.Answer) error {
	return s.db.WriteUnsynced(ctx, func(tx *store.Tx) error {
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		tx.IgnoreOwn(ctx)
		if tx.Engine() == store.Postgres { // two processes must not overwrite each other's outcome
			if err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", "answer "+scope); err != nil {
				return err
			}
		}
		known, err := lastAnswers(ctx, tx, scope)
		if err != nil {
			return err
		}
		for _, l := range answers.After(known, list, now) {
			body, err := json.Marshal(l)
			if err != nil {
				return err
			}
			newest := l.Good
			if l.Failed.After(newest) {
				newest = l.Failed
			}
			if err := tx.Exec(ctx, `INSERT INTO answer (scope, class, route, body, seen_us) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (scope, class, route) DO UPDATE SET body = excluded.body, seen_us = excluded.seen_us`,
				scope, l.Class, l.Route, string(body), newest.UnixMicro()); err != nil {
				return err
			}
		}
		return tx.Exec(ctx, "DELETE FROM answer WHERE seen_us < ?", now.Add(-answers.Kept).UnixMicro())
	})
}

// All implements answers.Store.
func (s *Answers) All(ctx context.Context, scope string) ([]answers.Last, time.Time, error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return nil, now, err
	}
	all, err := lastAnswers(ctx, s.db, scope)
	return all, now, err
}

func lastAnswers(ctx context.Context, q store.Querier, scope string) ([]answers.Last, error) {
	return store.List(ctx, q, func(scan store.Scan) (answers.Last, error) {
		var l answers.Last
		var body []byte
		if err := scan(&body); err != nil {
			return l, err
		}
		return l, json.Unmarshal(body, &l)
	}, "SELECT body FROM answer WHERE scope = ? ORDER BY class, route", scope)
}
