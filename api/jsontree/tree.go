// Package jsontree takes a JSON text apart in one reading: values in the order in
// which they stand, each with the bytes that it was read from, so that numbers stay
// exact and nothing unknown is lost. What readers of JSON disagree about is told
// beside the values (Doubt), for callers that refuse it.
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

// The kinds. The zero Kind is that of a value which is not there.
const (
	Object Kind = 'o'
	Array  Kind = 'a'
	String Kind = 's'
	Number Kind = 'n'
	Word   Kind = 'w' // true, false, null
)

// node is one value as it was read; those inside it follow it.
type node struct {
	kind     Kind
	end      int32 // place of the first node behind it and what is inside it
	from, to int32 // its bytes
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

// Value is one value of a Tree. The zero Value is one that is not there.
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

// Kind is the kind of the value, 0 when it is not there.
func (v Value) Kind() Kind { return v.node().kind }

// Null reports whether v is null.
func (v Value) Null() bool { return v.Kind() == Word && v.Raw()[0] == 'n' }

// Text is that of a String, decoded as encoding/json does.
func (v Value) Text() string {
	if v.Kind() != String {
		return ""
	}
	return v.t.str(v.node().text)
}

// Scalar is the text of a String, and what was written for a Number, true or false. ok is false for any
// other value.
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

// Raw is the value as it is in the text.
func (v Value) Raw() []byte {
	if v.t == nil {
		return nil
	}
	n := v.node()
	return v.t.b[n.from:n.to:n.to]
}

// Members are those of an Object, or the elements of an Array with empty names.
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

// Member returns the member of an Object that encoding/json reads for that name: the last one that
// has it exactly, else the last one that has it in another case. The zero Value means that there is none.
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

// Sorted returns the members of an Object in the order of their names: of each name the last one.
// It is empty for any other value.
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

// DoubtKind is what readers of JSON disagree about.
type DoubtKind int

// The doubts.
const (
	NoDoubt   DoubtKind = iota
	TooDeep             // nested deeper than MaxDepth
	Duplicate           // names that are equal but for case within one object
	NotUTF8             // a byte of a text is not UTF-8
	Halved              // a text has half of a surrogate pair
)

// MaxDepth is the nesting beyond which a text is TooDeep.
const MaxDepth = 32

// Doubt is the first doubt in a text and the byte where it is.
type Doubt struct {
	Kind DoubtKind
	At   int
}

// Tree is a JSON text taken apart. Free gives its memory to the next text: afterwards
// its values may not be looked at, but their texts last.
type Tree struct {
	b      []byte
	s      string // b once more: texts without escapes are parts of it
	i      int
	broken bool // the text is not JSON
	strict bool // look for doubts
	doubt  Doubt

	nodes   []node
	decoded []string // texts that are not as they are in s
}

// Root is the value that the text is.
func (t *Tree) Root() Value { return Value{t, 0} }

// Parse reads one JSON text (RFC 8259). The error is that of encoding/json. Of a name
// that stands twice all members are kept, and of bytes that are no UTF-8 a text holds
// U+FFFD.
func Parse(b []byte) (*Tree, error) {
	t, _, err := parse(b, false)
	return t, err
}

// ParseStrict is Parse that also looks for doubts.
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

// broken says where a text stops being JSON.
func broken(b []byte) error {
	var raw json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	return errors.New("jsontree: " + strconv.Itoa(len(b)) + " bytes cannot be read") // none that FuzzParse finds
}

// trees are kept for their nodes: most of the memory that reading takes.
var trees = sync.Pool{New: func() any { return new(Tree) }}

// bytesPerNode is the size of an ordinary value with its name.
const bytesPerNode = 20

// maxKept is how many nodes a kept tree has room for; an ordinary text has about 60.
const maxKept = 512

// Free may be called on nil.
func (t *Tree) Free() {
	if t == nil || cap(t.nodes) > maxKept {
		return
	}
	*t = Tree{nodes: t.nodes[:0]}
	trees.Put(t)
}
