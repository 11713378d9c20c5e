package api

import (
	"bytes"
	"slices"
	"strings"

	"opdeck/api/jsontree"
)

// fields is a JSON object of any origin, of reads and of answers to writes alike; the zero value is one that
// is not there. Names are found as encoding/json finds them: to the letter, else in any case.
type fields struct{ jsontree.Value }

var byteOrderMark = []byte("\xef\xbb\xbf")

// parsed is b as JSON, not there when it is none. A byte order mark is dropped.
func parsed(b []byte) jsontree.Value {
	tree, err := jsontree.Parse(bytes.TrimPrefix(b, byteOrderMark))
	if err != nil {
		return jsontree.Value{}
	}
	return tree.Root()
}

// object is b as an object.
func object(b []byte) fields { return objectIn(parsed(b)) }

// objectIn is v as an object.
func objectIn(v jsontree.Value) fields {
	if v.Kind() != jsontree.Object {
		return fields{}
	}
	return fields{v}
}

// exists reports whether there is an object, which may be empty.
func (m fields) exists() bool { return m.Kind() != 0 }

// has reports whether there is a member of that name that is not null.
func (m fields) has(name string) bool {
	v := m.Member(name)
	return v.Kind() != 0 && !v.Null()
}

// text is the first of the names that holds a text, a number or a flag.
func (m fields) text(names ...string) string {
	for _, n := range names {
		if s, ok := m.Member(n).Scalar(); ok && s != "" {
			return s
		}
	}
	return ""
}

// inside lists the object itself and those around a record that it holds, at most maxNesting deep.
func (m fields) inside() []fields { return m.wrapped(nil, maxNesting) }

func (m fields) wrapped(out []fields, depth int) []fields {
	out = append(out, m)
	if depth == 0 {
		return out
	}
	for _, w := range wrappers {
		if in := objectIn(m.Member(w)); in.Len() > 0 {
			out = in.wrapped(out, depth-1)
		}
	}
	return out
}

// wrappers are names of an object around what the service answers with, whatever it is.
var wrappers = slices.Concat(around, []string{"document", "file", "application", "parameters", "attributes"})

// find is the first text of the names in the object or one that it wraps.
func (m fields) find(names ...string) string {
	for _, o := range m.inside() {
		if s := o.text(names...); s != "" {
			return s
		}
	}
	return ""
}

// says reports whether a field of the object, or of one that it wraps, is the
// flag want.
func (m fields) says(name string, want bool) bool {
	for _, o := range m.inside() {
		if s := o.text(name); s != "" {
			if is, known := flagWord(s); known && is == want {
				return true
			}
		}
	}
	return false
}

// fails reports whether the answer holds an error, with or without words.
func (m fields) fails() bool {
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
func (m fields) words(names ...string) string {
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
