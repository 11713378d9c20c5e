package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"

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

// TreeIn reads an operation and its children from an answer, whose keys the documents do not name. An opid identifies
// an operation, bare or under one of treeNames; its children are in an array under one of childNames, beside or inside
// it; its parent encloses it or is under "parent". Operations in a list have no order: the others are children.
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
	at := max(b.find(untrusted.Text(opid)), 0)
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

// The usual names of members with an operation, and of arrays with those that it spawned.
var (
	treeNames  = []string{"item", "data", "general", "operation"}
	childNames = []string{"children", "operations", "items"}
)

const parentName = "parent"

// branches collects the operations of a tree in the answer's order.
type branches struct {
	found  []Child
	unread int
	again  int
	seen   map[string]bool
	deep   int // of the walk
}

// walk reads v: an operation with its children, an object around one, an array of them. It reports whether it found
// any.
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
	own, o := v, readItem[Operation](v)
	if o.OPID == "" {
		at := slices.IndexFunc(treeNames, func(name string) bool { return hasParts(v.Member(name)) })
		if at < 0 {
			return b.children(v, depth)
		}
		own = v.Member(treeNames[at])
		if o = readItem[Operation](own); o.OPID == "" {
			return b.walk(own, depth)
		}
	}
	depth = b.parent(v.Member(parentName), o, depth)
	if !b.seen[string(o.OPID)] {
		b.seen[string(o.OPID)] = true
		b.found = append(b.found, Child{o, depth})
	} else if depth > b.found[b.find(o.OPID)].Depth {
		b.again++
	}
	if own != v {
		b.children(own, depth+1)
	}
	b.children(v, depth+1)
	return true
}

// parent walks the parent that an answer names beside or inside an operation, and returns the operation's depth.
func (b *branches) parent(v jsontree.Value, o Operation, depth int) int {
	if p := readItem[Operation](v); p.OPID != "" && p.OPID != o.OPID {
		b.walk(v, depth)
		if at := b.find(p.OPID); at >= 0 { // unless too deep
			return b.found[at].Depth + 1
		}
	}
	return depth
}

func (b *branches) find(opid untrusted.Text) int {
	return slices.IndexFunc(b.found, func(c Child) bool { return c.OPID == opid })
}

// children walks the arrays of children of v.
func (b *branches) children(v jsontree.Value, depth int) (found bool) {
	for _, name := range childNames {
		if list := v.Member(name); list.Kind() == jsontree.Array {
			found = b.walk(list, depth) || found
		}
	}
	return found
}

// The service documents one answer in full, {"item": {…}}, and describes another, {"meta": {…}, "items": […]}. An
// answer without a usable record is an error that lists its keys.

// RecordType is a kind of record and how to recognise it.
type RecordType struct {
	one, many string
	ids       []string // the identifier's name, then its other names
	list      string   // the usual name of an array of them, beside listNames
}

// The service's kinds of record.
var (
	OperationRecord = RecordType{one: "operation", many: "operations", ids: []string{"opid"}, list: "operations"}
	CustomerRecord  = RecordType{one: "customer", many: "customers", ids: memberNames[Customer]("cuid"), list: "customers"}
	FileRecord      = RecordType{one: "document", many: "documents", ids: memberNames[CustomerFile]("id"),
		list: "documents"}
	HooksRecord   = RecordType{one: "webhook settings", many: "webhook settings", ids: []string{"hookUrl", "enabled"}}
	AccountRecord = RecordType{one: "account", many: "accounts", ids: memberNames[Account]("id"), list: "accounts"}
	// CounterpartyRecord: counterpartyId over REST, suid in webhooks.
	CounterpartyRecord = RecordType{one: "counterparty", many: "counterparties",
		ids: memberNames[Counterparty]("counterpartyId"), list: "counterparties"}
	LimitRecord = RecordType{one: "payment limit", many: "payment limits", ids: []string{"id", "currencyIsoFrom"},
		list: "limits"}
	CommissionRecord = RecordType{one: "commission", many: "commissions", ids: []string{"currencyIsoFrom", "id"},
		list: "commissions"}
	UserRecord        = RecordType{one: "user", many: "users", ids: []string{"uuid"}, list: "users"}
	ApplicationRecord = RecordType{one: "application", many: "applications", ids: []string{"individual", "corporate"}}
)

