package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"opdeck/internal/domain/journey"
)

// Journeys keeps the verification journeys of one account.
type Journeys struct {
	db      *DB
	context string
}

// Journeys returns the journeys of one account; context names it.
func (s *Store) Journeys(context string) *Journeys { return &Journeys{db: s.Core, context: context} }

// Journey implements journey.Store.
func (j *Journeys) Journey(ctx context.Context, cuid string) (journey.Record, error) {
	r := journey.Record{CUID: cuid}
	var body string
	err := j.db.QueryRow(ctx, `SELECT body FROM journey WHERE context = ? AND cuid = ?`, j.context, cuid).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(body), &r)
	}
	if err != nil {
		return r, fmt.Errorf("store: journey: %w", err)
	}
	return r, nil
}

// SaveJourney implements journey.Store.
func (j *Journeys) SaveJourney(ctx context.Context, r journey.Record) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("store: journey: %w", err)
	}
	open := 0
	if r.Unfinished() {
		open = 1
	}
	_, err = j.db.Exec(ctx, `INSERT INTO journey (context, cuid, body, unfinished, updated_us) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (context, cuid) DO UPDATE SET body = excluded.body, unfinished = excluded.unfinished, updated_us = excluded.updated_us`,
		j.context, r.CUID, string(body), open, r.Updated.UnixMicro())
	if err != nil {
		return fmt.Errorf("store: journey: %w", err)
	}
	return nil
}

// UnfinishedJourneys implements journey.Store, newest first.
func (j *Journeys) UnfinishedJourneys(ctx context.Context) ([]journey.Record, error) {
	rows, err := j.db.Query(ctx, `SELECT body FROM journey WHERE context = ? AND unfinished = 1 ORDER BY updated_us DESC LIMIT 200`, j.context)
	if err != nil {
		return nil, fmt.Errorf("store: journeys: %w", err)
	}
	defer rows.Close()
	var out []journey.Record
	for rows.Next() {
		var body string
		var r journey.Record
		if err := rows.Scan(&body); err != nil {
			return nil, fmt.Errorf("store: journeys: %w", err)
		}
		if err := json.Unmarshal([]byte(body), &r); err != nil {
			return nil, fmt.Errorf("store: journeys: %w", err)
		}
		out = append(out, r)
	}
	return out, rows.Err()
}
