package api

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"opdeck/api/jsontree"
)

// Field is one value of an answer that this program has no name for, or one that
// has a name and cannot be read.
type Field struct {
	Path  string // "source.account.iban", "documents[2].scan"
	Value json.RawMessage
	Odd   bool // it has a name, and its value is of no kind that can be read

	Earlier bool // a later member of that name replaces it
}

// Unknown lists the fields of raw that the Go type of known does not name, and those that it names but
// cannot read, in the order of their paths. It is empty for what is not JSON. Nothing of the wire is lost:
// such fields are kept in Raw, shown in the details and passed on in JSON.
func Unknown(raw json.RawMessage, known any) []Field {
	tree, err := jsontree.Parse(raw)
	if err != nil {
		return nil
	}
	defer tree.Free()
	var out []Field
	recordLayout(reflect.TypeOf(known)).visit("", tree.Root(), func(path string, v jsontree.Value, l *layout) {
		odd := v.Null() && strings.HasSuffix(path, "]") || l != nil && !v.Null() && !l.fits(v)
		if path != "" && (l == nil || odd) {
			out = append(out, Field{Path: path, Value: v.Raw(), Odd: odd})
		}
		if l != nil && l.fields != nil && v.Kind() == jsontree.Object {
			out = append(out, replaced(path, v)...)
		}
	})
	slices.SortStableFunc(out, func(a, b Field) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// replaced are the members of an object that a later one of the same name replaces.
func replaced(path string, v jsontree.Value) (out []Field) {
	before := map[string]jsontree.Value{}
	for name, m := range v.Members() {
		if was, twice := before[name]; twice {
			out = append(out, Field{Path: under(path, name), Value: was.Raw(), Earlier: true})
		}
		before[name] = m
	}
	return out
}

// HasMember reports whether a record has a member that is not null. A record that was made here, and came
// in no answer (it is empty), counts as having each.
func HasMember(record json.RawMessage, name string) bool {
	for _, usual := range []string{":true", ":false"} { // found without reading the record
		if bytes.Contains(record, []byte(`"`+name+`"`+usual)) {
			return true
		}
	}
	if len(record) == 0 {
		return true
	}
	tree, err := jsontree.Parse(record)
	if err != nil {
		return false
	}
	defer tree.Free()
	m := tree.Root().Member(name)
	return m.Kind() != 0 && !m.Null()
}
