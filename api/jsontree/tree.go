// Package jsontree parses a JSON text: values in the order of the text, each with its own bytes, so that numbers stay
// exact and nothing unknown is lost. It reports what JSON parsers read differently (Doubt) to callers that refuse it.
package jsontree

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Kind is the kind of a value.
type Kind byte

// The kinds. The zero Kind is that of a value that does not exist.
const (
	Object Kind = 'o'
	Array  Kind = 'a'
	String Kind = 's'
	Number Kind = 'n'
	Word   Kind = 'w' // true, false, null
)

// Value is one value of a text. The zero Value does not exist.
type Value struct{ n *node }

type node struct {
	kind    Kind
	raw     []byte   // its bytes in the text
	text    string   // of a String
	members []Member // of an Object; the elements of an Array, without names
}

// Member is a Value with its name in an Object.
type Member struct {
	Name string
	Value
}

var missing node

func (v Value) node() *node {
	if v.n == nil {
		return &missing
	}
	return v.n
}

// Kind is the kind of the value, 0 if it does not exist.
func (v Value) Kind() Kind { return v.node().kind }

// Null reports whether v is null.
func (v Value) Null() bool { return v.Kind() == Word && v.n.raw[0] == 'n' }

// Flag reports whether v is true or false, and which.
func (v Value) Flag() (is, ok bool) { return string(v.Raw()) == "true", v.Kind() == Word && !v.Null() }

// Text is the text of a String, decoded as in encoding/json.
func (v Value) Text() string { return v.node().text }

// Scalar is the text of a String, or the literal of a Number, true or false. ok is false for any other value.
func (v Value) Scalar() (text string, ok bool) {
	switch v.Kind() {
	case String:
		return v.Text(), true
	case Number, Word:
		if !v.Null() {
			return string(v.Raw()), true
		}
	}
	return "", false
}

// Raw is the value's bytes in the text.
func (v Value) Raw() []byte { return v.node().raw }

// Members iterates over the members of an Object, or the elements of an Array with empty names.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for _, m := range v.node().members {
			if !yield(m.Name, m.Value) {
				return
			}
		}
	}
}

// Len is the number of Members.
func (v Value) Len() int { return len(v.node().members) }

// Get returns the first member with that name; null counts as missing.
func (v Value) Get(name string) (Value, bool) {
	for n, m := range v.Members() {
		if n == name {
			return m, !m.Null()
		}
	}
	return Value{}, false
}

// Member returns the last member of an Object with that name. The zero Value means that there is none.
func (v Value) Member(name string) Value {
	for _, m := range slices.Backward(v.node().members) {
		if m.Name == name && v.Kind() == Object {
			return m.Value
		}
	}
	return Value{}
}

// Sorted returns the members of an Object in the order of their names, the last one of each name. It is empty for any
// other value.
func (v Value) Sorted() []Member {
	if v.Kind() != Object {
		return nil
	}
	last := map[string]Value{}
	for name, m := range v.Members() {
		last[name] = m
	}
	out := make([]Member, 0, len(last))
	for _, name := range slices.Sorted(maps.Keys(last)) {
		out = append(out, Member{name, last[name]})
	}
	return out
}

// DoubtKind is a property of a text that JSON parsers read differently.
type DoubtKind int

// The doubts.
const (
	NoDoubt   DoubtKind = iota
	TooDeep             // nested deeper than MaxDepth
	Duplicate           // names in one object that are equal, ignoring case
	NotUTF8             // a byte of a text is not UTF-8
	Halved              // a text has half a surrogate pair
)

// MaxDepth is the nesting beyond which a text is TooDeep.
const MaxDepth = 32

// Doubt is the first doubt in a text and its byte offset.
type Doubt struct {
	Kind DoubtKind
	At   int
}

// Parse parses one JSON text (RFC 8259). The error is that of encoding/json. All members of a repeated name are kept;
// bytes that are not UTF-8 become U+FFFD. The values refer to b.
func Parse(b []byte) (Value, error) {
	v, _, err := parse(b, false)
	return v, err
}

