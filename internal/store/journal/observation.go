package journal

import (
	"context"
	"time"

	"opdeck/internal/store"
)

// Observation is what one process knows and others cannot see.
type Observation struct {
	Part, Name string
	Body       []byte    // JSON
	Seen       time.Time // by the store's clock
}

// Observations stores observations of a scope (base_url and account, or "" for the store) in the core database.
type Observations struct {
	db    *store.DB
	scope string
}

// NewObservations returns the observations of a scope.
func NewObservations(db *store.DB, scope string) *Observations {
	return &Observations{db: db, scope: scope}
}

// Put replaces an observation.
func (s *Observations) Put(ctx context.Context, part, name string, body []byte) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		return tx.Exec(ctx, `INSERT INTO observation (scope, part, name, body, seen_us) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (scope, part, name) DO UPDATE SET body = excluded.body, seen_us = excluded.seen_us`,
			s.scope, part, name, string(body), now.UnixMicro())
	})
}

// Remove deletes an observation, which need not exist.
func (s *Observations) Remove(ctx context.Context, part, name string) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		return tx.Exec(ctx, "DELETE FROM observation WHERE scope = ? AND part = ? AND name = ?", s.scope, part, name)
	})
}

// All returns the observations by part and name, and the store's time of the read.
func (s *Observations) All(ctx context.Context) ([]Observation, time.Time, error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return nil, now, err
	}
	list, err := store.List(ctx, s.db, func(scan store.Scan) (o Observation, err error) {
		var us int64
		err = scan(&o.Part, &o.Name, &o.Body, &us)
		o.Seen = time.UnixMicro(us).UTC()
		return o, err
	}, "SELECT part, name, body, seen_us FROM observation WHERE scope = ? ORDER BY part, name", s.scope)
	return list, now, err
}
