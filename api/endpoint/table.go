package endpoint

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"opdeck/api"
	"opdeck/api/limit"
)

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
		return r.Write.Rule
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
