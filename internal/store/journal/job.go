package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"opdeck/internal/domain/replace"
	"opdeck/internal/store"
)

const kindReplace = "replace_document"

// Jobs stores the document replacements of one account.
type Jobs struct {
	db      *store.DB
	context string
}

// NewJobs returns the journal of one account in core; context identifies it (base URL and login).
func NewJobs(core *store.DB, context string) *Jobs { return &Jobs{db: core, context: context} }

// Save implements replace.Store.
func (j *Jobs) Save(ctx context.Context, job replace.Job, prev time.Time) error {
	body, err := encode(job)
	if err != nil {
		return err
	}
	done := store.Bit(job.Step.Ended())
	if prev.IsZero() {
		return j.db.Exec(ctx, `INSERT INTO job (id, kind, context, step, body, owner, created_us, updated_us, done)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, job.ID, kindReplace, j.context, string(job.Step), body, job.Owner,
			job.Created.UnixMicro(), job.Updated.UnixMicro(), done)
	}
	n, err := store.Affected(j.db.Result(ctx,
		`UPDATE job SET step = ?, body = ?, updated_us = ?, done = ? WHERE id = ? AND context = ? AND updated_us = ?`,
		string(job.Step), body, job.Updated.UnixMicro(), done, job.ID, j.context, prev.UnixMicro()))
	if err == nil && n != 1 {
		err = replace.ErrTaken
	}
	return err
}

// Unfinished implements replace.Store, oldest first.
func (j *Jobs) Unfinished(ctx context.Context) ([]replace.Job, error) {
	return store.List(ctx, j.db, decode[replace.Job],
		`SELECT body FROM job WHERE context = ? AND kind = ? AND done = 0 ORDER BY created_us, id`, j.context, kindReplace)
}

// Job implements replace.Store.
func (j *Jobs) Job(ctx context.Context, id string) (replace.Job, error) {
	job, err := decode[replace.Job](j.db.QueryRow(ctx, `SELECT body FROM job WHERE context = ? AND id = ?`, j.context,
		id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("store: there is no such job: %w", err)
	}
	return job, err
}
