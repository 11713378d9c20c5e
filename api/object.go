package api

import (
	"bytes"
	"slices"
	"strings"

	"opdeck/api/jsontree"
)

// Object is a JSON object of any origin, of reads and of answers to writes alike; the zero value is one that
// is not there. Names are found as encoding/json finds them: to the letter, else in any case.
type Object struct{ jsontree.Value }

var byteOrderMark = []byte("\xef\xbb\xbf")

// ParseJSON is b as JSON, not there when it is none. A byte order mark is dropped.
func ParseJSON(b []byte) jsontree.Value {
	tree, err := jsontree.Parse(bytes.TrimPrefix(b, byteOrderMark))
	if err != nil {
		return jsontree.Value{}
	}
	return tree.Root()
}

// ObjectOf is b as an object.
func ObjectOf(b []byte) Object { return ObjectIn(ParseJSON(b)) }

// ObjectIn is v as an object.
func ObjectIn(v jsontree.Value) Object {
	if v.Kind() != jsontree.Object {
		return Object{}
	}
	return Object{v}
}

// Exists reports whether there is an object, which may be empty.
func (m Object) Exists() bool { return m.Kind() != 0 }

// Has reports whether there is a member of that name that is not null.
func (m Object) Has(name string) bool {
	v := m.Member(name)
	return v.Kind() != 0 && !v.Null()
}

// First is the first of the names that holds a text, a number or a flag.
func (m Object) First(names ...string) string {
	for _, n := range names {
		if s, ok := m.Named(n).Scalar(); ok && s != "" {
			return s
		}
	}
	return ""
}

// Inside lists the object itself and those around a record that it holds, at most
// jsontree.MaxWrappers deep.
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

// wrappers are names of an object around what the service answers with, whatever it is.
var wrappers = slices.Concat(jsontree.Wrappers, []string{"document", "file", "application", "parameters"})

// Find is the first text of the names in the object or one that it wraps.
func (m Object) Find(names ...string) string {
	for _, o := range m.Inside() {
		if s := o.First(names...); s != "" {
			return s
		}
	}
	return ""
}

// Says reports whether a field of the object, or of one that it wraps, is the
// flag want.
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

// words is the first sentence under one of the names, safe to draw; in objects
// and lists it is looked for further down.
func (m Object) words(names ...string) string {
	for _, n := range names {
		if s := sentenceIn(m.Member(n), 3); s != "" {
			return safeLine(Scrub(s), 300)
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
