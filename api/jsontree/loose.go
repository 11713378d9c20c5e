package jsontree

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf16"

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

// Errors of Unpack.
var (
	ErrPacked   = errors.New("the compressed body cannot be unpacked")
	ErrTooLarge = errors.New("the unpacked body is too large")
)

// CodingError names a content coding that is not supported. Its text is safe to draw.
type CodingError struct{ Name string }

// Error implements error.
func (e *CodingError) Error() string { return "the content coding " + e.Name + " is not supported" }

const byteOrderMark = "\xef\xbb\xbf"

// Unpack returns the text in a body: it undoes gzip, deflate and zlib, whether or not Content-Encoding (encoding)
// names them, drops a byte order mark and converts UTF-16 to UTF-8. most is the largest text in bytes. A body without
// any of these is returned unchanged.
func Unpack(body []byte, encoding string, most int) ([]byte, error) {
	codings := strings.Split(strings.ToLower(encoding), ",")
	for i := len(codings) - 1; i >= 0; i-- {
		var err error
		if body, err = uncoded(body, strings.TrimSpace(codings[i]), most); err != nil {
			return nil, err
		}
	}
	if isGzip(body) {
		var err error
		if body, err = uncoded(body, "gzip", most); err != nil {
			return nil, err
		}
	}
	return utf8Text(body), nil
}

func isGzip(b []byte) bool { return len(b) > 2 && b[0] == 0x1f && b[1] == 0x8b }

func uncoded(body []byte, coding string, most int) ([]byte, error) {
	var from io.Reader
	var err error
	switch coding {
	case "", "identity":
		return body, nil
	case "gzip", "x-gzip":
		if !isGzip(body) { // a proxy unpacked it and left the header
			return body, nil
		}
		from, err = gzip.NewReader(bytes.NewReader(body))
	case "deflate":
		if from, err = zlib.NewReader(bytes.NewReader(body)); err != nil { // many senders omit zlib's header
			from, err = flate.NewReader(bytes.NewReader(body)), nil
		}
	default:
		return nil, &CodingError{Name: fmt.Sprintf("%.40q", coding)}
	}
	if err != nil {
		return nil, ErrPacked
	}
	out, err := io.ReadAll(io.LimitReader(from, int64(most)+1))
	switch {
	case len(out) > most:
		return nil, ErrTooLarge
	case err != nil:
		return nil, ErrPacked
	}
	return out, nil
}

// utf8Text drops a byte order mark, and converts UTF-16 with one to UTF-8.
func utf8Text(b []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(b, []byte("\xff\xfe")):
		order = binary.LittleEndian
	case bytes.HasPrefix(b, []byte("\xfe\xff")):
		order = binary.BigEndian
	default:
		return bytes.TrimPrefix(b, []byte(byteOrderMark))
	}
	units := make([]uint16, 0, len(b)/2)
	for b = b[2:]; len(b) >= 2; b = b[2:] {
		units = append(units, order.Uint16(b))
	}
	return []byte(string(utf16.Decode(units)))
}
