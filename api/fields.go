package api

import (
	"bytes"
	"encoding/json"
	"strings"
)

// fields are the members of a JSON object of any origin, for reads and for the
// answers to writes alike. Names are found as encoding/json does: to the letter,
// else in any case.
type fields map[string]json.RawMessage

// object is b as an object; nil for anything else. A byte order mark is dropped.
func object(b []byte) fields {
	b = bytes.TrimSpace(bytes.TrimPrefix(b, byteOrderMark))
	var m fields
	if len(b) == 0 || b[0] != '{' || json.Unmarshal(b, &m) != nil {
		return nil
	}
	return m
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// array is b as an array; ok is false for anything else.
func array(b json.RawMessage) (items []json.RawMessage, ok bool) {
	b = bytes.TrimSpace(b)
	if len(b) == 0 || b[0] != '[' || json.Unmarshal(b, &items) != nil {
		return nil, false
	}
	return items, true
}

func null(b json.RawMessage) bool { return string(bytes.TrimSpace(b)) == "null" }

// get is the value of a name, without space around it; nil when there is none.
func (m fields) get(name string) json.RawMessage {
	v, ok := m[name]
	if !ok {
		for n, raw := range m {
			if strings.EqualFold(n, name) {
				v = raw
				break
			}
		}
	}
	return bytes.TrimSpace(v)
}

// text is the first of the names that holds a text, a number or a flag.
func (m fields) text(names ...string) string {
	for _, n := range names {
		if s, ok := textual(m.get(n)); ok && s != "" {
			return s
		}
	}
	return ""
}

// textual is the text of a text, a number or a flag.
func textual(raw json.RawMessage) (string, bool) {
	var s string
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || string(raw) == "null":
		return "", false
	case raw[0] == '"':
		return s, json.Unmarshal(raw, &s) == nil
	}
	return string(raw), json.Valid(raw)
}

// wrappers are names under which the service puts what it answers a write with.
var wrappers = []string{"item", "data", "result", "document", "file", "application", "parameters"}

// inside lists the object itself and the objects that it wraps.
func (m fields) inside() []fields {
	out := []fields{m}
	for _, w := range wrappers {
		if in := object(m.get(w)); len(in) > 0 {
			out = append(out, in)
		}
	}
	return out
}

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
		switch string(m.get(k)) {
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
		if s := sentenceIn(m.get(n), 3); s != "" {
			return safeLine(Scrub(s), 300)
		}
	}
	return ""
}

func sentenceIn(raw json.RawMessage, deep int) string {
	var s string
	if len(raw) == 0 || deep == 0 {
		return ""
	}
	if json.Unmarshal(raw, &s) == nil {
		return strings.TrimSpace(s)
	}
	if list, ok := array(raw); ok {
		for _, it := range list[:min(len(list), 5)] {
			if s := sentenceIn(it, deep-1); s != "" {
				return s
			}
		}
		return ""
	}
	in := object(raw)
	for _, k := range []string{"error", "message", "detail", "description", "reason", "title"} {
		if s := sentenceIn(in.get(k), deep-1); s != "" {
			return s
		}
	}
	return ""
}
