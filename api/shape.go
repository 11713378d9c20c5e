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
)

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
