package endpoint

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"opdeck/api"
	"opdeck/api/limit"
)

// table is every call: each file's calls are in it together, in the order of the
// service's documents. Words are before parameters, so that the first match is the one.
var table = slices.Concat(sessionCalls, operationCalls, documentCalls, tariffCalls,
	[]*Route{GetReport.Route, UploadDocument.Route}, customerCalls, fileCalls, complianceCalls,
	[]*Route{ListAccounts.Route, GetAccount.Route}, counterpartyCalls, []*Route{ListUsers.Route}, hookCalls)

// All lists every call of the service, and the acts on the session.
func All() []*Route { return slices.Clone(table) }

// Of is the call, or the act on the session, of a kind; nil for none.
func Of(kind api.ActKind) *Route {
	for _, r := range table {
		if r.Kind == kind {
			return r
		}
	}
	return nil
}

// Writes lists what changes something at the service, and the acts on the session, in the
// order of their numbers in the audit trail.
func Writes() []*Route {
	out := slices.DeleteFunc(All(), func(r *Route) bool { return r.Write == nil })
	slices.SortFunc(out, func(a, b *Route) int { return strings.Compare(a.Write.Number, b.Write.Number) })
	return out
}

// Doing names a write for people while its outcome is not known: "Removing"; the kind
// itself for one without a word.
func Doing(kind api.ActKind) string {
	if r := Of(kind); r != nil && r.Write != nil {
		return cmp.Or(r.Write.Doing, string(kind))
	}
	return string(kind)
}

// Number is the stable number of a write's event in the audit trail; "" for an unknown one.
func Number(kind api.ActKind) string {
	if r := Of(kind); r != nil && r.Write != nil {
		return r.Write.Number
	}
	return ""
}

// Rule is what the gate knows of a kind of write; the zero value, which it refuses, for one that is not declared.
func Rule(kind api.ActKind) api.WriteRule {
	if r := Of(kind); r != nil && r.Write != nil {
		return r.Write.Rule
	}
	return api.WriteRule{}
}

// Match finds the call of a method and an escaped path, with the ids of the path; nil when none
// has them. others are the methods of calls that have the path.
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

// fits compares the route's path with the segments of another.
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

// ClassOf is the class of a path, with ids or as a template: that of the calls which begin
// with the most of its words; General where they differ, or begin with the version alone.
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

// common is how many words two paths begin with alike.
func common(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
