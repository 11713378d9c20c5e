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
