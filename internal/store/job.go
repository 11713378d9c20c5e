package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"opdeck/internal/domain/replace"
)

const kindReplace = "replace_document"

// Jobs is the journal of document replacements of one account.
type Jobs struct {
	db      *DB
	context string
}

// Jobs returns the journal of one account; context names it (base URL and login).
func (s *Store) Jobs(context string) *Jobs { return &Jobs{db: s.Core, context: context} }

// Save implements replace.Store.
func (j *Jobs) Save(ctx context.Context, job replace.Job, prev time.Time) error {
	body, err := json.Marshal(job)
	if err != nil {
		return fmt.Errorf("store: job: %w", err)
	}
	done := 0
	if job.Step.Ended() {
		done = 1
	}
	if prev.IsZero() {
		_, err := j.db.Exec(ctx, `INSERT INTO job (id, kind, context, step, body, owner, created_us, updated_us, done)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, job.ID, kindReplace, j.context, string(job.Step), string(body), job.Owner,
			job.Created.UnixMicro(), job.Updated.UnixMicro(), done)
		if err != nil {
			return fmt.Errorf("store: job: %w", err)
		}
		return nil
	}
	res, err := j.db.Exec(ctx, `UPDATE job SET step = ?, body = ?, updated_us = ?, done = ? WHERE id = ? AND context = ? AND updated_us = ?`,
		string(job.Step), string(body), job.Updated.UnixMicro(), done, job.ID, j.context, prev.UnixMicro())
	if err != nil {
		return fmt.Errorf("store: job: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return errors.Join(replace.ErrTaken, err)
	}
	return nil
}

// Unfinished implements replace.Store, oldest first.
func (j *Jobs) Unfinished(ctx context.Context) ([]replace.Job, error) {
	rows, err := j.db.Query(ctx, `SELECT body FROM job WHERE context = ? AND kind = ? AND done = 0 ORDER BY created_us, id`, j.context, kindReplace)
	if err != nil {
		return nil, fmt.Errorf("store: jobs: %w", err)
	}
	defer rows.Close()
	var out []replace.Job
	for rows.Next() {
		job, err := scanJob(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, job)
	}
	return out, rows.Err()
}

// Job implements replace.Store.
func (j *Jobs) Job(ctx context.Context, id string) (replace.Job, error) {
	return scanJob(j.db.QueryRow(ctx, `SELECT body FROM job WHERE context = ? AND id = ?`, j.context, id))
}

func scanJob(row interface{ Scan(...any) error }) (replace.Job, error) {
	var body string
	if err := row.Scan(&body); errors.Is(err, sql.ErrNoRows) {
		return replace.Job{}, fmt.Errorf("store: there is no such job: %w", err)
	} else if err != nil {
		return replace.Job{}, fmt.Errorf("store: job: %w", err)
	}
	var job replace.Job
	if err := json.Unmarshal([]byte(body), &job); err != nil {
		return replace.Job{}, fmt.Errorf("store: job: %w", err)
	}
	return job, nil
}
