package jsontree

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"opdeck/api/redact"
	"opdeck/api/untrusted"
)

// wrappers are the names of objects around an answer: the documented one, and the usual one. An array of one element is
// read as that element. Nothing else around a record is accepted, by reads, proofs and lists alike;
// logins are not wrapped.
var wrappers = []string{"item", "data"}

// MaxWrappers is how many objects around a record are searched.
const MaxWrappers = 2

// Path returns the member of that name; "a.b" is the member b of a.
func (v Value) Path(name string) Value {
	if m := v.Member(name); m.Kind() != 0 {
		return m
	}
	if head, rest, is := strings.Cut(name, "."); is {
		return v.Member(head).Path(rest)
	}
	return Value{}
}

// Named returns the member of the first of the names (see Path) that v has.
func (v Value) Named(names ...string) Value {
	for _, name := range names {
		if m := v.Path(name); m.Kind() != 0 {
			return m
		}
	}
	return Value{}
}

// Inside returns the object v and those that it wraps, outer ones first.
func (v Value) Inside() []Value { return v.inside(MaxWrappers) }

func (v Value) inside(deep int) (out []Value) {
	if v.Kind() == Array && v.Len() == 1 {
		v = v.n.members[0].Value
	}
	if v.Kind() != Object {
		return nil
	}
	out = append(out, v)
	for _, name := range wrappers {
		if deep > 0 {
			out = append(out, v.Member(name).inside(deep-1)...)
		}
	}
	return out
}

// Find returns the text (see Scalar) of the first of the names (see Path) that has one, in v or what it wraps.
func (v Value) Find(names ...string) (text string, ok bool) {
	inside := v.Inside()
	for _, name := range names {
		for _, o := range inside {
			if s, is := o.Path(name).Scalar(); is && s != "" {
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

// Unpack returns the text in a body: it undoes gzip if Content-Encoding (encoding) names it and drops a byte order
// mark. most is the largest text in bytes. Any other coding is a CodingError.
func Unpack(body []byte, encoding string, most int) ([]byte, error) {
	switch coding := strings.ToLower(strings.TrimSpace(encoding)); coding {
	case "", "identity":
	case "gzip", "x-gzip":
		if !bytes.HasPrefix(body, []byte("\x1f\x8b")) { // a proxy unpacked it and left the header
			break
		}
		from, err := gzip.NewReader(bytes.NewReader(body))
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
		body = out
	default:
		return nil, &CodingError{Name: fmt.Sprintf("%.40q", coding)}
	}
	return bytes.TrimPrefix(body, []byte(byteOrderMark)), nil
}
