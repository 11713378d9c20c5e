package api

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"opdeck/api/jsontree"
	"opdeck/api/untrusted"
)

// Inspection is what one read told about the shape of the service's answers: names of
// fields and kinds of values, never a value.
type Inspection struct {
	Call      string        // "GET /v2/billing/operation"
	Status    int           // 0: no answer
	Content   string        // media type as told, "no content type"
	Took      time.Duration // slot and session included
	At        string        // where the record or list stood: "item", "items", "" for the answer itself
	Wrapper   string        // of a list: the key around each record
	Items     int           // of a list
	Unusable  int           // of those, without an identifier
	Total     Number        // of a list; "" when not told
	TotalAt   string        // "meta.total"
	Asked     int           // of a list: the page size that was asked for
	Told      int           // and the one that was told; 0 when it was not
	Order     Order         // of a list of operations
	Kinds     []string      // "documents[].size: text instead of number"
	Unknown   []string      // names of fields without a name here
	Odd       []string      // names of fields whose values cannot be read
	Missing   []string      // names of fields that are expected and came nowhere
	Words     int           // status words that mean nothing here
	Announced string        // what the service says of the end of this call
	Err       error         // the call failed, or its answer could not be read
}

// Order is how a list is ordered by the time of creation.
type Order string

// The orders; "" when too few records tell.
const (
	NewestFirst Order = "newest first"
	OldestFirst Order = "oldest first"
	NoOrder     Order = "in no order of time"
)

// Names found by an Inspection are safe to draw and this many at most.
const maxNames = 12

// InspectOperations reads a page of the list of operations (one billing call). opid
// and cuid are an operation and a customer to go on with, "" when there is none.
func (c *Client) InspectOperations(ctx context.Context) (p Inspection, opid, cuid string) {
	page, p := inspectList[Operation](ctx, c, operationThing, []string{"/v2/billing/operation"})
	for _, o := range page.Items {
		if opid == "" {
			opid = string(o.OPID)
		}
		if cuid == "" {
			cuid = string(o.Customer.CUID)
		}
		if o.OPID != "" && c.Phase(o) == PhaseUnknown {
			p.Words++
		}
	}
	p.Order = orderOf(page.Items)
	return p, opid, cuid
}

// InspectCustomers reads a page of customers (one customer call); cuid is the first.
func (c *Client) InspectCustomers(ctx context.Context) (p Inspection, cuid string) {
	page, p := inspectList[Customer](ctx, c, customerThing, []string{"/v2/customer"})
	for _, cu := range page.Items {
		if cu.CUID != "" {
			return p, string(cu.CUID)
		}
	}
	return p, ""
}

// InspectFiles reads a page of a customer's documents (one customer call).
func (c *Client) InspectFiles(ctx context.Context, cuid string) Inspection {
	_, p := inspectList[CustomerFile](ctx, c, fileThing, []string{"/v2/customer", ":" + cuid, "/file"})
	return p
}

// InspectOperation reads one operation (one billing call).
func (c *Client) InspectOperation(ctx context.Context, opid string) Inspection {
	r := request{op: "read operation", parts: operationPath(opid), method: http.MethodGet}
	return c.inspectOne(ctx, r, operationThing, Operation{})
}

// InspectApplication reads a customer's application (one customer call).
func (c *Client) InspectApplication(ctx context.Context, cuid string) Inspection {
	r := request{op: "read application", parts: applicationPath(cuid), method: http.MethodGet}
	a, p := c.inspect(ctx, r)
	if p.Err != nil {
		return p
	}
	app, err := applicationOf(r, a)
	if p.Err = err; err == nil {
		_, p.At, _ = applyThing.find(parsed(a.body))
		p.compare(applyThing, app, app.Raw)
	}
	return p
}

// InspectHooks reads the webhook settings (one general call).
func (c *Client) InspectHooks(ctx context.Context) Inspection {
	type settings struct {
		HookSettings
		Secret untrusted.Text `json:"jwtSecret"`
	}
	r := request{op: "read webhook settings", parts: hooksPath, ownToken: true, method: http.MethodGet}
	return c.inspectOne(ctx, r, hooksThing, settings{})
}

// InspectCustomer finds out how the service tells of one customer (one to three
// customer calls).
func (c *Client) InspectCustomer(ctx context.Context, cuid string) Inspection {
	began := c.opt.Now()
	cu, err := c.Customer(ctx, cuid)
	calls := []string{"GET /v2/customer/{}", "POST /v2/customer/{}", "GET /v2/customer, narrowed to the customer"}
	p := Inspection{Call: calls[c.customers.get()], Took: c.opt.Now().Sub(began), Err: err}
	if e := AsError(err); e != nil {
		p.Status = e.Status
		return p
	}
	p.Status = http.StatusOK
	p.compare(customerThing, Customer{}, cu.Raw)
	return p
}

