package api

import (
	"encoding/json"
	"slices"

	"opdeck/api/jsontree"
	"opdeck/api/untrusted"
)

// OperationTree is an operation with the operations it spawned, at any depth.
type OperationTree struct {
	Parent    Operation
	Ancestors []Operation // the operations that spawned it, nearest first; only those in the answer
	Children  []Child     // each before the operations that it spawned
	Unread    int         // children without a readable operation
	Repeated  int         // operations that the answer lists again; Children has each once
	Raw       json.RawMessage
}

// Child is an operation that another one spawned.
type Child struct {
	Operation
	Depth int // 1: spawned by the root, 2: by one of those, …
}

// TreeIn reads an operation and its children from an answer, whose keys are not documented. An opid identifies an
// operation, bare or in an object of its own; children are the operations in an array beside or inside it; its parent
// encloses it or is under the key "parent".
func TreeIn(r Request, a Answer, opid string) (OperationTree, error) {
	body, err := a.JSON(r)
	if err != nil {
		return OperationTree{}, err
	}
	b := branches{seen: map[string]bool{}}
	b.walk(body, 0)
	t := OperationTree{Unread: b.unread, Repeated: b.again, Raw: a.Body}
	if len(b.found) == 0 {
		_, err := RecordIn(r, a, OperationRecord)
		return t, err
	}
	at := max(slices.IndexFunc(b.found, func(c Child) bool { return string(c.OPID) == opid }), 0)
	t.Parent = b.found[at].Operation
	t.Ancestors = above(b.found, at)
	top := b.found[at].Depth
	if top > 0 { // the answer shows a larger tree
		b.found, at = b.found[at:], 0
		if end := slices.IndexFunc(b.found[1:], func(c Child) bool { return c.Depth <= top }); end >= 0 {
			b.found = b.found[:end+1]
		}
	}
	for _, child := range slices.Delete(b.found, at, at+1) {
		child.Depth = max(child.Depth-top, 1) // in a flat list the parent is beside its children
		t.Children = append(t.Children, child)
	}
	return t, nil
}

// above returns the operations that spawned the one at a place, nearest first.
func above(found []Child, at int) (out []Operation) {
	depth := found[at].Depth
	for _, c := range slices.Backward(found[:at]) {
		if c.Depth < depth {
			out, depth = append(out, c.Operation), c.Depth
		}
	}
	return out
}

// maxDepth bounds the depth of a tree, including objects around operations.
const maxDepth = 64

// branches collects the operations of a tree in the answer's order.
type branches struct {
	found  []Child
	unread int
	again  int
	seen   map[string]bool
	deep   int // of the walk
}

// walk reads v: an operation with its children, objects around one, arrays of them. It reports whether it found any.
func (b *branches) walk(v jsontree.Value, depth int) bool {
	if b.deep++; b.deep > maxDepth {
		b.deep--
		return false
	}
	defer func() { b.deep-- }()
	if v.Kind() == jsontree.Array {
		for _, it := range v.Members() {
			if !b.walk(it, depth) {
				b.unread++
			}
		}
		return v.Len() > 0
	}
	op, key := ownOperation(v)
	if op == nil {
		found := false
		for _, m := range v.Sorted() {
			if hasParts(m.Value) && !isAside(m.Name) {
				found = b.walk(m.Value, depth) || found
			}
		}
		return found
	}
	parent := v.Member(parentName)
	if p := operationIn(parent); p != nil && key != parentName && p.OPID != op.OPID {
		b.walk(parent, depth)
		if at := b.find(p.OPID); at >= 0 { // unless too deep
			depth = b.found[at].Depth + 1
		}
	}
	if !b.seen[string(op.OPID)] {
		b.seen[string(op.OPID)] = true
		b.found = append(b.found, Child{*op, depth})
	} else if depth > b.found[b.find(op.OPID)].Depth {
		b.again++
	}
	if key != "" {
		b.children(v.Member(key), "", depth)
	}
	b.children(v, key, depth)
	return true
}

func (b *branches) find(opid untrusted.Text) int {
	return slices.IndexFunc(b.found, func(c Child) bool { return c.OPID == opid })
}

// parentName is the key of a bare operation, or of the parent of the one beside it.
const parentName = "parent"

// ownOperation returns the operation that v is, or the one under a key of v.
func ownOperation(v jsontree.Value) (op *Operation, key string) {
	if o := operationIn(v); o != nil {
		return o, ""
	}
	for _, m := range OperationRecord.places(v) {
		if o := operationIn(m.Value); o != nil {
			return o, m.Name
		}
	}
	return nil, ""
}

// operationIn returns v as an operation; nil if it is not one.
func operationIn(v jsontree.Value) *Operation {
	if !OperationRecord.isRecord(v) {
		return nil
	}
	o := readItem[Operation](v)
	if o.OPID == "" {
		return nil
	}
	return &o
}

// children walks v except its own operation, which is under key.
func (b *branches) children(v jsontree.Value, key string, depth int) {
	for _, m := range v.Sorted() {
		if m.Name != key && (hasParts(m.Value) && childNames[m.Name] || holdsOperation(m.Value)) {
			b.walk(m.Value, depth+1)
		}
	}
}

// childNames are the usual names of members that hold children.
var childNames = map[string]bool{"children": true, "operations": true, "items": true, "childs": true, "child": true,
	"nodes": true, "spawned": true}

// holdsOperation reports whether an array holds an operation.
func holdsOperation(v jsontree.Value) bool {
	if v.Kind() != jsontree.Array {
		return false
	}
	for _, it := range v.Members() {
		if _, ok := OperationRecord.Find(it); ok {
			return true
		}
	}
	return false
}
