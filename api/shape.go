package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"slices"
	"strings"
)

// The service's documents show one answer in full, {"item": {…}}, and describe
// another, {"meta": {…}, "items": […]}. What the other calls answer with was never
// seen. This file finds a record in an answer of any usual shape; lists are in
// shapelist.go. An answer that holds nothing usable is an error which names the
// keys that came.

// thing is a kind of record: how to know one, and where answers put it.
type thing struct {
	one, many string
	ids       []string // the identifier's field, then what else it may be called
	sure      int      // how many of ids tell a record wherever it stands
	wraps     []string // names of an object around one
	lists     []string // names of an array of them
	expected  []string // fields that every record is expected to have
}

var (
	operationThing = thing{"operation", "operations", []string{"opid"}, 1, []string{"operation", "general", "parent"}, []string{"operations", "operationList"}, operationLayout.names()}
	customerThing  = thing{"customer", "customers", []string{"cuid", "customerId", "id"}, 1, []string{"customer", "client"}, []string{"customers", "clients"}, []string{"cuid", "name", "type", "status"}}
	fileThing      = thing{"document", "documents", []string{"id", "guid", "documentId", "fileId", "uuid"}, 1, []string{"file", "document"}, []string{"files", "documents"}, []string{"id", "size"}}
	hooksThing     = thing{"webhook settings", "webhook settings", []string{"hookUrl", "enabled"}, 2, []string{"parameters", "hook", "settings"}, nil,
		[]string{"enabled", "hookUrl", "jwtSecret", "hookCustomer", "hookOperation", "hookDepositAccount", "hookCounterparty"}}
	accountThing      = thing{"account", "accounts", []string{"id", "suid", "accountId"}, 1, []string{"account"}, []string{"accounts"}, []string{"id", "customer", "isDefault", "name"}}
	counterpartyThing = thing{"counterparty", "counterparties", []string{"counterpartyId", "suid", "id"}, 1, []string{"counterparty"}, []string{"counterparties"},
		[]string{"counterpartyId", "description", "profile", "accounts"}}
	limitThing      = thing{"payment limit", "payment limits", []string{"id", "currencyIsoFrom"}, 2, nil, []string{"limits"}, []string{"id", "currencyIsoFrom"}}
	commissionThing = thing{"commission", "commissions", []string{"currencyIsoFrom", "id"}, 2, nil, []string{"commissions"}, []string{"currencyIsoFrom", "currencyIsoTo"}}
	userThing       = thing{"user", "users", []string{"uuid", "id"}, 1, []string{"user"}, []string{"users"}, []string{"uuid", "username", "is2fa"}}
	applyThing      = thing{"application", "applications", []string{"individual", "corporate"}, 2, []string{"application"}, nil, nil}
)

// around are the names of an object around any record or list, the likeliest first.
var around = []string{"item", "data", "result", "response", "payload", "content", "record", "object", "entity", "body", "value"}

const (
	maxNesting = 3 // objects around a record
	maxBeside  = 3 // keys of an object of any name around a record: with more it is a thing of its own
)

// holds reports whether m itself is a record, known by one of the first n names
// of its identifier.
func (t thing) holds(m fields, n int) bool {
	for _, id := range t.ids[:n] {
		if raw := string(m.get(id)); raw != "" && raw != "null" && raw != `""` {
			return true
		}
	}
	return false
}

// find looks for a record in raw and tells under which keys it stood, "" for raw
// itself.
func (t thing) find(raw json.RawMessage) (record json.RawMessage, at string, ok bool) {
	return t.within(raw, "", maxNesting)
}

func (t thing) within(raw json.RawMessage, at string, depth int) (json.RawMessage, string, bool) {
	if items, ok := array(raw); ok && len(items) == 1 {
		raw, at = items[0], at+"[0]"
	}
	m := object(raw)
	if m == nil {
		return nil, "", false
	}
	if t.holds(m, t.sure) {
		return raw, at, true
	}
	if depth > 0 {
		for _, name := range t.order(m) {
			if got, path, ok := t.within(m[name], under(at, name), depth-1); ok {
				return got, path, true
			}
		}
	}
	if t.holds(m, len(t.ids)) {
		return raw, at, true
	}
	return nil, "", false
}