func (c *Client) inspect(ctx context.Context, r request) (answer, Inspection) {
	began := c.opt.Now()
	_, route := paths(r.parts...)
	a, err := c.read(ctx, r)
	p := Inspection{Call: r.method + " " + route, Status: a.status, Took: c.opt.Now().Sub(began), Err: err}
	if a.header != nil {
		kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
		p.Content, p.Announced = orNothing(kind), ending(a.header)
	}
	return a, p
}

func (c *Client) inspectOne(ctx context.Context, r request, t thing, record any) Inspection {
	a, p := c.inspect(ctx, r)
	if p.Err != nil {
		return p
	}
	raw, err := c.one(r, a, t)
	if p.Err = err; err != nil {
		return p
	}
	_, p.At, _ = t.find(parsed(a.body))
	p.compare(t, record, raw)
	return p
}

func inspectList[T record](ctx context.Context, c *Client, t thing, parts []string) (Page[T], Inspection) {
	v := c.paging(0, 0)
	r := request{op: "list " + t.many, parts: parts, query: v, method: http.MethodGet}
	a, p := c.inspect(ctx, r)
	if p.Asked = c.opt.Service.PageSize; p.Err != nil {
		return Page[T]{}, p
	}
	page, err := pageOf[T](c, r, a, t, 0)
	p.Err = err
	p.At, p.Wrapper, p.TotalAt = page.Shape.Key, page.Shape.Wrapper, page.Shape.Total
	p.Items, p.Unusable, p.Total, p.Told = len(page.Items), page.Unusable, page.Total, page.PageSize
	l, _ := t.findList(parsed(a.body), c.opt.Service.ListField)
	var raws []json.RawMessage
	for _, v := range l.items {
		raws = append(raws, v.Raw())
	}
	var one T
	p.compare(t, one, raws...)
	return page, p
}

// compare compares records, as many as are enough, with what is expected of them; record has their type.
func (p *Inspection) compare(t thing, record any, raws ...json.RawMessage) {
	const enough = 25
	kinds, unknown, odd, came := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, raw := range raws[:min(len(raws), enough)] {
		for _, f := range Unknown(raw, record) {
			if f.Odd {
				odd[plainPath(f.Path)] = true
			} else {
				unknown[plainPath(f.Path)] = true
			}
		}
		v := parsed(raw)
		recordLayout(reflect.TypeOf(record)).visit("", v, func(path string, v jsontree.Value, l *layout) {
			path = plainPath(path)
			if want, got := expectedKind(l, path), kindOf(v); want != "" && got != want && got != "null" {
				kinds[path+": "+got+" instead of "+want] = true
			}
		})
		for name := range v.Members() {
			came[name] = true
		}
	}
	p.Kinds, p.Unknown, p.Odd = names(kinds), names(unknown), names(odd)
	for _, name := range t.expected {
		if len(raws) > 0 && !came[name] {
			p.Missing = append(p.Missing, name)
		}
	}
}

func names(set map[string]bool) []string {
	var out []string
	for _, n := range slices.Sorted(maps.Keys(set)) {
		if len(out) == maxNames {
			return append(out, fmt.Sprintf("and %d more", len(set)-maxNames))
		}
		out = append(out, safeLine(n, 120))
	}
	return out
}

// plainPath is a path without the numbers of elements: "documents[].scan".
func plainPath(path string) string {
	var b strings.Builder
	in := false
	for _, r := range path {
		if in = in && r != ']'; !in {
			b.WriteRune(r)
		}
		in = in || r == '['
	}
	return b.String()
}

// expectedKind is the JSON kind that the service's pages show for a scalar,
// "" for what has parts or no name.
func expectedKind(l *layout, path string) string {
	switch {
	case l == nil:
	case l.typ == reflect.TypeFor[Number]() && strings.HasSuffix(path, "nanos"):
		return "number"
	case l.typ == reflect.TypeFor[Time](), l.typ.Kind() == reflect.String:
		return "text"
	case l.typ.Kind() == reflect.Bool:
		return "true or false"
	case l.typ.Kind() == reflect.Int64:
		return "number"
	}
	return ""
}

func orderOf(ops []Operation) Order {
	up, down := false, false
	var before time.Time
	for _, o := range ops {
		at := o.CreatedAt.Time
		if at.IsZero() {
			continue
		}
		if !before.IsZero() {
			up, down = up || at.After(before), down || at.Before(before)
		}
		before = at
	}
	switch {
	case up && down:
		return NoOrder
	case up:
		return OldestFirst
	case down:
		return NewestFirst
	}
	return ""
}
