package app

import (
	"context"

	"opdeck/api"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/note"
)

// beside implements index.Beside with the records of the context.
type beside struct{ app *App }

// objectOperation is the kind of object of the writes to an operation and its documents.
const objectOperation = "operation"

func (b beside) InDoubt(ctx context.Context) ([]string, error) {
	return b.app.Follow.InDoubt(ctx, objectOperation)
}

// Waiting lists the operations with an approval to decide, an approved write to send, or a replacement to finish.
func (b beside) Waiting(ctx context.Context) (ids []string, err error) {
	list, err := b.app.Approvals.List(ctx, approval.Open, approval.Approved)
	if err != nil {
		return nil, err
	}
	who := api.ActorOf(ctx)
	for _, r := range list {
		if r.Act.Object == objectOperation && approval.WaitsFor(who, r) {
			ids = append(ids, r.Act.ID)
		}
	}
	if !who.Role.May(api.MayDocuments) {
		return ids, nil
	}
	jobs, err := b.app.Jobs.Store.Unfinished(ctx)
	for _, j := range jobs {
		ids = append(ids, j.OPID)
	}
	return ids, err
}

func (b beside) Find(ctx context.Context, text string, limit int) ([]note.Note, error) {
	return b.app.Notes.Find(ctx, text, limit)
}
