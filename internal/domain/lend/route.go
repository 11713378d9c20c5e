package lend

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"opdeck/api"
	"opdeck/internal/act"
)

// Route is a path of the service that a borrower may call.
type Route struct {
	Method string
	Path   string         // template: ids are {}
	Act    string         // row of the table of acts; "" for a read that none of ours makes
	Need   api.Permission // of a read without an act
	write  writer         // nil: a read, which passes as it is
}

// Writes reports whether the route changes something at the service.
func (r Route) Writes() bool { return r.write != nil }

// Op names the call for people.
func (r Route) Op() string {
	if r.Act != "" {
		return strings.ReplaceAll(r.Act, ".", " ")
	}
	return "read " + strings.TrimPrefix(strings.ReplaceAll(r.Path, "/{}", ""), "/v2/")
}

// Refusal says why a role may not call the route in a context that is read-only or
// not; nil: it may. The gate looks again at writes.
func (r Route) Refusal(role api.Role, readOnly bool) *api.Error {
	row := &act.Act{Name: r.Op(), Need: r.Need}
	if r.Act != "" {
		row = act.Find(r.Act)
	}
	return row.Refusal(role, readOnly)
}

// routes are what passes. Words stand before ids, so that the first match is the one.
var routes = []Route{
	{Method: "GET", Path: "/v2/billing/operation", Act: "operation.list"},
	{Method: "GET", Path: "/v2/billing/operation/{}", Act: "operation.get"},
	{Method: "GET", Path: "/v2/billing/operation/{}/tree", Act: "operation.tree"},
	{Method: "POST", Path: "/v2/billing/operation/{}/document", Act: "document.attach", write: attach},
	{Method: "DELETE", Path: "/v2/billing/operation/{}/document/{}", Act: "document.remove", write: remove},
	{Method: "GET", Path: "/v2/billing/commission", Need: api.MayRead},
	{Method: "GET", Path: "/v2/billing/commission/account", Need: api.MayRead},
	{Method: "GET", Path: "/v2/billing/limits", Need: api.MayRead},
	{Method: "GET", Path: "/v2/report/operations", Need: api.MayExport},

	{Method: "GET", Path: "/v2/customer", Act: "customer.list"},
	{Method: "POST", Path: "/v2/customer/file", Act: "document.upload", write: upload},
	{Method: "GET", Path: "/v2/customer/{}", Act: "customer.get"},
	{Method: "GET", Path: "/v2/customer/{}/application", Act: "customer.application"},
	{Method: "POST", Path: "/v2/customer/{}/application", Act: "customer.set-application", write: setApplication},
	{Method: "PATCH", Path: "/v2/customer/{}/application", Act: "compliance.finalize", write: finalize},
	{Method: "GET", Path: "/v2/customer/{}/file", Act: "customer.files"},
	{Method: "GET", Path: "/v2/customer/{}/file/{}", Act: "document.download"},
	{Method: "DELETE", Path: "/v2/customer/{}/file/{}", Act: "customer.delete-file", write: deleteFile},
	{Method: "POST", Path: "/v2/compliance/{}/share", Act: "compliance.share", write: share},
	{Method: "GET", Path: "/v2/compliance/{}/web_sdk_link", Act: "compliance.link", write: link},

	{Method: "GET", Path: "/v2/account", Need: api.MayRead},
	{Method: "GET", Path: "/v2/account/{}", Need: api.MayRead},
	{Method: "GET", Path: "/v2/counterparty", Need: api.MayRead},
	{Method: "GET", Path: "/v2/counterparty/account", Need: api.MayRead},
	{Method: "GET", Path: "/v2/counterparty/account/{}", Need: api.MayRead},
	{Method: "GET", Path: "/v2/counterparty/{}", Need: api.MayRead},

	{Method: "POST", Path: "/v2/hook/set", Act: "hook.set", write: setHooks},
}

// Routes lists what passes.
func Routes() []Route { return slices.Clone(routes) }

// Call is a request as it was understood.
type Call struct {
	Route
	IDs   []string
	Parts []string // for api.Relay
	Query url.Values
}

