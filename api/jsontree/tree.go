// Package jsontree parses a JSON text in one pass: values in the order of the text, each with its own bytes, so that
// numbers stay exact and nothing unknown is lost. It reports what JSON parsers read differently (Doubt) to callers
// that refuse it.
package jsontree

import (
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
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

// node is one value; the nodes of the values inside it follow it.
type node struct {
	kind     Kind
	end      int32 // index of the next node after it and its contents
	from, to int32 // its bytes in the text
	name     span  // of a member of an Object
	text     span  // of a String
}

// span is a text: the bytes from..to, or with to -1 the one at from of Tree.decoded.
// Nodes hold no pointers, so that writing them costs the garbage collector nothing.
type span struct{ from, to int32 }

func (t *Tree) str(s span) string {
	if s.to < 0 {
		return t.decoded[s.from]
	}
	return t.s[s.from:s.to]
}

// Value is one value of a Tree. The zero Value does not exist.
type Value struct {
	t *Tree
	i int32
}

var missing node

func (v Value) node() *node {
	if v.t == nil {
		return &missing
	}
	return &v.t.nodes[v.i]
}

// Kind is the kind of the value, 0 if it does not exist.
func (v Value) Kind() Kind { return v.node().kind }

// Null reports whether v is null.
func (v Value) Null() bool { return v.Kind() == Word && v.Raw()[0] == 'n' }

// Text is the text of a String, decoded as in encoding/json.
func (v Value) Text() string {
	if v.Kind() != String {
		return ""
	}
	return v.t.str(v.node().text)
}

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
func (v Value) Raw() []byte {
	if v.t == nil {
		return nil
	}
	n := v.node()
	return v.t.b[n.from:n.to:n.to]
}

// Members iterates over the members of an Object, or the elements of an Array with empty names.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for i, end := v.i+1, v.node().end; i < end; i = v.t.nodes[i].end {
			if !yield(v.t.str(v.t.nodes[i].name), Value{v.t, i}) {
				return
			}
		}
	}
}

// Len is the number of Members.
func (v Value) Len() (n int) {
	for range v.Members() {
		n++
	}
	return n
}

// Get returns the first member with exactly that name; null counts as missing.
func (v Value) Get(name string) (Value, bool) {
	for n, m := range v.Members() {
		if n == name {
			return m, !m.Null()
		}
	}
	return Value{}, false
}

// Member returns the member of an Object that encoding/json reads for that name: the last one with exactly that name,
// else the last one that differs in case only. The zero Value means that there is none.
func (v Value) Member(name string) Value {
	var exact, folded Value
	if v.Kind() != Object {
		return folded
	}
	for n, m := range v.Members() {
		switch {
		case n == name:
			exact = m
		case strings.EqualFold(n, name):
			folded = m
		}
	}
	if exact.t != nil {
		return exact
	}
	return folded
}

