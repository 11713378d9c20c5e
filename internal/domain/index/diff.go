package index

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"opdeck/api"
	"opdeck/api/jsontree"
	"opdeck/api/untrusted"
)

// Change is one field that differs between two states.
type Change struct {
	Path          string // "status", "sourceAmount.sum", "documents[GUID]"
	Before, After untrusted.Text
	Money         bool // Before and After are "EUR 12.5", exact
}

// Diff lists the differences between two states in path order. Money is compared as numbers: 5 equals 5.00. Documents
// are matched by guid, other lists by position. A missing field is "".
func Diff(a, b api.Operation) []Change {
	x, y := leavesOf(a), leavesOf(b)
	var out []Change
	for path, was := range x {
		if is := y[path]; is.text != was.text {
			out = append(out, Change{path, untrusted.Text(was.text), untrusted.Text(is.text), was.money || is.money})
		}
	}
	for path, is := range y {
		if _, both := x[path]; !both && is.text != "" {
			out = append(out, Change{path, "", untrusted.Text(is.text), is.money})
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

type leaf struct {
	text  string
	money bool
}

// leavesOf returns the values of an operation by path; none for one that cannot be encoded.
func leavesOf(o api.Operation) map[string]leaf {
	out := map[string]leaf{}
	b, err := json.Marshal(o)
	if err != nil {
		return out
	}
	if tree, err := jsontree.Parse(b); err == nil {
		defer tree.Free()
		flatten("", tree.Root(), out)
	}
	return out
}

func flatten(path string, v jsontree.Value, out map[string]leaf) {
	switch v.Kind() {
	case jsontree.Object:
		if m, ok := asMoney(v); ok {
			out[path] = leaf{m, true}
			return
		}
		for name, m := range v.Members() {
			flatten(join(path, name), m, out)
		}
	case jsontree.Array:
		i := 0
		for _, it := range v.Members() {
			guid, _ := it.Get("guid")
			flatten(path+"["+cmp.Or(guid.Text(), strconv.Itoa(i))+"]", it, out)
			i++
		}
	case jsontree.String:
		out[path] = leaf{text: v.Text()}
	default:
		if !v.Null() {
			out[path] = leaf{text: string(v.Raw())}
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// asMoney reads an object that has units or nanos as an exact amount.
func asMoney(v jsontree.Value) (string, bool) {
	is := false
	for name := range v.Members() {
		is = is || name == "units" || name == "nanos"
	}
	var m api.Money
	if !is || json.Unmarshal(v.Raw(), &m) != nil {
		return "", false
	}
	d, err := m.Decimal()
	if err != nil {
		return m.Raw(), true
	}
	return string(m.CurrencyCode) + " " + d.Text('f'), true
}
