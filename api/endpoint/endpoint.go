// Package endpoint declares the calls of the service: each is one typed value, which holds everything that is known
// of it. A caller passes the value to Do:
//
//	op, err := endpoint.Do(ctx, caller, endpoint.GetOperation, opid)
//
// The values determine the requests, the permissions, the proof of each write, what is masked, what scripts may
// borrow, and the tests that range over All. One file for each kind of object declares its calls;
// docs/contributing.md says how.
package endpoint

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"opdeck/api"
	"opdeck/api/jsontree"
	"opdeck/api/limit"
	"opdeck/api/session"
	"opdeck/api/untrusted"
)

// Endpoint is one call of the service, from its argument to what it returns.
type Endpoint[In, Out any] struct {
	*Route
	do func(ctx context.Context, w *Wire, in In) (Out, error)
}

// Route is a call without its Go types.
type Route struct {
	Kind   api.ActKind // "document.remove", the act's name
	Op     string      // for people: "remove document"
	Method string      // "": it has no path of its own and makes other calls
	Path   string      // "/v2/billing/operation/{opid}/document/{guid}"; params has the names
	Class  limit.Class
	Need   api.Permission
	Query  []Query // the allowed names; scripts that use any other are refused
	Masked Masking
	// Open: the service may answer without a session, so that the answer says nothing about the session.
	Open  bool
	Lent  Lending
	Write *Write // nil for a read
	// Foreign: only scripts make this call, not opdeck; openapi.yaml does not have it.
	Foreign bool

	shown func(context.Context, *Wire, api.Request, api.Answer) // gets answers that are passed on unchanged
}

// Query is a query parameter.
type Query struct {
	Name string
	Need api.Permission // the permission to use it; "": none needed
}

// Masking says how a result is masked. The zero value masks by member names, in any type.
type Masking struct {
	// Only: the result cannot be masked, so that only a role with all of these permissions gets it.
	Only []api.Permission
	// Note returns the audit record that is written before such a result is read; in is the call's argument or a Raw.
	Note func(in any) api.Event
}

// Lending says whether and how scripts may make the call. The zero value: they may not.
type Lending struct {
	Reads bool // its answer is passed on unchanged, except for masking
	// Write makes the call from the body of a script's request and returns what the service would have answered.
	Write   func(ctx context.Context, c Caller, ids []string, body Content) (json.RawMessage, error)
	MaxBody int64  // in bytes, of Write
	Instead string // what to do instead of a call that is refused
}

// IsLent reports whether scripts may make the call.
func (r *Route) IsLent() bool { return r.Lent.Reads || r.Lent.Write != nil }

// Write describes a call that changes something at the service, or an act on the session: its name for people, its
// rule and how a later read finds its proof (docs/outcomes.md). A test tries each proof against answers that prove
// nothing.
type Write struct {
	Number string // of its event in the audit trail; never reused
	Doing  string // names it for people while its outcome is unknown: "Removing"
	api.WriteRule
	// Look reads the object once; nil: no read can show the outcome.
	Look func(ctx context.Context, w *Wire, p api.Probe) (api.Observation, error)
	// Readable reports whether Look can find the proof of p; nil: always.
	Readable func(p api.Probe) bool
}

// readable reports whether a read can prove the write of p.
func (w Write) readable(p api.Probe) bool {
	return w.Look != nil && (w.Readable == nil || w.Readable(p))
}

// Caller makes calls: the wire, the masking client, and test doubles.
type Caller interface {
	// Call makes the call of r. Its result has the Out type of r's endpoint.
	Call(ctx context.Context, r Request) (any, error)
}

// Request is one call with its argument, as passed to a Caller.
type Request struct {
	*Route
	In  any
	run func(ctx context.Context, w *Wire) (any, error)
}

// Do makes a call with c.
func Do[In, Out any](ctx context.Context, c Caller, e Endpoint[In, Out], in In) (Out, error) {
	got, err := c.Call(ctx, Request{Route: e.Route, In: in, run: func(ctx context.Context, w *Wire) (any,
		error) {
		return e.do(ctx, w, in)
	}})
	out, ok := got.(Out)
	if !ok && err == nil {
		panic(fmt.Sprintf("endpoint: %s returned a %T, not a %T", e.Kind, got, out))
	}
	return out, err
}

// Writes reports whether the call changes something at the service.
func (r *Route) Writes() bool { return r.Write != nil && r.Method != "" && !r.TouchesSession() }

// TouchesSession reports whether the act only concerns our own session and so needs no approval.
func (r *Route) TouchesSession() bool { return r.Need == api.MaySession }