// Member is a Value with its name in an Object.
type Member struct {
	Name string
	Value
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

// Tree is a parsed JSON text. Free returns its memory for the next text: its values must not be used afterwards, but
// their texts remain valid.
type Tree struct {
	b      []byte
	s      string // b as a string: texts without escapes are substrings of it
	i      int
	broken bool // the text is not JSON
	strict bool // look for doubts
	doubt  Doubt

	nodes   []node
	decoded []string // texts that differ from their form in s
}

// Root is the value of the whole text.
func (t *Tree) Root() Value { return Value{t, 0} }

// Parse parses one JSON text (RFC 8259). The error is that of encoding/json. All members of a repeated name are kept;
// bytes that are not UTF-8 become U+FFFD.
func Parse(b []byte) (*Tree, error) {
	t, _, err := parse(b, false)
	return t, err
}

// ParseStrict is Parse that also reports doubts.
func ParseStrict(b []byte) (*Tree, Doubt, error) { return parse(b, true) }

func parse(b []byte, strict bool) (*Tree, Doubt, error) {
	t := trees.Get().(*Tree)
	t.b, t.s, t.strict, t.broken = b, string(b), strict, len(b) > math.MaxInt32
	t.nodes = slices.Grow(t.nodes, len(b)/bytesPerNode)
	t.space()
	t.value(span{}, 0)
	t.space()
	if t.broken || t.i < len(b) {
		t.Free()
		return nil, Doubt{}, broken(b)
	}
	return t, t.doubt, nil
}

// broken is the error of a text that is not JSON.
func broken(b []byte) error {
	var raw json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	return errors.New("jsontree: " + strconv.Itoa(len(b)) + " bytes cannot be read") // unreachable, by FuzzParse
}

// trees are reused for their nodes, which are most of the memory.
var trees = sync.Pool{New: func() any { return new(Tree) }}

// bytesPerNode is the size of an ordinary value with its name.
const bytesPerNode = 20

// maxKept bounds the nodes of a tree that is reused; an ordinary text has about 60.
const maxKept = 512

// Free returns the memory of t; t may be nil.
func (t *Tree) Free() {
	if t == nil || cap(t.nodes) > maxKept {
		return
	}
	*t = Tree{nodes: t.nodes[:0]}
	trees.Put(t)
}

// manyMembers is the size from which an object's names are looked up in a map.
const manyMembers = 32

// unique records a doubt if name is among the members from first on, ignoring case. many holds their folded names
// once there are manyMembers; name is added to it.
func (t *Tree) unique(first int, many map[string]bool, name string) map[string]bool {
	n := 0
	for i := first; many == nil && i < len(t.nodes); i = int(t.nodes[i].end) {
		if n++; strings.EqualFold(t.str(t.nodes[i].name), name) {
			t.doubts(Duplicate)
		}
	}
	if n == manyMembers {
		many = make(map[string]bool, 2*n)
		for i := first; i < len(t.nodes); i = int(t.nodes[i].end) {
			many[fold(t.str(t.nodes[i].name))] = true
		}
	} else if many != nil && many[fold(name)] {
		t.doubts(Duplicate)
	}
	if many != nil {
		many[fold(name)] = true
	}
	return many
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

// maxNesting is the nesting limit of encoding/json.
const maxNesting = 10_000

func (t *Tree) doubts(kind DoubtKind) {
	if t.doubt.Kind == NoDoubt {
		t.doubt = Doubt{kind, t.i}
	}
}

// peek returns the current character, 0 at the end.
func (t *Tree) peek() byte {
	if t.i < len(t.s) {
		return t.s[t.i]
	}
	return 0
}

// take skips c and reports whether it was there.
func (t *Tree) take(c byte) bool {
	if t.peek() != c {
		return false
	}
	t.i++
	return true
}

func (t *Tree) space() {
	for t.i < len(t.s) && (t.s[t.i] == ' ' || t.s[t.i] == '\n' || t.s[t.i] == '\r' || t.s[t.i] == '\t') {
		t.i++
	}
}

// value reads the member of that name.
func (t *Tree) value(name span, depth int) {
	if t.strict && depth > MaxDepth {
		t.doubts(TooDeep)
	}
	at := len(t.nodes)
	t.nodes = append(t.nodes, node{name: name, from: int32(t.i)})
	kind, text := Word, span{}
	switch c := t.peek(); {
	case c == '{':
		kind = Object
		t.members('}', depth+1)
	case c == '[':
		kind = Array
		t.members(']', depth+1)
	case c == '"':
		kind, text = String, t.text()
	case c == '-' || c >= '0' && c <= '9':
		kind = Number
		t.number()
	default:
		t.word()
	}
	n := &t.nodes[at]
	n.kind, n.text, n.to, n.end = kind, text, int32(t.i), int32(len(t.nodes))
}

// members reads those of an object or list up to its end.
func (t *Tree) members(end byte, depth int) {
	if t.broken = t.broken || depth > maxNesting; t.broken {
		return
	}
	var many map[string]bool
	first := len(t.nodes)
	t.i++
	t.space()
	for more := !t.take(end); more; {
		var name span
		if end == '}' {
			if name = t.name(); t.strict && !t.broken {
				many = t.unique(first, many, t.str(name))
			}
			t.space()
			t.broken = t.broken || !t.take(':')
			t.space()
		}
		if t.broken {
			return
		}
		t.value(name, depth)
		t.space()
		if more = t.take(','); more {
			t.space()
		} else if !t.take(end) {
			t.broken = true
		}
		more = more && !t.broken
	}
}

func (t *Tree) name() span {
	if t.peek() != '"' {
		t.broken = true
		return span{}
	}
	return t.text()
}

func (t *Tree) word() {
	for _, w := range [...]string{"true", "false", "null"} {
		if strings.HasPrefix(t.s[t.i:], w) {
			t.i += len(w)
			return
		}
	}
	t.broken = true
}

func (t *Tree) number() {
	t.take('-')
	ok := t.take('0') || t.digits()
	if t.take('.') {
		ok = t.digits() && ok
	}
	if t.take('e') || t.take('E') {
		_ = t.take('+') || t.take('-')
		ok = t.digits() && ok
	}
	t.broken = t.broken || !ok
}

// digits steps over one digit or more.
func (t *Tree) digits() bool {
	from := t.i
	for t.i < len(t.s) && t.s[t.i] >= '0' && t.s[t.i] <= '9' {
		t.i++
	}
	return t.i > from
}

// text reads a string and is behind its closing quote.
func (t *Tree) text() span {
	from, escaped, wide := t.i+1, false, false
	i := from
	for ; i < len(t.s) && t.s[i] != '"'; i++ {
		switch c := t.s[i]; {
		case c >= utf8.RuneSelf:
			wide = true
		case c == '\\' && escape(t.s[i+1:]):
			escaped = true
			i++
		case c < 0x20 || c == '\\':
			t.broken = true
			return span{}
		}
	}
	if t.broken = i >= len(t.s); t.broken {
		return span{}
	}
	s := t.s[from:i]
	t.i = i + 1
	damaged := wide && !utf8.ValidString(s)
	if !escaped && !damaged {
		return span{int32(from), int32(i)}
	}
	switch {
	case damaged:
		t.doubts(NotUTF8)
	case t.strict && hasLoneSurrogate(s):
		t.doubts(Halved)
	}
	var out string
	_ = json.Unmarshal(t.b[from-1:t.i], &out) // it is JSON
	t.decoded = append(t.decoded, out)
	return span{int32(len(t.decoded) - 1), -1}
}

// escape reports whether s begins with a valid escape after the backslash.
func escape(s string) bool {
	if s == "" || s[0] != 'u' {
		return s != "" && strings.IndexByte(`"\/bfnrt`, s[0]) >= 0
	}
	hex := s[1:min(5, len(s))]
	return len(hex) == 4 && strings.Trim(hex, "0123456789abcdefABCDEF") == ""
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
