package jsontree

import (
	"fmt"
	"slices"
	"strings"

	"opdeck/api/redact"
	"opdeck/api/untrusted"
)

// Services name and wrap members differently. This file finds members by the meaning of their names, for reads,
// proofs, logins and webhooks.

// Wrappers are the usual names of objects around an answer, the likeliest first.
var Wrappers = []string{"item", "data", "result", "response", "payload", "content", "record", "object", "entity",
	"body", "value", "attributes"}

// MaxWrappers is how many objects around a record are searched.
const MaxWrappers = 3

// SameName reports whether two names differ only in case and separators: accessToken, access_token, Access-Token.
func SameName(a, b string) bool {
	for {
		a, b = strings.TrimLeft(a, separators), strings.TrimLeft(b, separators)
		if a == "" || b == "" {
			return a == b
		}
		if !sameLetter(a[0], b[0]) {
			return false
		}
		a, b = a[1:], b[1:]
	}
}

const separators = "_- "

func sameLetter(a, b byte) bool {
	if a == b {
		return true
	}
	low := a | 0x20
	return low == b|0x20 && low >= 'a' && low <= 'z'
}

// Named returns the member with the first of the names that v has: exactly, else ignoring case, else ignoring
// separators too. A name "a.b" is the member b of a.
func (v Value) Named(names ...string) Value {
	for _, name := range names {
		if m := v.named(name); m.Kind() != 0 {
			return m
		}
	}
	return Value{}
}

func (v Value) named(name string) Value {
	if m := v.Member(name); m.Kind() != 0 || v.Kind() != Object {
		return m
	}
	for n, m := range v.Members() {
		if SameName(n, name) {
			return m
		}
	}
	if head, rest, is := strings.Cut(name, "."); is {
		return v.named(head).named(rest)
	}
	return Value{}
}

// Inside returns v and the objects inside it, at most MaxWrappers deep, outer ones first; for an array, those of its
// only element.
func (v Value) Inside() []Value {
	var out []Value
	level := []Value{v}
	for depth := 0; depth <= MaxWrappers && len(level) > 0; depth++ {
		var next []Value
		for _, o := range level {
			if o.Kind() == Array && o.Len() == 1 {
				for _, only := range o.Members() {
					o = only
				}
			}
			if o.Kind() != Object {
				continue
			}
			out = append(out, o)
			for _, m := range o.Sorted() {
				if m.Kind() == Object || m.Kind() == Array && m.Len() == 1 {
					next = append(next, m.Value)
				}
			}
		}
		level = next
	}
	return out
}

// Find returns the text (see Scalar) of the first of the names that has one, in v or in the nearest object inside it.
func (v Value) Find(names ...string) (text string, ok bool) {
	inside := v.Inside()
	for _, name := range names {
		for _, o := range inside {
			if s, is := o.Named(name).Scalar(); is && s != "" {
				return s, true
			}
		}
	}
	return "", false
}

const maxKeys = 12 // listed by Keys

// Keys lists the members of v with the kind of each value, never a value. It is safe to draw.
func (v Value) Keys() string {
	members := v.Sorted()
	switch {
	case v.Kind() == Array:
		return fmt.Sprintf("an array of %d", v.Len())
	case v.Kind() != Object:
		return v.KindWord()
	case len(members) == 0:
		return "an empty object"
	}
	var out []string
	for _, m := range members[:min(len(members), maxKeys)] {
		out = append(out, "“"+untrusted.Text(redact.Said(m.Name)).Line(40)+"” ("+m.KindWord()+")")
	}
	if more := len(members) - maxKeys; more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return strings.Join(out, ", ")
}

// KindWord names the kind of v for people.
func (v Value) KindWord() string {
	kinds := []Kind{0, Object, Array, String, Number}
	if i := slices.Index(kinds, v.Kind()); i >= 0 {
		return [...]string{"nothing", "object", "array", "text", "number"}[i]
	}
	if v.Null() {
		return "null"
	}
	return "true or false"
}
