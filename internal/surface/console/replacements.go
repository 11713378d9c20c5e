package console

import (
	"context"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/domain/replace"
)

// replacements are the jobs that replace documents, by their ids: each act takes the job
// as the store has it.
type replacements struct{ app *app.App }

// Replace plans a replacement and runs it.
func (r replacements) Replace(ctx context.Context, op api.Operation, guid string, u api.Upload,
	force bool) (replace.Job, error) {
	j, err := r.app.Jobs.Plan(ctx, op, guid, u, force)
	if err != nil {
		return j, err
	}
	return r.app.Jobs.Run(ctx, j)
}

// Resume goes on with a job.
func (r replacements) Resume(ctx context.Context, id string) (replace.Job, error) {
	return r.with(ctx, id, r.app.Jobs.Run)
}

// Abandon gives a job up.
func (r replacements) Abandon(ctx context.Context, id string) (replace.Job, error) {
	return r.with(ctx, id, r.app.Jobs.Abandon)
}

// Again sends once more what a job sent and was not seen in time.
func (r replacements) Again(ctx context.Context, id string) (replace.Job, error) {
	return r.with(ctx, id, r.app.Jobs.Again)
}

// Use takes a file of the customer as the one that a job uploaded.
func (r replacements) Use(ctx context.Context, id, file string) (replace.Job, error) {
	return r.with(ctx, id,
		func(ctx context.Context, j replace.Job) (replace.Job, error) { return r.app.Jobs.Use(ctx, j, file) })
}

func (r replacements) with(ctx context.Context, id string,
	do func(context.Context, replace.Job) (replace.Job, error)) (replace.Job, error) {
	j, err := r.app.Jobs.Store.Job(ctx, id)
	if err != nil {
		return j, err
	}
	return do(ctx, j)
}

// Unfinished lists the jobs of an operation that stand still.
func (r replacements) Unfinished(ctx context.Context, opid string) ([]replace.Job, error) {
	return r.app.UnfinishedJobs(ctx, opid)
}
