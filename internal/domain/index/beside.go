package index

import (
	"context"

	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/note"
)

// Beside has records about operations that the index does not hold; the methods see them as the person in ctx may.
type Beside interface {
	// InDoubt lists the ids of operations with a write of ours whose outcome is unknown.
	InDoubt(ctx context.Context) ([]string, error)
	// Waiting lists the ids of operations with something that waits for the person.
	Waiting(ctx context.Context) ([]string, error)
	// Find lists the notes that contain a text, newest first.
	Find(ctx context.Context, text string, limit int) ([]note.Note, error)
}

// A word finds operations by the newest notes with it: so many notes, and of these so many on customers, who have many
// operations. This keeps a filter quick.
const (
	notesAtMost     = 200
	customersAtMost = 20
)

// asked is f for the person in ctx, with what the records beside the index say.
func asked(ctx context.Context, x *Index, f filter.OperationExpr) (filter.OperationExpr, error) {
	f = f.For(ctx)
	if x.Beside == nil || f.Empty() {
		return f, nil
	}
	return filter.AskBeside(f, besideFor{ctx, x.Beside})
}

// Noted lists the notes that a filter finds operations by, newest first for each word.
func (x *Index) Noted(ctx context.Context, f filter.OperationExpr) (out []note.Note, err error) {
	if x.Beside == nil || f.Empty() {
		return nil, nil
	}
	for _, text := range filter.NotedTexts(f) {
		list, err := x.Beside.Find(ctx, text, notesAtMost)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// besideFor asks for one person.
type besideFor struct {
	ctx context.Context
	Beside
}

// Holds implements filter.Beside.
func (b besideFor) Holds(flag string) (n filter.Named, err error) {
	if flag == filter.Doubt {
		n.OPIDs, err = b.InDoubt(b.ctx)
	} else {
		n.OPIDs, err = b.Waiting(b.ctx)
	}
	return n, err
}

// Noted implements filter.Beside.
func (b besideFor) Noted(text string) (n filter.Named, err error) {
	list, err := b.Find(b.ctx, text, notesAtMost)
	for _, one := range list {
		if one.Object == note.Customer && len(n.CUIDs) < customersAtMost {
			n.CUIDs = append(n.CUIDs, one.ID)
		} else if one.Object == note.Operation {
			n.OPIDs = append(n.OPIDs, one.ID)
		}
	}
	return n, err
}
