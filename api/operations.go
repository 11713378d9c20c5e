package api

import (
	"cmp"
	"context"
	"net/url"
	"slices"
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
	a, err := c.get(ctx, request{op: op, parts: operationPath(opid)})
	if err != nil {
		return Operation{}, err
	}
	return c.operationOf(ctx, op, a)
}

func operationPath(opid string) []string { return []string{"/v2/billing/operation", ":" + opid} }

// operationOf reads the operation that an answer holds and shows it to the
// observers.
func (c *Client) operationOf(ctx context.Context, op string, a answer) (Operation, error) {
	r := request{op: op}
	raw, err := c.one(r, a, operationThing)
	if err != nil {
		return Operation{}, err
	}
	o, err := ReadOperation(raw)
	if err != nil {
		return Operation{}, notUnderstood(r, a, err)
	}
	c.seen(ctx, a.at, false, o)
	return o, nil
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
	v := c.paging(q.Page, q.Size, "account", q.Account, "clientCuid", q.ClientCUID, "clientName", q.ClientName)
	page, err := list[Operation](ctx, c, operationThing, []string{"/v2/billing/operation"}, v)
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

// paging asks for a page (size 0: as configured) by filters, each a name and a value;
// those with an empty value are left out.
func (c *Client) paging(page, size int, filters ...string) url.Values {
	v := url.Values{"meta.page": {strconv.Itoa(page)}, "meta.pageSize": {strconv.Itoa(cmp.Or(size, c.opt.Service.PageSize))}}
	for pair := range slices.Chunk(filters, 2) {
		if pair[1] != "" {
			v.Set(pair[0], pair[1])
		}
	}
	return v
}

// list reads a page of records.
func list[T record](ctx context.Context, c *Client, t thing, parts []string, v url.Values) (Page[T], error) {
	r := request{op: "list " + t.many, parts: parts, query: v}
	a, err := c.get(ctx, r)
	if err != nil {
		return Page[T]{}, err
	}
	page, _ := strconv.Atoi(v.Get("meta.page"))
	return pageOf[T](c, r, a, t, page)
}
