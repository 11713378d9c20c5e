package api

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
)

// OperationTree is an operation with the operations it spawned, at any depth.
type OperationTree struct {
	Parent   Operation
	Above    []Operation // those that spawned it, the nearest first; only as the answer tells them
	Children []Child     // each before those that it spawned itself
	Unread   int         // children that hold no operation that can be read
	Again    int         // places further down where one stands that stood before, as below itself; it is in Children once
	Raw      json.RawMessage
}

// Child is an operation that another one spawned.
type Child struct {
	Operation
	Depth int // 1: spawned by the tree's parent, 2: by one of those, …
}

// OperationTree reads an operation and its children
// (GET /v2/billing/operation/{id}/tree; one billing call). The answer's keys are
// not published. An operation is known by its opid, by itself or in an object of
// its own; children are the operations in an array beside or inside it, and what
// spawned it stands around it or is called its parent.
func (c *Client) OperationTree(ctx context.Context, opid string) (OperationTree, error) {
	const op = "read operation tree"
	if err := CheckID("operation id", opid); err != nil {
		return OperationTree{}, err
	}
	r := request{op: op, parts: []string{"/v2/billing/operation", ":" + opid, "/tree"}}
	a, err := c.get(ctx, r)
	if err != nil {
		return OperationTree{}, err
	}
	return c.treeOf(r, a, opid)
}

func (c *Client) treeOf(r request, a answer, opid string) (OperationTree, error) {
	if err := a.json(r); err != nil {
		return OperationTree{}, err
	}
	b := branches{seen: map[string]bool{}}
	b.walk(a.body, 0)
	t := OperationTree{Unread: b.unread, Again: b.again, Raw: a.body}
	if len(b.found) == 0 {
		_, err := c.one(r, a, operationThing)
		return t, err
	}
	at := max(slices.IndexFunc(b.found, func(c Child) bool { return string(c.OPID) == opid }), 0)
	t.Parent = b.found[at].Operation
	t.Above = above(b.found, at)
	top := b.found[at].Depth
	if top > 0 { // the answer is of a larger tree
		b.found, at = b.found[at:], 0
		if end := slices.IndexFunc(b.found[1:], func(c Child) bool { return c.Depth <= top }); end >= 0 {
			b.found = b.found[:end+1]
		}
	}
	for _, child := range slices.Delete(b.found, at, at+1) {
		child.Depth = max(child.Depth-top, 1) // a flat list holds the parent beside its children
		t.Children = append(t.Children, child)
	}
	return t, nil
}

// above are the operations that spawned the one at a place, the nearest first.
func above(found []Child, at int) (out []Operation) {
	depth := found[at].Depth
	for _, c := range slices.Backward(found[:at]) {
		if c.Depth < depth {
			out, depth = append(out, c.Operation), c.Depth
		}
	}
	return out
}

// maxDepth bounds how deep a tree is followed, objects around operations included.
const maxDepth = 64

// branches gathers the operations of a tree in the order in which they stand.
type branches struct {
	found  []Child
	unread int
	again  int
	seen   map[string]bool
	deep   int // of the walk
}

// walk reads what raw holds: an operation with what it spawned, objects around
// one, arrays of them. It reports whether there was any.
func (b *branches) walk(raw json.RawMessage, depth int) bool {
	if b.deep++; b.deep > maxDepth {
		b.deep--
		return false
	}
	defer func() { b.deep-- }()
	if items, ok := array(raw); ok {
		for _, it := range items {
			if !b.walk(it, depth) {
				b.unread++
			}
		}
		return len(items) > 0
	}
	m := object(raw)
	op, key := own(raw, m)
	if op == nil {
		any := false
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if mayBranch(m[name]) && !slices.Contains(asides, name) {
				any = b.walk(m[name], depth) || any
			}
		}
		return any
	}
	if p := operationOf(m[parentName]); p != nil && key != parentName && p.OPID != op.OPID {
		b.walk(m[parentName], depth)
		if at := slices.IndexFunc(b.found, func(c Child) bool { return c.OPID == p.OPID }); at >= 0 { // unless too deep
			depth = b.found[at].Depth + 1
		}
	}
	if id := string(op.OPID); !b.seen[id] {
		b.seen[id] = true
		b.found = append(b.found, Child{*op, depth})
	} else if at := slices.IndexFunc(b.found, func(c Child) bool { return string(c.OPID) == id }); depth > b.found[at].Depth {
		b.again++
	}
	if key != "" {
		b.children(object(m[key]), "", depth)
	}
	b.children(m, key, depth)
	return true
}

// parentName is the key of an operation that stands alone, or of what spawned the
// one beside it.
const parentName = "parent"

// own is the operation that raw is, or that stands under a key of it.
func own(raw json.RawMessage, m fields) (*Operation, string) {
	if o := operationOf(raw); o != nil {
		return o, ""
	}
	for _, name := range operationThing.order(m) {
		if o := operationOf(m[name]); o != nil {
			return o, name
		}
	}
	return nil, ""
}

// operationOf is the operation that raw is; nil when it is none.
func operationOf(raw json.RawMessage) *Operation {
	if !operationThing.isRecord(raw) {
		return nil
	}
	o, err := ReadOperation(raw)
	if err != nil || o.OPID == "" {
		return nil
	}
	return &o
}

// children walks what m holds beside its own operation, which stands under key.
func (b *branches) children(m fields, key string, depth int) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		items, is := array(m[name])
		switch {
		case name == key:
		case is && (childNames[name] || slices.ContainsFunc(items, holdsOperation)), !is && childNames[name] && mayBranch(m[name]):
			b.walk(m[name], depth+1)
		}
	}
}

// childNames are the usual names of what holds children.
var childNames = map[string]bool{"children": true, "operations": true, "items": true, "childs": true, "child": true, "nodes": true, "spawned": true}

func mayBranch(raw json.RawMessage) bool { k := kindOf(raw); return k == "object" || k == "array" }

func holdsOperation(raw json.RawMessage) bool {
	_, _, ok := operationThing.find(raw)
	return ok
}
