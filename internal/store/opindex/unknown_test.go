package opindex_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/store"
	"opdeck/internal/store/opindex"
	"opdeck/internal/store/storetest"
)

// truth is false, unknown or true, in the order of Kleene's logic.
type truth int

const (
	isFalse truth = iota
	isUnknown
	isTrue
)

// members are texts of JSON that a member may have, by its meaning; "" omits the member.
var members = map[string]map[string][]string{
	"documents": {"?": {"", "null", `"x"`, "[null]"}, "none": {"[]"}, "one": {`[{"guid":"gq","isLock":false}]`},
		"untold": {`[{"guid":"gq"}]`, `[{"guid":"gq","isLock":"true"}]`, `[{"guid":"gq","isLock":null}]`, `[{"guid":"gq","isLock":true,"isLock":false}]`,
			`[{"guid":"gq","isLock":false},{"guid":"h","locked":true}]`}, "locked": {`[{"guid":"h","isLock":true}]`, `[{"guid":"h","isLock":true},{"guid":"h2"}]`}},
	"isVisible": {"?": {"", "null", `""`, `"maybe"`, "{}", "0", `"no"`, `"true"`}, "no": {"false"}, "yes": {"true"}},
	"isParent":  {"?": {"", "null", `[]`}, "no": {"false"}, "yes": {"true"}},
	"sourceAmount": {"?": {"", "null", `{"sum":null}`, `{"sum":{"currencyCode":"EUR","value":5}}`, `{"sum":{"currencyCode":"EUR","units":"12x","nanos":0}}`,
		`{"sum":{"currencyCode":"EUR","units":"5"}}`, `{"sum":{"currencyCode":"EUR","units":"791920","nanos":0,"scale":2}}`, `{"sum":{"currencyCode":"EUR","Units":"5","units":"6","nanos":0}}`},
		"0": {`{"sum":{"currencyCode":"EUR","units":"0","nanos":0}}`}, "5": {`{"sum":{"currencyCode":"EUR","units":"5","nanos":0}}`}},
	"createdAt": {"?": {"", "null", `"soon"`, `""`, "1609459200000"}, "old": {`"2021-01-01T00:00:00Z"`}, "new": {`"2026-06-29T02:26:40Z"`}},
	"status":    {"?": {"", "null", `""`}, "NEW": {`"NEW"`}, "SUCCESS": {`"SUCCESS"`}},
	"comment":   {"?": {"", "null"}, "": {`""`}, "rush": {`"rush"`}},
	"customer":  {"?": {"", "null", "{}", `{"cuid":"nobody"}`, `{"cuid":"nobody","name":""}`}, "a": {`{"cuid":"c1","name":"Ahrend"}`}, "b": {`{"cuid":"c2","name":"Brume"}`, `{"cuid":"c2"}`}},
	"destination": {"?": {"", "{}", `{"counterpartyAccount":{"id":"nobody"}}`},
		"a": {`{"counterpartyAccount":{"id":"k1","name":"Ahrend"}}`, `{"counterpartyAccount":{"id":"k1","name":""}}`}, "b": {`{"account":{"id":"k1","customer":{"name":"Brume"}}}`}},
}

// term is a term of the test: what it is for a row, from the meaning of one member.
type term struct {
	text, member string
	holds        []string // the meanings for which it is true
	open         []string // the meanings beside "?" for which it is not known
}

var terms = []term{
	{text: "documents>0", member: "documents", holds: []string{"one", "untold", "locked"}}, {text: "documents:0", member: "documents", holds: []string{"none"}},
	{text: "has:doc", member: "documents", holds: []string{"one", "untold", "locked"}},
	{text: "is:locked", member: "documents", holds: []string{"locked"}, open: []string{"untold"}},
	{text: "doc:gq", member: "documents", holds: []string{"one", "untold"}}, {text: "doc=gq", member: "documents", holds: []string{"one", "untold"}},
	{text: "has:visible", member: "isVisible", holds: []string{"yes"}}, {text: "has:hidden", member: "isVisible", holds: []string{"no"}},
	{text: "is:parent", member: "isParent", holds: []string{"yes"}}, {text: "amount>4", member: "sourceAmount", holds: []string{"5"}},
	{text: "amount:..4", member: "sourceAmount", holds: []string{"0"}}, {text: "amount:0|5", member: "sourceAmount", holds: []string{"0", "5"}},
	{text: "amount!=5", member: "sourceAmount", holds: []string{"0"}}, {text: "created>2025-01-01", member: "createdAt", holds: []string{"new"}},
	{text: "created>30d", member: "createdAt", holds: []string{"old"}}, {text: "created<2022", member: "createdAt", holds: []string{"old"}},
	{text: "status:NEW", member: "status", holds: []string{"NEW"}}, {text: "status:NEW,SUCCESS", member: "status", holds: []string{"NEW", "SUCCESS"}},
	{text: "customer:ahr", member: "customer", holds: []string{"a"}}, {text: "customer=brume", member: "customer", holds: []string{"b"}},
	{text: "to:ahrend", member: "destination", holds: []string{"a"}}, {text: "to!=ahrend", member: "destination", holds: []string{"b"}},
	{text: "comment:rus", member: "comment", holds: []string{"rush"}}, {text: "has:comment", member: "comment", holds: []string{"rush"}},
}