// Template is the path with {} for its parameters, for logs.
func (r *Route) Template() string {
	var out strings.Builder
	for i, part := range strings.Split(r.Path, "{") {
		if i > 0 {
			out.WriteString("{")
			_, part, _ = strings.Cut(part, "}")
			out.WriteString("}")
		}
		out.WriteString(part)
	}
	return out.String()
}

// parameters returns the names of the path's parameters in order.
func (r *Route) parameters() (out []string) {
	for _, part := range strings.Split(r.Path, "{")[1:] {
		name, _, _ := strings.Cut(part, "}")
		out = append(out, name)
	}
	return out
}

// params names the parameters of paths for people.
var params = map[string]string{"opid": "operation id", "guid": "document id", "cuid": "customer id", "file": "file id",
	"account": "account id", "counterparty": "counterparty id", "id": "id"}

// request is the call with ids in its path; it fails if one is not a valid path segment.
func (r *Route) request(ids ...string) (api.Request, error) {
	path := r.Path
	names := r.parameters()
	if len(ids) != len(names) {
		panic(fmt.Sprintf("endpoint: %s has %d parameters and got %d", r.Kind, len(names), len(ids)))
	}
	for i, name := range names {
		if err := api.CheckID(params[name], ids[i]); err != nil {
			return api.Request{}, err
		}
		path = strings.Replace(path, "{"+name+"}", api.EscapeID(ids[i]), 1)
	}
	return api.Request{Op: r.Op, Method: r.Method, Path: path, Route: r.Template(), Class: r.Class,
		Open: r.Open}, nil
}

// table lists every call, file by file, in the order of the service's documents. A literal path comes before one with
// a parameter, because the first match wins.
var table = slices.Concat(sessionCalls, operationCalls, documentCalls, tariffCalls,
	[]*Route{GetReport.Route, UploadDocument.Route}, customerCalls, fileCalls, complianceCalls,
	[]*Route{ListAccounts.Route, GetAccount.Route}, counterpartyCalls, []*Route{ListUsers.Route}, hookCalls)

// All lists every call of the service and the acts on the session.
func All() []*Route { return slices.Clone(table) }

// Of returns the call or session act of a kind; nil for none.
func Of(kind api.ActKind) *Route {
	for _, r := range table {
		if r.Kind == kind {
			return r
		}
	}
	return nil
}

// Writes lists the calls that change something at the service and the acts on the session, by their number in the
// audit trail.
func Writes() []*Route {
	out := slices.DeleteFunc(All(), func(r *Route) bool { return r.Write == nil })
	slices.SortFunc(out, func(a, b *Route) int { return strings.Compare(a.Write.Number, b.Write.Number) })
	return out
}

// Doing names a write for people while its outcome is unknown: "Removing"; the kind itself if it has no such word.
func Doing(kind api.ActKind) string {
	if r := Of(kind); r != nil && r.Write != nil {
		return cmp.Or(r.Write.Doing, string(kind))
	}
	return string(kind)
}

// Number is the stable number of a write's event in the audit trail; "" for an unknown kind.
func Number(kind api.ActKind) string {
	if r := Of(kind); r != nil && r.Write != nil {
		return r.Write.Number
	}
	return ""
}

// Rule returns the gate's rule for a kind of write; the zero value, which the gate refuses, for an undeclared one.
func Rule(kind api.ActKind) api.WriteRule {
	if r := Of(kind); r != nil && r.Write != nil {
		return r.Write.WriteRule
	}
	return api.WriteRule{}
}

// Match finds the call of a method and an escaped path, with the ids in the path; nil if there is none. others are
// the methods of other calls on that path.
func Match(method, path string) (r *Route, ids, others []string) {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for _, r := range table {
		ids, ok := r.fits(segments)
		switch {
		case !ok || r.Path == "":
		case r.Method == method:
			return r, ids, nil
		case !slices.Contains(others, r.Method):
			others = append(others, r.Method)
		}
	}
	return nil, nil, others
}

// fits matches the route's path against the segments of another.
func (r *Route) fits(segments []string) (ids []string, ok bool) {
	want := strings.Split(strings.TrimPrefix(r.Path, "/"), "/")
	if len(want) != len(segments) {
		return nil, false
	}
	for i, w := range want {
		switch {
		case strings.HasPrefix(w, "{"):
			id, err := url.PathUnescape(segments[i])
			if err != nil || api.CheckID("id", id) != nil {
				return nil, false
			}
			ids = append(ids, id)
		case w != segments[i]:
			return nil, false
		}
	}
	return ids, true
}

// ClassOf returns the budget class of a path, with ids or as a template: the class of the calls that share the
// longest prefix with it; General if they differ, or share only the version.
func ClassOf(path string) limit.Class {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	best, class := 1, limit.General
	for _, r := range table {
		n := common(segments, strings.Split(strings.TrimPrefix(r.Path, "/"), "/"))
		switch {
		case n > best:
			best, class = n, r.Class
		case n == best && best > 1 && r.Class != class:
			class = limit.General
		}
	}
	return class
}

