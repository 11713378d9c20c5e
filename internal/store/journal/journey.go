package journal

import (
	"context"
	"database/sql"
	"errors"

	"opdeck/internal/domain/journey"
	"opdeck/internal/store"
)

// Journeys keeps the verification journeys of one account.
type Journeys struct {
	db      *store.DB
	context string
}

// NewJourneys returns the journeys of one account in core; context identifies it.
func NewJourneys(core *store.DB, context string) *Journeys {
	return &Journeys{db: core, context: context}
}

// Journey implements journey.Store.
func (j *Journeys) Journey(ctx context.Context, cuid string) (journey.Record, error) {
	r, err := decode[journey.Record](j.db.QueryRow(ctx, `SELECT body FROM journey WHERE context = ? AND cuid = ?`,
		j.context, cuid).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return journey.Record{CUID: cuid}, nil
	}
	return r, err
}

// SaveJourney implements journey.Store.
func (j *Journeys) SaveJourney(ctx context.Context, r journey.Record) error {
	body, err := encode(r)
	if err != nil {
		return err
	}
	return j.db.Exec(ctx, `INSERT INTO journey (context, cuid, body, unfinished, updated_us) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (context, cuid) DO UPDATE
		SET body = excluded.body, unfinished = excluded.unfinished, updated_us = excluded.updated_us`,
		j.context, r.CUID, body, store.Bit(r.Unfinished()), r.Updated.UnixMicro())
}

// UnfinishedJourneys implements journey.Store, newest first.
func (j *Journeys) UnfinishedJourneys(ctx context.Context) ([]journey.Record, error) {
	return store.List(ctx, j.db, decode[journey.Record],
		`SELECT body FROM journey WHERE context = ? AND unfinished = 1 ORDER BY updated_us DESC LIMIT 200`, j.context)
}
