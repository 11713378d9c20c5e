package console

import (
	"context"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/mask"
)

// cover hides account numbers in what a person's screens get, fields and JSON
// alike, when the role may not see them. It stands between the App and the
// screens, so that no screen, copy or raw view can show what it never had.
type cover bool

func coverOf(who api.Actor) cover { return cover(!who.Role.May(api.MayReveal)) }

func (c cover) op(op api.Operation) api.Operation {
	if c {
		return mask.Operation(op)
	}
	return op
}

func (c cover) ops(list []api.Operation) []api.Operation {
	out := make([]api.Operation, len(list))
	for i, op := range list {
		out[i] = c.op(op)
	}
	return out
}

func (c cover) records(list []index.Record) []index.Record {
	for i := range list {
		list[i].Op = c.op(list[i].Op)
	}
	return list
}

// Known is the newest state that is known locally.
func (d *desk) Known(ctx context.Context, opid string) (api.Operation, time.Time, bool) {
	op, at, ok := d.App.Known(ctx, opid)
	return d.cover.op(op), at, ok
}

// Operation reads one operation.
func (d *desk) Operation(ctx context.Context, opid string) (api.Operation, error) {
	op, err := d.Client.Operation(ctx, opid)
	return d.cover.op(op), d.Missing(ctx, opid, err)
}

// Operations reads a page of the list.
func (d *desk) Operations(ctx context.Context, q api.OperationQuery) (api.Page[api.Operation], error) {
	p, err := d.Client.Operations(ctx, q)
	p.Items = d.cover.ops(p.Items)
	return p, err
}

// OperationTree reads an operation with its children.
func (d *desk) OperationTree(ctx context.Context, opid string) (api.OperationTree, error) {
	t, err := d.Client.OperationTree(ctx, opid)
	t.Parent = d.cover.op(t.Parent)
	for i := range t.Children {
		t.Children[i].Operation = d.cover.op(t.Children[i].Operation)
	}
	if d.cover {
		t.Raw = mask.JSON(t.Raw)
	}
	return t, err
}

// RemoveDocument takes a document off an operation.
func (d *desk) RemoveDocument(ctx context.Context, r api.RemoveDocument) (api.Operation, error) {
	op, err := d.Client.RemoveDocument(ctx, r)
	return d.cover.op(op), err
}

// AttachDocument links an uploaded document to an operation.
func (d *desk) AttachDocument(ctx context.Context, opid, guid, name string) (api.Operation, error) {
	op, err := d.Client.AttachDocument(ctx, opid, guid, name)
	return d.cover.op(op), err
}

// past is the index's history as the person may see it.
type past struct {
	*index.Index
	cover cover
}

// History returns the states of an operation, oldest first.
func (p past) History(ctx context.Context, opid string) ([]index.State, error) {
	states, err := p.Index.History(ctx, opid)
	for i := range states {
		states[i].Op = p.cover.op(states[i].Op)
	}
	return states, err
}
