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

// The service documents one answer in full, {"item": {…}}, and describes another, {"meta": {…}, "items": […]}. The
// answers of the other calls are undocumented. This file finds a record in an answer of any usual shape; lists are in
// shapelist.go. An answer without a usable record is an error that lists its keys.

// RecordType is a kind of record: how to recognise it and where answers put it.
type RecordType struct {
	one, many string
	ids       []string // the identifier's name, then its other names
	sure      int      // how many of ids identify a record wherever it is
	wraps     []string // names of objects that wrap one
	lists     []string // names of an array of them
}

// The service's kinds of record.
var (
	OperationRecord = RecordType{one: "operation", many: "operations", ids: []string{"opid"}, sure: 1,
		wraps: []string{"operation", "general", "parent"}, lists: []string{"operations", "operationList"}}
	CustomerRecord = RecordType{one: "customer", many: "customers", ids: memberNames[Customer]("cuid"), sure: 1,
		wraps: []string{"customer", "client"}, lists: []string{"customers", "clients"}}
	FileRecord = RecordType{one: "document", many: "documents", ids: memberNames[CustomerFile]("id"), sure: 1,
		wraps: []string{"file", "document"}, lists: []string{"files", "documents"}}
	HooksRecord = RecordType{one: "webhook settings", many: "webhook settings", ids: []string{"hookUrl", "enabled"},
		sure:  2,
		wraps: []string{"parameters", "hook", "settings"}}
	AccountRecord = RecordType{one: "account", many: "accounts", ids: memberNames[Account]("id"), sure: 1,
		wraps: []string{"account"}, lists: []string{"accounts"}}
	CounterpartyRecord = RecordType{one: "counterparty", many: "counterparties",
		ids: memberNames[Counterparty]("counterpartyId"), sure: 1,
		wraps: []string{"counterparty"}, lists: []string{"counterparties"}}
	LimitRecord = RecordType{one: "payment limit", many: "payment limits", ids: []string{"id", "currencyIsoFrom"}, sure: 2,
		lists: []string{"limits"}}
	CommissionRecord = RecordType{one: "commission", many: "commissions", ids: []string{"currencyIsoFrom", "id"}, sure: 2,
		lists: []string{"commissions"}}
	UserRecord = RecordType{one: "user", many: "users", ids: memberNames[User]("uuid"), sure: 1,
		wraps: []string{"user"}, lists: []string{"users"}}
	ApplicationRecord = RecordType{one: "application", many: "applications", ids: []string{"individual", "corporate"},
		sure:  2,
		wraps: []string{"application"}}
)

// IDs returns the names of the record's identifier, the usual one first.
func (t RecordType) IDs() []string { return t.ids }

// maxBeside is the most keys that an object of any name around a record may have; with more it is a record of another
// kind.
const maxBeside = 3

// identified reports whether v is a record, by one of the first n names of its identifier.
func (t RecordType) identified(v jsontree.Value, n int) bool {
	for _, id := range t.ids[:n] {
		if m := v.Member(id); m.Kind() != 0 && !m.Null() && (m.Kind() != jsontree.String || m.Text() != "") {
			return true
		}
	}
	return false
}

func (t RecordType) isRecord(v jsontree.Value) bool { return t.identified(v, t.sure) }

// Find searches v for a record.
func (t RecordType) Find(v jsontree.Value) (record jsontree.Value, ok bool) {
	return t.within(v, jsontree.MaxWrappers)
}

func (t RecordType) within(v jsontree.Value, depth int) (jsontree.Value, bool) {
	if v.Kind() == jsontree.Array && v.Len() == 1 {
		for _, only := range v.Members() {
			v = only
		}
	}
	if v.Kind() != jsontree.Object {
		return jsontree.Value{}, false
	}
	if t.isRecord(v) {
		return v, true
	}
	if depth > 0 {
		for _, m := range t.places(v) {
			if got, ok := t.within(m.Value, depth-1); ok {
				return got, true
			}
		}
	}
	if t.identified(v, len(t.ids)) {
		return v, true
	}
	return jsontree.Value{}, false
}

// places returns the members of v that may hold a record: those with usual names, then the only object of any name.
func (t RecordType) places(v jsontree.Value) []jsontree.Member {
	all := v.Sorted()
	var out, other []jsontree.Member
	for _, name := range slices.Concat(jsontree.Wrappers[:1], t.wraps, jsontree.Wrappers[1:]) {
		if i := slices.IndexFunc(all, func(m jsontree.Member) bool { return jsontree.SameName(m.Name, name) }); i >= 0 {
			out = append(out, all[i])
		}
	}
	for _, m := range all {
		usual := slices.ContainsFunc(out, func(o jsontree.Member) bool { return o.Name == m.Name })
		if m.Kind() == jsontree.Object && !usual {
			other = append(other, m)
		}
	}
	if len(other) == 1 && len(all) <= maxBeside && !isAside(other[0].Name) {
		out = append(out, other...)
	}
	return out
}

// asides are names of objects and arrays that never hold the records.
var asides = []string{"meta", "error", "errors", "warnings", "links", "_links", "pagination", "paging", "sort",
	"filters"}

func isAside(name string) bool { return slices.Contains(asides, strings.ToLower(name)) }

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
	word, given := m.Member("success").Scalar()
	success, read := flagWord(word)
	if !m.Has("error") && !m.Has("errors") && !(given && read && !success) {
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
