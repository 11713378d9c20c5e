// Package jsontree takes a JSON text apart in one reading: values in the order in
// which they stand, each with the bytes that it was read from, so that numbers stay
// exact and nothing unknown is lost. What readers of JSON disagree about is told
// beside the values (Doubt), for callers that refuse it.
package jsontree

import (
	"encoding/json"
	"errors"
	"strconv"
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

// Value is one JSON value.
type Value struct {
	Kind    Kind
	Raw     []byte   // as it stands in the text
	Text    string   // of a String, decoded as encoding/json does
	Members []Member // of an Object; of an Array, with empty names
}

// Member is one member of an Object or element of an Array.
type Member struct {
	Name  string
	Value Value
}

// Get returns the member with exactly that name; null counts as missing.
func (v *Value) Get(name string) (Value, bool) {
	for i := range v.Members {
		if m := &v.Members[i]; m.Name == name {
			return m.Value, !m.Value.Null()
		}
	}
	return Value{}, false
}

// Null reports whether v is null.
func (v *Value) Null() bool { return v.Kind == Word && string(v.Raw) == "null" }

// DoubtKind is what readers of JSON disagree about.
type DoubtKind int

// The doubts.
const (
	NoDoubt   DoubtKind = iota
	TooDeep             // nested deeper than MaxDepth
	Duplicate           // names that are equal but for case within one object
	NotUTF8             // a byte of a text is no UTF-8
	Halved              // a text has half of a surrogate pair
)

// MaxDepth is the nesting beyond which a text is TooDeep.
const MaxDepth = 32

// Doubt is the first doubt in a text and the byte where it is.
type Doubt struct {
	Kind DoubtKind
	At   int
}

// Tree is a JSON text taken apart. Free gives its lists of members to the next
// text: afterwards the values may not be looked at, but the texts in them last.
type Tree struct {
	Value
	p *parser
}

// Free may be called on the zero Tree.
func (t Tree) Free() {
	if t.p != nil {
		t.p.free()
	}
}

// Parse reads one JSON text (RFC 8259). The error is that of encoding/json. Of a name
// that stands twice all members are kept, and of bytes that are no UTF-8 a Text holds
// U+FFFD.
func Parse(b []byte) (Tree, error) {
	t, _, err := parse(b, false)
	return t, err
}

// ParseStrict is Parse that also looks for doubts.
func ParseStrict(b []byte) (Tree, Doubt, error) { return parse(b, true) }

func parse(b []byte, strict bool) (Tree, Doubt, error) {
	p := parsers.Get().(*parser)
	p.b, p.s, p.strict = b, string(b), strict
	p.space()
	t := Tree{p: p}
	p.value(0, &t.Value)
	p.space()
	if p.broken || p.i < len(b) {
		p.free()
		return Tree{}, Doubt{}, broken(b)
	}
	return t, p.doubt, nil
}

// broken says where a text stops being JSON.
func broken(b []byte) error {
	var raw json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	return errors.New("jsontree: " + strconv.Itoa(len(b)) + " bytes cannot be read") // encoding/json reads them: the fuzz test finds none
}

// parsers are kept for their lists: most of the memory that reading takes.
var parsers = sync.Pool{New: func() any { return new(parser) }}

// maxKept is how many members a kept list holds; an ordinary text has about 60.
const maxKept = 512

func (p *parser) free() {
	if cap(p.open) > maxKept || cap(p.done) > maxKept {
		return
	}
	clear(p.open)
	clear(p.done)
	*p = parser{open: p.open[:0], done: p.done[:0]}
	parsers.Put(p)
}