// ParseStrict is Parse that also reports doubts.
func ParseStrict(b []byte) (Value, Doubt, error) { return parse(b, true) }

func parse(b []byte, strict bool) (Value, Doubt, error) {
	if !json.Valid(b) {
		var raw json.RawMessage
		return Value{}, Doubt{}, json.Unmarshal(b, &raw)
	}
	r := reader{b: b, s: string(b), strict: strict}
	r.skip()
	v := r.value(0)
	return v, r.doubt, nil
}

// reader walks over a text that is known to be JSON.
type reader struct {
	b      []byte
	s      string // b as a string: texts without escapes are substrings of it
	i      int
	strict bool // look for doubts
	doubt  Doubt
}

func (r *reader) doubts(kind DoubtKind) {
	if r.strict && r.doubt.Kind == NoDoubt {
		r.doubt = Doubt{kind, r.i}
	}
}

// skip steps over what stands between values.
func (r *reader) skip() {
	for r.i < len(r.s) && strings.IndexByte(" \t\r\n,:", r.s[r.i]) >= 0 {
		r.i++
	}
}

func (r *reader) value(depth int) Value {
	if depth > MaxDepth {
		r.doubts(TooDeep)
	}
	n, from := &node{kind: Word}, r.i
	switch c := r.s[r.i]; {
	case c == '{':
		n.kind, n.members = Object, r.members(depth+1, true)
	case c == '[':
		n.kind, n.members = Array, r.members(depth+1, false)
	case c == '"':
		n.kind, n.text = String, r.text()
	case c == '-' || c >= '0' && c <= '9':
		n.kind = Number
		fallthrough
	default:
		for r.i < len(r.s) && strings.IndexByte(" \t\r\n,]}", r.s[r.i]) < 0 {
			r.i++
		}
	}
	n.raw = r.b[from:r.i:r.i]
	return Value{n}
}

// members reads those of an object or array up to its end.
func (r *reader) members(depth int, named bool) (out []Member) {
	var folded map[string]bool
	if r.strict && named {
		folded = map[string]bool{}
	}
	r.i++
	for r.skip(); r.s[r.i] != '}' && r.s[r.i] != ']'; r.skip() {
		var m Member
		if named {
			m.Name = r.text()
			if folded != nil {
				name := fold(m.Name)
				if folded[name] {
					r.doubts(Duplicate)
				}
				folded[name] = true
			}
			r.skip()
		}
		m.Value = r.value(depth)
		out = append(out, m)
	}
	r.i++
	return out
}

// fold maps names that differ in case only (Unicode simple folding, as in encoding/json: K, k and the Kelvin sign) to
// one text.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		low := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			low = min(low, f)
		}
		if low >= 'A' && low <= 'Z' {
			low += 'a' - 'A'
		}
		return low
	}, s)
}

// text reads a string and is behind its closing quote.
func (r *reader) text() string {
	from := r.i + 1
	escaped := false
	for r.i++; r.s[r.i] != '"'; r.i++ {
		if r.s[r.i] == '\\' {
			escaped = true
			r.i++
		}
	}
	s := r.s[from:r.i]
	r.i++
	damaged := !utf8.ValidString(s)
	if !escaped && !damaged {
		return s
	}
	if damaged {
		r.doubts(NotUTF8)
	} else if r.strict && hasLoneSurrogate(s) {
		r.doubts(Halved)
	}
	var out string
	_ = json.Unmarshal(r.b[from-1:r.i], &out) // it is JSON
	return out
}

// hasLoneSurrogate reports whether the escapes of s contain half of a surrogate pair.
func hasLoneSurrogate(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			continue
		}
		if i++; s[i] != 'u' {
			continue
		}
		r := hex4(s[i+1:])
		if i += 4; !utf16.IsSurrogate(r) {
			continue
		}
		if !strings.HasPrefix(s[i+1:], `\u`) || utf16.DecodeRune(r, hex4(s[i+3:])) == unicode.ReplacementChar {
			return true
		}
		i += 6
	}
	return false
}

func hex4(s string) rune {
	n, _ := strconv.ParseUint(s[:4], 16, 32) // four digits, as in all JSON
	return rune(n)
}