// expression is a random filter with what it is for a row.
type expression struct {
	text string
	of   func(row map[string]string) truth
}

func single(t term) expression {
	return expression{t.text, func(row map[string]string) truth {
		switch means := row[t.member]; {
		case means == "?", slices.Contains(t.open, means):
			return isUnknown
		case slices.Contains(t.holds, means):
			return isTrue
		}
		return isFalse
	}}
}

func randomExpression(r *rand.Rand, depth int) expression {
	if depth == 0 || r.IntN(4) == 0 {
		return single(terms[r.IntN(len(terms))])
	}
	if r.IntN(3) == 0 {
		x := randomExpression(r, depth-1)
		return expression{"-(" + x.text + ")", func(row map[string]string) truth { return isTrue - x.of(row) }}
	}
	x, y := randomExpression(r, depth-1), randomExpression(r, depth-1)
	if r.IntN(2) == 0 {
		return expression{"(" + x.text + ") (" + y.text + ")",
			func(row map[string]string) truth { return min(x.of(row), y.of(row)) }}
	}
	return expression{"(" + x.text + ") OR (" + y.text + ")",
		func(row map[string]string) truth { return max(x.of(row), y.of(row)) }}
}

// randomRow is an operation whose members have random values, and what these mean.
func randomRow(t *testing.T, r *rand.Rand, n int) (api.Operation, map[string]string) {
	t.Helper()
	body, means := []string{fmt.Sprintf(`"opid":"op-%d"`, n)}, map[string]string{}
	for _, name := range []string{"documents", "isVisible", "isParent", "sourceAmount", "createdAt", "status", "comment", "customer", "destination"} {
		var all []string
		for m := range members[name] {
			all = append(all, m)
		}
		slices.Sort(all)
		m := all[r.IntN(len(all))]
		means[name] = m
		texts := members[name][m]
		if text := texts[r.IntN(len(texts))]; text != "" {
			body = append(body, fmt.Sprintf("%q:%s", name, text))
		}
	}
	body = append(body, fmt.Sprintf(`"type":%q`, means["documents"])) // rows that differ in what they say differ in kind
	op, err := api.ReadOperation([]byte("{" + strings.Join(body, ",") + "}"))
	if err != nil {
		t.Fatal(err)
	}
	return op, means
}

// TestFiltersHaveThreeAnswers: for random rows, which lack members or have them as null, empty or unreadable, and
// random expressions, the index and the filter in Go agree with Kleene's logic about the rows for which the filter is
// true, false and unknown; the three are all rows.
func TestFiltersHaveThreeAnswers(t *testing.T) {
	racedetector.Skip(t)
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		r := rand.New(rand.NewPCG(7, 24))
		x := openIndex(t, s)
		var ops []api.Operation
		var means []map[string]string
		for n := range 300 {
			op, m := randomRow(t, r, n)
			ops, means = append(ops, op), append(means, m)
		}
		put(t, x, index.List, now, ops...)
		ops = named(t, x, ops)
		for range checks(s.Bulk.Engine()) {
			checkAnswers(t, x, randomExpression(r, 3), ops, means)
		}
	})
}

// named are the operations as the index returns them, with the names that it knows of their identifiers.
func named(t *testing.T, x *opindex.Store, ops []api.Operation) (out []api.Operation) {
	t.Helper()
	for _, op := range ops {
		r, err := x.Get(t.Context(), string(op.OPID))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r.Op)
	}
	return out
}

func checkAnswers(t *testing.T, x *opindex.Store, e expression, ops []api.Operation, means []map[string]string) {
	t.Helper()
	f, not := parse(t, e.text), parse(t, "-("+e.text+")")
	found := map[string]truth{}
	add := func(f filter.OperationExpr, is truth) {
		for _, id := range rowsOf(t, x, f) {
			if before, has := found[id]; has && before != is {
				t.Fatalf("%s: the index has %s among %d and %d", e.text, id, before, is)
			}
			found[id] = is
		}
	}
	add(f, isTrue)
	add(not, isFalse)
	if names := f.Needs(); len(names) > 0 {
		add(f.Unknown(names...), isUnknown)
	}
	for i, op := range ops {
		want := e.of(means[i])
		if got := answer(f, not, op); got != want {
			t.Fatalf("%s is %d for %s, want %d", e.text, got, op.Raw, want)
		}
		if got, has := found[string(op.OPID)]; !has || got != want {
			t.Fatalf("%s is %d for %s in the index, want %d", e.text, got, op.Raw, want)
		}
	}
}

// answer is what the filter in Go says.
func answer(f, not filter.OperationExpr, op api.Operation) truth {
	names := f.Needs()
	unknown := len(names) > 0 && f.Unknown(names...).Match(op, now)
	switch {
	case f.Match(op, now) && !unknown && !not.Match(op, now):
		return isTrue
	case not.Match(op, now) && !unknown && !f.Match(op, now):
		return isFalse
	case unknown && !f.Match(op, now) && !not.Match(op, now):
		return isUnknown
	}
	return -1
}

func rowsOf(t *testing.T, x *opindex.Store, f filter.OperationExpr) []string {
	t.Helper()
	w, err := x.Window(t.Context(), index.Query{Filter: f, Limit: 5000}, now)
	if err != nil {
		t.Fatal(err)
	}
	return ids(w.Rows)
}
