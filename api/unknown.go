package api

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"opdeck/api/jsontree"
)

// Field is a value in an answer without a Go field, or one that its Go field could not read.
type Field struct {
	Path  string // "source.account.iban", "documents[2].scan"
	Value json.RawMessage
	Odd   bool // it has a Go field, but its value has an unreadable type

	Earlier bool // a later member of the same name replaces it
}

// Unknown lists the fields of raw without a field in the Go type of known, and those that it could not read, in path
// order. It is empty if raw is not JSON. Raw keeps such fields, the details show them, and JSON output passes them
// on.
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

// replaced returns the members of an object that a later one of the same name replaces.
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

// HasFlag reports whether a record has a member of that name that can be read as yes or no. A record that was made
// here, and so is empty, counts as having each.
func HasFlag(record json.RawMessage, name string) bool {
	for _, usual := range []string{":true", ":false"} { // found without parsing the record
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
	word, ok := tree.Root().Named(name).Scalar()
	_, known := flagWord(word)
	return ok && known && strings.TrimSpace(word) != ""
}
