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
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"opdeck/api"
	"opdeck/api/limit"
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
	// OwnToken: the request or its answer carries a second token, which the service's words may be about.
	OwnToken bool
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

// Write describes a call that changes something at the service, or an act on the session.
type Write struct {
	Number string // of its event in the audit trail; never reused
	Doing  string // names it for people while its outcome is unknown: "Removing"
	// Opposite is the write that undoes this one on the same object and item; "": none. While either is in doubt,
	// neither is sent: a read could show the effect of the other.
	Opposite api.ActKind
	Rule     api.WriteRule
	Proof    Proof
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
	return api.Request{Op: r.Op, Method: r.Method, Path: path, Route: r.Template(), Class: r.Class, OwnToken: r.OwnToken,
		Open: r.Open}, nil
}
