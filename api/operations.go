package api

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"time"
)

// Operation reads one operation (GET /v2/billing/operation/{id}; one billing call).
func (c *Client) Operation(ctx context.Context, opid string) (Operation, error) {
	const op = "read operation"
	if err := CheckID("operation id", opid); err != nil {
		return Operation{}, err
	}
	return c.readOperation(ctx, op, opid)
}

func (c *Client) readOperation(ctx context.Context, op, opid string) (Operation, error) {
	a, err := c.get(ctx, request{op: op, parts: []string{"/v2/billing/operation", ":" + opid}}, nil)
	if err != nil {
		return Operation{}, err
	}
	return c.operationOf(ctx, op, a)
}

// operationOf reads the operation under "item" and shows it to the observers.
func (c *Client) operationOf(ctx context.Context, op string, a answer) (Operation, error) {
	var body struct {
		Item *Operation `json:"item"`
	}
	if err := c.decode(request{op: op}, a, &body); err != nil {
		return Operation{}, err
	}
	if body.Item == nil || body.Item.OPID == "" {
		return Operation{}, &Error{Op: op, Kind: Internal, Status: a.status, RequestID: a.id,
			Public: "The service's answer holds no operation."}
	}
	c.seen(ctx, a.at, false, *body.Item)
	return *body.Item, nil
}

// OperationQuery are the service's own filters; an empty one lists everything.
type OperationQuery struct {
	Account    string // account id or number
	ClientCUID string
	ClientName string // part of the name
	Page       int    // from 0
	Size       int    // 0: the configured page size
}

// Operations reads one page of the list (GET /v2/billing/operation; one billing
// call). An item that cannot be read as an operation is kept with its Raw alone.
func (c *Client) Operations(ctx context.Context, q OperationQuery) (Page[Operation], error) {
	v := c.paging(q.Page, q.Size)
	setIf(v, "account", q.Account)
	setIf(v, "clientCuid", q.ClientCUID)
	setIf(v, "clientName", q.ClientName)
	page, err := list[Operation](ctx, c, "list operations", []string{"/v2/billing/operation"}, v)
	if err == nil {
		c.seen(ctx, page.At, true, page.Items...)
	}
	return page, err
}

// seen shows operations to the observer; items that could not be read as
// operations are left out.
func (c *Client) seen(ctx context.Context, at time.Time, page bool, ops ...Operation) {
	if c.opt.OnOperations == nil {
		return
	}
	usable := make([]Operation, 0, len(ops))
	for _, o := range ops {
		if o.OPID != "" {
			usable = append(usable, o)
		}
	}
	c.opt.OnOperations(ctx, usable, page, at)
}

// OperationTree reads an operation and its children
// (GET /v2/billing/operation/{id}/tree; one billing call). The answer's keys are
// not published: the parent is looked for under item, operation, parent and
// general, the children under children, operations, items and childs.
func (c *Client) OperationTree(ctx context.Context, opid string) (OperationTree, error) {
	const op = "read operation tree"
	if err := CheckID("operation id", opid); err != nil {
		return OperationTree{}, err
	}
	var body map[string]json.RawMessage
	a, err := c.get(ctx, request{op: op, parts: []string{"/v2/billing/operation", ":" + opid, "/tree"}}, &body)
	if err != nil {
		return OperationTree{}, err
	}
	t := OperationTree{Raw: a.body}
	if item, ok := body["item"]; ok { // {"item": {…, "children": […]}} or {"item": {…}, "children": […]}
		var inner map[string]json.RawMessage
		if json.Unmarshal(item, &inner) == nil && inner["opid"] == nil && len(inner) > 0 {
			body = inner
		}
	}
	for _, k := range []string{"item", "operation", "parent", "general"} {
		if raw, ok := body[k]; ok && json.Unmarshal(raw, &t.Parent) == nil && t.Parent.OPID != "" {
			break
		}
	}
	t.Children = children(body)
	if t.Children == nil && t.Parent.Raw != nil {
		var inner map[string]json.RawMessage
		if json.Unmarshal(t.Parent.Raw, &inner) == nil {
			t.Children = children(inner)
		}
	}
	if t.Parent.OPID == "" {
		return t, &Error{Op: op, Kind: Internal, Status: a.status, RequestID: a.id, Public: "The service's answer holds no operation."}
	}
	return t, nil
}

func children(body map[string]json.RawMessage) []Operation {
	for _, k := range []string{"children", "operations", "items", "childs"} {
		var raws []json.RawMessage
		if json.Unmarshal(body[k], &raws) == nil && body[k] != nil {
			return readItems[Operation](raws)
		}
	}
	return nil
}

func (c *Client) paging(page, size int) url.Values {
	if size == 0 {
		size = c.opt.Service.PageSize
	}
	return url.Values{"meta.page": {strconv.Itoa(page)}, "meta.pageSize": {strconv.Itoa(size)}}
}

func setIf(v url.Values, key, value string) {
	if value != "" {
		v.Set(key, value)
	}
}

// list reads {"meta": {...}, "items": [...]}.
func list[T any](ctx context.Context, c *Client, op string, parts []string, v url.Values) (Page[T], error) {
	var body struct {
		Meta struct {
			Page     Number `json:"page"`
			PageSize Number `json:"pageSize"`
			Total    Number `json:"total"`
		} `json:"meta"`
		Items []json.RawMessage `json:"items"`
	}
	a, err := c.get(ctx, request{op: op, parts: parts, query: v}, &body)
	if err != nil {
		return Page[T]{}, err
	}
	p := Page[T]{Items: readItems[T](body.Items), Total: body.Meta.Total, At: a.at}
	p.Page, _ = strconv.Atoi(string(body.Meta.Page))
	p.PageSize, _ = strconv.Atoi(string(body.Meta.PageSize))
	return p, nil
}

// readItems reads each item by itself, so that one odd item hides no other. An
// Operation that cannot be read is kept with its Raw alone.
func readItems[T any](raws []json.RawMessage) []T {
	out := make([]T, 0, len(raws))
	for _, raw := range raws {
		var it T
		if err := json.Unmarshal(raw, &it); err != nil {
			if o, ok := any(&it).(*Operation); ok {
				*o = Operation{Raw: raw}
			}
		}
		out = append(out, it)
	}
	return out
}