// IDs returns the names of the record's identifier, the usual one first.
func (t RecordType) IDs() []string { return t.ids }

// isID reports whether a member of v has a value that may identify it.
func isID(v jsontree.Value, name string) bool {
	m := v.Member(name)
	return m.Kind() != 0 && !m.Null() && (m.Kind() != jsontree.String || m.Text() != "")
}

// Find returns the record that v is or wraps.
func (t RecordType) Find(v jsontree.Value) (record jsontree.Value, ok bool) {
	inside := v.Inside()
	for _, id := range t.ids {
		if i := slices.IndexFunc(inside, func(o jsontree.Value) bool { return isID(o, id) }); i >= 0 {
			return inside[i], true
		}
	}
	return jsontree.Value{}, false
}

func under(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// RecordIn finds the record in an answer to a read. It returns the error in an answer that has a good status all the
// same.
func RecordIn(r Request, a Answer, t RecordType) (json.RawMessage, error) {
	body, err := a.JSON(r)
	if err != nil {
		return nil, err
	}
	if v, ok := t.Find(body); ok {
		return v.Raw(), nil
	}
	if err := SaidNo(r, a, body, t.one); err != nil {
		return nil, err
	}
	return nil, a.unreadable(r, body, Remedy{Kind: CompareAnswers},
		"The service's answer contains no "+t.one+". It contains "+body.Keys()+".")
}

// unreadable is the error of an answer that is JSON but lacks what was requested; public is its sentence.
func (a Answer) unreadable(r Request, body jsontree.Value, remedy Remedy, public string) error {
	if body.Kind() == 0 {
		return NotUnderstood(r, a, nil)
	}
	return &Error{Op: r.Op, Kind: Internal, Status: a.Status, RequestID: a.RequestID, Remedy: remedy, Public: public}
}

// JSON parses the answer, whatever its content type. It fails if the answer is empty, or neither its body nor its
// content type is JSON.
func (a Answer) JSON(r Request) (jsontree.Value, error) {
	body := bytes.TrimSpace(a.Body)
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	v := ParseJSON(body)
	what, remedy := orNothing(kind), Remedy{Kind: CheckBaseURL}
	switch {
	case len(body) == 0:
		what, remedy = fmt.Sprintf("nothing (%d)", a.Status), Remedy{Kind: ReportRequest}
	case hasParts(v), kind == "application/json", strings.HasSuffix(kind, "+json"):
		return v, nil
	}
	return v, &Error{Op: r.Op, Kind: Internal, Status: a.Status, RequestID: a.RequestID, Remedy: remedy, Fault: a.fault,
		Public: "The service answered with " + what + " instead of JSON."}
}

// NotUnderstood is the error of an answer of an unexpected form.
func NotUnderstood(r Request, a Answer, err error) error {
	return &Error{Op: r.Op, Kind: Internal, Status: a.Status, RequestID: a.RequestID,
		Public: "The service's answer could not be understood.", Remedy: Remedy{Kind: ReportRequest},
		Err: errors.Join(fmt.Errorf("%d bytes", len(a.Body)), err)}
}

// SaidNo returns the error in an answer with a good status, {"error": …} or {"success": false, …}; nil for none.
func SaidNo(r Request, a Answer, body jsontree.Value, wanted string) error {
	m := ObjectIn(body)
	if !m.Fails() {
		return nil
	}
	e := Classify(r.Op, a.Status, a.Body)
	if e.RequestID = a.RequestID; e.Rule != "" {
		return e
	}
	e.Kind, e.Public = Refused, "The service answered with an error instead of the "+wanted+"."
	e.Quote(Said(a.Body))
	return e
}

func hasParts(v jsontree.Value) bool {
	return v.Kind() == jsontree.Object || v.Kind() == jsontree.Array
}
