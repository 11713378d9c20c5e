package api

import (
	"bytes"
	"slices"
	"strings"

	"opdeck/api/jsontree"
)

// Object is a JSON object from a read, a webhook or the answer to a write; the zero value does not exist. Names match
// as in encoding/json: exactly, else ignoring case.
type Object struct{ jsontree.Value }

var byteOrderMark = []byte("\xef\xbb\xbf")

// ParseJSON parses b, without a byte order mark; the value does not exist if b is not JSON.
func ParseJSON(b []byte) jsontree.Value {
	tree, err := jsontree.Parse(bytes.TrimPrefix(b, byteOrderMark))
	if err != nil {
		return jsontree.Value{}
	}
	return tree.Root()
}

// ObjectOf parses b as an object.
func ObjectOf(b []byte) Object { return ObjectIn(ParseJSON(b)) }

// ObjectIn returns v as an object.
func ObjectIn(v jsontree.Value) Object {
	if v.Kind() != jsontree.Object {
		return Object{}
	}
	return Object{v}
}

// Exists reports whether there is an object; it may be empty.
func (m Object) Exists() bool { return m.Kind() != 0 }

// Has reports whether there is a non-null member of that name.
func (m Object) Has(name string) bool {
	v := m.Member(name)
	return v.Kind() != 0 && !v.Null()
}

// First returns the first of the named members that holds a text, a number or a flag.
func (m Object) First(names ...string) string {
	for _, n := range names {
		if s, ok := m.Named(n).Scalar(); ok && s != "" {
			return s
		}
	}
	return ""
}

// Inside returns the object itself and the objects that wrap a record in it, at most jsontree.MaxWrappers deep.
func (m Object) Inside() []Object { return m.wrapped(nil, jsontree.MaxWrappers) }

func (m Object) wrapped(out []Object, depth int) []Object {
	out = append(out, m)
	if depth == 0 {
		return out
	}
	for _, w := range wrappers {
		if in := ObjectIn(m.Member(w)); in.Len() > 0 {
			out = in.wrapped(out, depth-1)
		}
	}
	return out
}

// wrappers are the names of objects that may wrap any answer.
var wrappers = slices.Concat(jsontree.Wrappers, []string{"document", "file", "application", "parameters"})

// Find returns the first text under one of the names, in the object or one that it wraps.
func (m Object) Find(names ...string) string {
	for _, o := range m.Inside() {
		if s := o.First(names...); s != "" {
			return s
		}
	}
	return ""
}

// Says reports whether a flag of the object, or of one that it wraps, equals want.
func (m Object) Says(name string, want bool) bool {
	for _, o := range m.Inside() {
		if s := o.First(name); s != "" {
			if is, known := flagWord(s); known && is == want {
				return true
			}
		}
	}
	return false
}

// Fails reports whether the answer holds an error, with or without words.
func (m Object) Fails() bool {
	for _, k := range []string{"error", "errors"} {
		switch string(m.Member(k).Raw()) {
		case "", "null", "false", `""`, "{}", "[]", "0":
		default:
			return true
		}
	}
	return false
}

// words returns the first sentence under one of the names, as Quote takes it in; it searches nested objects and lists
// too.
func (m Object) words(names ...string) string {
	for _, n := range names {
		if s := sentenceIn(m.Member(n), 3); s != "" {
			return string(Quote(s, maxQuote))
		}
	}
	return ""
}

func sentenceIn(v jsontree.Value, deep int) string {
	switch {
	case deep == 0:
	case v.Kind() == jsontree.String:
		return strings.TrimSpace(v.Text())
	case v.Kind() == jsontree.Array:
		looked := 0
		for _, it := range v.Members() {
			if s := sentenceIn(it, deep-1); s != "" {
				return s
			}
			if looked++; looked == 5 {
				return ""
			}
		}
	case v.Kind() == jsontree.Object:
		for _, k := range []string{"error", "message", "detail", "description", "reason", "title"} {
			if s := sentenceIn(v.Member(k), deep-1); s != "" {
				return s
			}
		}
	}
	return ""
}
