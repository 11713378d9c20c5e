package endpoint

import (
	"context"

	"opdeck/api"
	"opdeck/api/limit"
)

var operationCalls = []*Route{ListOperations.Route, GetOperation.Route, GetOperationTree.Route}

const operationPath = "/v2/billing/operation/{opid}"

// ListOperations reads one page of the list (one billing call). An item that is not readable as an operation has only
// its Raw.
var ListOperations = shows(read(Route{Kind: "operation.list", Op: "list operations", Path: "/v2/billing/operation",
	Class: limit.Billing, Need: api.MayRead,
	Query: paged(Query{"account", api.MayReveal}, Query{Name: "clientCuid"}, Query{Name: "clientName"}),
	Lent:  Lending{Reads: true}},
	reading[api.OperationQuery, api.Page[api.Operation]]{
		next: func(q api.OperationQuery) string { return q.Next },
		query: func(s api.Service, q api.OperationQuery) queryValues {
			return page(s, q.Page, q.Size, "account", q.Account, "clientCuid", q.ClientCUID, "clientName", q.ClientName)
		},
		read: func(ctx context.Context, w *Wire, r api.Request, a api.Answer, _ api.OperationQuery) (api.Page[api.Operation],
			error) {
			return w.operations(ctx, r, a)
		}}), func(ctx context.Context, w *Wire, r api.Request, a api.Answer) { _, _ = w.operations(ctx, r, a) })

// GetOperation reads one operation (one billing call).
var GetOperation = shows(read(Route{Kind: "operation.get", Op: "read operation", Path: operationPath,
	Class: limit.Billing, Need: api.MayRead,
	Lent: Lending{Reads: true}}, reading[string, api.Operation]{
	ids: one,
	read: func(ctx context.Context, w *Wire, r api.Request, a api.Answer, _ string) (api.Operation, error) {
		return w.operation(ctx, r, a)
	}}), func(ctx context.Context, w *Wire, r api.Request, a api.Answer) { _, _ = w.operation(ctx, r, a) })

// GetOperationTree reads an operation and its children (one billing call).
var GetOperationTree = read(Route{Kind: "operation.tree", Op: "read operation tree", Path: operationPath + "/tree",
	Class: limit.Billing, Need: api.MayRead,
	Lent: Lending{Reads: true}}, reading[string, api.OperationTree]{
	ids: one,
	read: func(_ context.Context, _ *Wire, r api.Request, a api.Answer, opid string) (api.OperationTree, error) {
		return api.TreeIn(r, a, opid)
	}})

// shows passes relayed answers to the observers of operations, too.
func shows[In, Out any](e Endpoint[In, Out], see func(context.Context, *Wire, api.Request, api.Answer)) Endpoint[In,
	Out] {
	e.shown = see
	return e
}

// operation decodes the operation in an answer and passes it to the observers.
func (w *Wire) operation(ctx context.Context, r api.Request, a api.Answer) (api.Operation, error) {
	raw, err := api.RecordIn(r, a, api.OperationRecord)
	if err != nil {
		return api.Operation{}, err
	}
	o, err := api.ReadOperation(raw)
	if err != nil {
		return api.Operation{}, api.NotUnderstood(r, a, err)
	}
	w.client.Saw(ctx, a.At, false, o)
	return o, nil
}

// operations decodes a page of operations and passes them to the observers.
func (w *Wire) operations(ctx context.Context, r api.Request, a api.Answer) (api.Page[api.Operation], error) {
	p, err := pageOf[api.Operation](w, r, a, api.OperationRecord)
	if err == nil {
		w.client.Saw(ctx, p.At, true, p.Items...)
	}
	return p, err
}