// ourOwn are paths that opdeck keeps to itself, with what to do instead.
var ourOwn = []struct{ prefix, instead string }{
	{"/v2/auth/login", "Leave the login out: opdeck holds the one session of this account and adds the token to every call. A login here would end the session of everybody."},
	{"/v2/auth/refresh", "Leave the refresh out: opdeck renews the token by itself before it ends. A refresh here would end the session of everybody."},
	{"/v2/auth", "Leave it out: opdeck begins, renews and ends the session by itself, and whoever else did would end it for everybody."},
	{"/v2/hook/get", "The answer holds the secret that webhooks are signed with. opdeck hook get shows the settings without it."},
}

// Match reads the target of a request: uri as it stood in the request line. A refusal
// says what to do instead.
func Match(method, uri string) (Call, *Refusal) {
	path, query, _ := strings.Cut(uri, "?")
	if bad := checkTarget(path, query); bad != nil {
		return Call{}, bad
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return Call{}, refuse(http.StatusBadRequest, api.Usage, "The query of the address cannot be read.", "Write it as name=value, joined by &, with other characters as %XX.")
	}
	for _, own := range ourOwn {
		if path == own.prefix || strings.HasPrefix(path, own.prefix+"/") {
			return Call{}, refuse(http.StatusForbidden, api.Refused, "opdeck does not lend "+own.prefix+".", own.instead)
		}
	}
	segments := strings.Split(path[1:], "/")
	var others []string
	for _, r := range routes {
		ids, ok := fit(r.Path, segments)
		switch {
		case !ok:
		case r.Method == method:
			return Call{Route: r, IDs: ids, Parts: parts(r.Path, ids), Query: values}, nil
		case !slices.Contains(others, r.Method):
			others = append(others, r.Method)
		}
	}
	if len(others) > 0 {
		r := refuse(http.StatusMethodNotAllowed, api.Refused, method+" of this path is not in opdeck's table of acts, so it is not sent.",
			"docs/lending.md lists what passes; for this path "+strings.Join(others, ", ")+".")
		r.Allow = strings.Join(others, ", ")
		return Call{}, r
	}
	return Call{}, refuse(http.StatusForbidden, api.Refused, fmt.Sprintf("opdeck does not lend this path (%s).", method), "docs/lending.md lists what passes.")
}

// checkTarget refuses what a plain path is not: another host's address, escapes, dots
// and empty segments, which two programs may read in two ways.
func checkTarget(path, query string) *Refusal {
	bad := func(what, instead string) *Refusal {
		return refuse(http.StatusBadRequest, api.Usage, what, instead)
	}
	switch {
	case !strings.HasPrefix(path, "/"):
		return bad("The request names no path of the service.", "Send the path alone, like GET /v2/billing/operation; opdeck is not a proxy to other hosts.")
	case len(path) > 512 || len(query) > 4096:
		return bad("The address is too long.", "A path has up to 512 characters, a query up to 4,096.")
	case strings.ContainsAny(path, "%\\;#") || strings.ContainsFunc(path+query, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return bad("The path holds characters that no path of the service has.", "Ids are letters, digits, - and _; they need no escape.")
	}
	for s := range strings.SplitSeq(path[1:], "/") {
		if s == "" || s == "." || s == ".." {
			return bad("The path has an empty part, or dots for one.", "Write it as the service's documents do, without a slash at the end.")
		}
	}
	return nil
}

// fit compares a template with the segments of a path.
func fit(template string, segments []string) (ids []string, ok bool) {
	want := strings.Split(template[1:], "/")
	if len(want) != len(segments) {
		return nil, false
	}
	for i, w := range want {
		switch {
		case w == "{}" && api.CheckID("id", segments[i]) == nil:
			ids = append(ids, segments[i])
		case w != segments[i]:
			return nil, false
		}
	}
	return ids, true
}

// parts writes a template as package api takes it.
func parts(template string, ids []string) []string {
	var out []string
	for i, word := range strings.Split(template, "/{}") {
		if i > 0 {
			out = append(out, ":"+ids[i-1])
		}
		if word != "" {
			out = append(out, word)
		}
	}
	return out
}
