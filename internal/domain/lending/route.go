package lending

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/session"
	"opdeck/internal/act"
)

// Call is a parsed request: a call of the service that scripts may make. Package endpoint declares these calls with
// their query names and bodies; anything else is refused.
type Call struct {
	*endpoint.Route
	IDs   []string
	Query url.Values
}

// Op names the call for people; "" if it was not recognised.
func (c Call) Op() string {
	if c.Route == nil {
		return ""
	}
	return c.Route.Op
}

// Writes reports whether the call changes something at the service.
func (c Call) Writes() bool { return c.Route != nil && c.Route.Writes() }

// Write does the write of the call and returns the answer that the service would have given.
func (c Call) Write(ctx context.Context, client endpoint.Caller, body endpoint.Content) (json.RawMessage, error) {
	return c.Lent.Write(ctx, client, c.IDs, body)
}

// Refusal is why a role may not make the call, in a read-only context or not; nil if it may. For writes the gate
// checks again.
func (c Call) Refusal(role api.Role, readOnly bool) *api.Error {
	row := act.Of(c.Kind)
	if row == nil {
		row = &act.Act{Name: c.Route.Op, Need: c.Need}
	}
	return row.Refusal(role, readOnly)
}

// Match parses the method and target of a request; uri is from the request line. A refusal says what to do instead.
func Match(method, uri string) (Call, *Refusal) {
	path, query, _ := strings.Cut(uri, "?")
	if bad := checkTarget(path, query); bad != nil {
		return Call{}, bad
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return Call{}, refuse(http.StatusBadRequest, api.Usage, "The query string cannot be read.",
			"Write it as name=value, joined by &, with other characters as %XX.")
	}
	const table = "docs/lending.md lists what passes"
	const auth = "Leave it out: opdeck starts, refreshes and ends the session by itself. Another client that does so " +
		"ends the session for everyone."
	route, ids, others := endpoint.Match(method, path)
	switch {
	case route != nil && route.IsLent():
		return Call{Route: route, IDs: ids, Query: values}, nil
	case route != nil && route.Lent.Instead != "":
		return Call{}, refuse(http.StatusForbidden, api.Refused, "opdeck does not lend "+path+".", route.Lent.Instead)
	case len(others) > 0:
		r := refuse(http.StatusMethodNotAllowed, api.Refused,
			method+" is not a call that opdeck knows for this path, so it was not sent.",
			table+"; this path takes "+strings.Join(others, ", ")+".")
		r.Allow = strings.Join(others, ", ")
		return Call{}, r
	case strings.HasPrefix(path, session.AuthPath):
		return Call{}, refuse(http.StatusForbidden, api.Refused, "opdeck does not lend "+path+".", auth)
	}
	return Call{}, refuse(http.StatusForbidden, api.Refused, fmt.Sprintf("opdeck does not lend this path (%s).", method),
		table+".")
}

const maxPath = 4096 // bytes

// checkTarget refuses anything but a plain path: another host's address, dots and empty segments, which programs may
// interpret differently.
func checkTarget(path, query string) *Refusal {
	bad := func(what, instead string) *Refusal {
		return refuse(http.StatusBadRequest, api.Usage, what, instead)
	}
	switch {
	case !strings.HasPrefix(path, "/"):
		return bad("The request names no path of the service.",
			"Send the path alone, like GET /v2/billing/operation; opdeck is not a proxy to other hosts.")
	case len(path) > maxPath || len(query) > 4096:
		return bad("The address is too long.", "A path has up to 4,096 characters, as has a query.")
	case strings.ContainsAny(path, "\\;#") ||
		strings.ContainsFunc(path+query, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return bad("The path contains characters that no path of the service has.",
			"In an id such characters are escaped, as in a%20b.")
	}
	for s := range strings.SplitSeq(path[1:], "/") {
		plain, err := url.PathUnescape(s)
		if err != nil || plain == "" || plain == "." || plain == ".." {
			return bad("The path has an empty part, or dots for one.",
				"Write it as the service's documents do, without a slash at the end.")
		}
	}
	return nil
}