// common counts the equal words at the start of two paths.
func common(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// leavesOf returns digests of the values of a JSON document with their paths. Paths omit the object application, since
// the service documents it for one direction only.
func leavesOf(v jsontree.Value, path, salt string) []string {
	var out []string
	if strings.Count(path, ".") > 64 {
		return nil // no application is nested that deep
	}
	for _, m := range v.Sorted() {
		at := path + "." + m.Name
		if m.Name == "application" {
			at = path
		}
		out = append(out, leavesOf(m.Value, at, salt)...)
	}
	if v.Kind() == jsontree.Array {
		i := 0
		for _, it := range v.Members() {
			out = append(out, leavesOf(it, path+"."+strconv.Itoa(i), salt)...)
			i++
		}
	}
	if s, ok := v.Scalar(); ok && s != "" {
		out = append(out, leaf(salt, path, s))
	}
	slices.Sort(out)
	return out
}

// holds reports whether the application in body has everything that was sent.
func holds(p api.Probe, body api.Object) bool {
	v, ok := api.ApplicationRecord.Find(body.Value)
	if !ok {
		v = body.Value
	}
	return within(p.Leaves, leavesOf(v, "", p.Salt))
}

// within reports whether there has all digests of sent; false if sent is empty.
func within(sent, there []string) bool {
	for _, l := range sent {
		if !slices.Contains(there, l) {
			return false
		}
	}
	return len(sent) > 0
}

// leaf is the digest of one value at its path.
func leaf(salt, path, value string) string {
	return api.HashHex([]byte(salt + "\x00" + path + "\x00" + value))[:32]
}

// Content is the body of a script's request.
type Content struct {
	Type  string // the request's Content-Type
	Bytes []byte
	// ShareField is the configured name of the member with the share token.
	ShareField string
}

// Bounds of a body, in bytes.
const (
	MaxJSON       = 1 << 20
	maxUploadForm = api.MaxUpload + 64<<10 // including the form around the file
)

func wrong(what string, err error) error {
	return &api.Error{Kind: api.Usage, Public: what, Unsent: true, Err: err}
}

// nothing returns an error if there is a body.
func (c Content) nothing() error {
	if len(c.Bytes) > 0 {
		return wrong("This call takes no body.", nil)
	}
	return nil
}

// json reads one JSON value. It refuses a name without a field in v, which would be lost silently.
func (c Content) json(v any) error {
	if kind, _, err := mime.ParseMediaType(c.Type); c.Type != "" && (err != nil || kind != "application/json" &&
		kind != "application/x-www-form-urlencoded") {
		return wrong("The body must be JSON (Content-Type: application/json).", err)
	}
	d := json.NewDecoder(bytes.NewReader(c.Bytes))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return wrong("The body is not the JSON that this call expects: "+untrusted.Text(err.Error()).Line(200)+".", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return wrong("The body contains more than one JSON value.", err)
	}
	return nil
}

// formNames are the fields of an upload.
const formNames = "customerId, type, info and attach"

// upload parses an upload form: customerId, type, info, and the file in attach.
func (c Content) upload() (api.Upload, error) {
	kind, params, err := mime.ParseMediaType(c.Type)
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return api.Upload{}, wrong("The body must be a form with a file (Content-Type: multipart/form-data).", err)
	}
	var u api.Upload
	seen := map[string]bool{}
	form := multipart.NewReader(bytes.NewReader(c.Bytes), params["boundary"])
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return u, wrong("The upload form cannot be read.", err)
		}
		b, err := io.ReadAll(part)
		if err != nil {
			return u, wrong("The upload form cannot be read.", err)
		}
		name := part.FormName()
		if seen[name] {
			return u, wrong("The form repeats a field.", nil)
		}
		seen[name] = true
		switch name {
		case "customerId":
			u.CUID = string(b)
		case "type":
			u.Type = string(b)
		case "info":
			u.Info = string(b)
		case "attach":
			u.Content, u.FileName = b, path.Base(strings.ReplaceAll(part.FileName(), `\`, "/"))
		default:
			return u, wrong("The form has an unknown field. An upload has "+formNames+".", nil)
		}
	}
	if !seen["attach"] || !seen["customerId"] {
		return u, wrong("The form has no customerId or no attach.", nil)
	}
	return u, nil
}

// sentOr returns the write's own answer, or v as JSON if only a read proved the write.
func sentOr(raw json.RawMessage, v any) (json.RawMessage, error) {
	if len(raw) > 0 {
		return raw, nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, &api.Error{Kind: api.Internal, Public: "The answer cannot be written as JSON.", Err: err}
	}
	return b, nil
}

func resultAnswer(r api.Result) (json.RawMessage, error) { return sentOr(r.Raw, r) }

func text(s string) untrusted.Text { return untrusted.Text(s) }

func safe(s string) string { return text(s).Line(80) }

// Raw is a read whose answer is passed on unchanged, for callers that use the service's own paths.
type Raw struct {
	Route *Route // one that scripts may read; Match finds it
	IDs   []string
	Query url.Values
}

// GetRaw makes a read (one call of the route's class) and returns its answer, also if the service refuses. It refuses
// a query name that the route does not declare or the role may not use. When Body is closed after its end, the
// observers get the operations in it.
var GetRaw = composed(Route{Kind: "raw", Op: "read"}, func(ctx context.Context, w *Wire, in Raw) (*api.Relayed, error) {
	if err := in.Route.Asks(ctx, in.Query, w.client.Service().Paging); err != nil {
		return nil, err
	}
	r, err := in.Route.request(in.IDs...)
	if err != nil {
		return nil, err
	}
	r.Query = in.Query
	if see := in.Route.shown; see != nil {
		r.Shown = func(ctx context.Context, r api.Request, a api.Answer) { see(ctx, w, r, a) }
	}
	return w.client.Stream(ctx, r)
})

// queryValues alternates names and values; pairs with an empty value are omitted.
type queryValues []string

// paged returns the query parameters of a list: its filters and the paging.
func paged(filters ...Query) []Query {
	return append(filters, Query{Name: api.PageName}, Query{Name: api.SizeName})
}

// asked returns query parameters that need no permission.
func asked(names ...string) (out []Query) {
	for _, n := range names {
		out = append(out, Query{Name: n})
	}
	return out
}

// page builds the query for a page from 0 (size 0: as configured) with filters.
func page(s api.Service, page, size int, filters ...string) queryValues {
	return append(queryValues{api.PageName, strconv.Itoa(page), api.SizeName, strconv.Itoa(cmp.Or(size, s.PageSize))},
		filters...)
}

// values builds a query of declared names.
func (r *Route) values(pairs queryValues) url.Values {
	v := url.Values{}
	for pair := range slices.Chunk(pairs, 2) {
		if !slices.ContainsFunc(r.Query, func(q Query) bool { return q.Name == pair[0] }) {
			panic(fmt.Sprintf("endpoint: %s does not declare the query name %q", r.Kind, pair[0]))
		}
		if pair[1] != "" {
			v.Set(pair[0], pair[1])
		}
	}
	return v
}

// Asks returns a refusal if the query has a name that is neither declared nor, on a list, one of p, or that the
// person in ctx may not use.
func (r *Route) Asks(ctx context.Context, v url.Values, p api.Paging) *api.Error {
	for name := range v {
		i := slices.IndexFunc(r.Query, func(q Query) bool { return q.Name == name })
		if i < 0 && r.isPaged() && slices.Contains(p.Names(), name) {
			continue
		}
		if i < 0 {
			return &api.Error{Op: r.Op, Kind: api.Refused, Unsent: true, Field: name,
				Public: "This call does not take the query parameter " + safe(name) + ". " + r.takes()}
		}
		if role := api.ActorOf(ctx).Role; r.Query[i].Need != "" && !role.May(r.Query[i].Need) {
			e := api.LacksPermission(r.Op, role, r.Query[i].Need)
			e.Unsent, e.Field = true, name
			return e
		}
	}
	return nil
}

func (r *Route) isPaged() bool {
	return slices.ContainsFunc(r.Query, func(q Query) bool { return q.Name == api.PageName })
}

func (r *Route) takes() string {
	var names []string
	for _, q := range r.Query {
		names = append(names, q.Name)
	}
	if len(names) == 0 {
		return "It takes none."
	}
	return "It takes " + strings.Join(names, ", ") + "."
}

// probed are cheap reads from different budgets that need a session and no id.
var probed = []*Route{ListAccounts.Route, ListCustomers.Route, ListOperations.Route}

// Probes returns reads that show whether the service accepts a token that another route refused. Each reads one
// record of a list.
func (w *Wire) Probes() []session.Probe {
	out := make([]session.Probe, 0, len(probed))
	for _, route := range probed {
		r, err := route.request()
		if err != nil { // not possible: they have no ids
			continue
		}
		r.Op, r.Query = "check the session", route.values(page(w.client.Service(), 0, 1))
		send := func(ctx context.Context, a session.Access) (int, http.Header, error) {
			return w.client.Probe(ctx, r, a.Token)
		}
		out = append(out, session.Probe{Route: r.SessionRoute(), Send: send})
	}
	return out
}