// order is where to look for a record in m: the usual names, then the only object
// that there is, whatever it is called.
func (t thing) order(m fields) []string {
	var out, other []string
	for _, name := range slices.Concat(around[:1], t.wraps, around[1:]) {
		if m[name] != nil {
			out = append(out, name)
		}
	}
	for name, raw := range m {
		if !slices.Contains(out, name) && bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
			other = append(other, name)
		}
	}
	if len(other) == 1 && len(m) <= maxBeside && !slices.Contains(asides, strings.ToLower(other[0])) {
		out = append(out, other...)
	}
	return out
}

// asides are names of objects and arrays that never hold the records.
var asides = []string{"meta", "error", "errors", "warnings", "links", "_links", "pagination", "paging", "sort", "filters"}

func under(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// one finds the record in an answer to a read. An error that came with a good
// status is that error.
func (c *Client) one(r request, a answer, t thing) (json.RawMessage, error) {
	if err := a.json(r); err != nil {
		return nil, err
	}
	if raw, _, ok := t.find(a.body); ok {
		return raw, nil
	}
	if err := saidNo(r, a, t.one); err != nil {
		return nil, err
	}
	if !json.Valid(a.body) {
		return nil, notUnderstood(r, a, nil)
	}
	return nil, &Error{Op: r.op, Kind: Internal, Status: a.status, RequestID: a.id,
		Public: "The service's answer holds no " + t.one + ". It holds " + keysOf(a.body) + ".",
		Remedy: Remedy{Kind: CompareAnswers}}
}

// json tells whether the answer can be JSON: it says so, or it is JSON whatever it
// says. A byte order mark is dropped.
func (a *answer) json(r request) error {
	a.body = bytes.TrimPrefix(a.body, byteOrderMark)
	kind, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	start := bytes.TrimSpace(a.body)
	switch {
	case len(start) == 0:
		return &Error{Op: r.op, Kind: Internal, Status: a.status, RequestID: a.id,
			Public: fmt.Sprintf("The service answered with nothing (%d) instead of JSON.", a.status), Remedy: Remedy{Kind: ReportRequest}}
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		return nil
	case (start[0] == '{' || start[0] == '[') && json.Valid(start):
		return nil
	}
	return &Error{Op: r.op, Kind: Internal, Status: a.status, RequestID: a.id,
		Public: fmt.Sprintf("The service answered with %s instead of JSON.", orNothing(kind)),
		Remedy: Remedy{Kind: CheckBaseURL}}
}

func notUnderstood(r request, a answer, err error) error {
	return &Error{Op: r.op, Kind: Internal, Status: a.status, RequestID: a.id,
		Public: "The service's answer could not be understood.", Remedy: Remedy{Kind: ReportRequest},
		Err: errors.Join(fmt.Errorf("%d bytes", len(a.body)), err)}
}

// saidNo is the error that an answer tells with a good status: {"error": …}, or
// {"success": false, …}. nil when it tells none.
func saidNo(r request, a answer, wanted string) error {
	m := object(a.body)
	told := m["error"] != nil && !null(m["error"]) || m["errors"] != nil && !null(m["errors"])
	if raw, ok := m["success"]; ok {
		word, scalar := textual(raw)
		is, read := flagWord(word)
		told = told || scalar && read && !is
	}
	if !told {
		return nil
	}
	e := Classify(r.op, a.status, a.body)
	if e.RequestID = a.id; e.Rule != "" {
		return e
	}
	e.Kind, e.Public = Refused, "The service answered with an error instead of the "+wanted+"."
	e.quote(Said(a.body))
	return e
}

const maxKeys = 12 // named in an error

// keysOf names the keys of an answer with the kind of each value, never a value.
func keysOf(body json.RawMessage) string {
	if items, ok := array(body); ok {
		return fmt.Sprintf("an array of %d", len(items))
	}
	m := object(body)
	if m == nil {
		return kindOf(body)
	}
	if len(m) == 0 {
		return "an empty object"
	}
	names := slices.Sorted(maps.Keys(m))
	var out []string
	for _, n := range names[:min(len(names), maxKeys)] {
		out = append(out, "“"+safeLine(n, 40)+"” ("+kindOf(m[n])+")")
	}
	if more := len(names) - maxKeys; more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return strings.Join(out, ", ")
}

// kindOf names the kind of a JSON value.
func kindOf(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "text"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "number"
}
