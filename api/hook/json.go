package hook

import (
	"strconv"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds the nesting of a body; the deepest known one has six levels.
const maxDepth = 32

type kind byte

const (
	object kind = 'o'
	array  kind = 'a'
	str    kind = 's'
	number kind = 'n'
	word   kind = 'w' // true, false, null
)

// value is one JSON value with the bytes it was read from.
type value struct {
	kind    kind
	raw     []byte
	text    string   // of a string, decoded
	members []member // of an object; of a list, with empty keys
}

type member struct {
	key string
	val value
}

// get returns the member with exactly that name; null counts as missing.
func (v value) get(key string) (value, bool) {
	for i := range v.members {
		if m := &v.members[i]; m.key == key {
			return m.val, !m.val.null()
		}
	}
	return value{}, false
}

func (v value) null() bool { return v.kind == word && string(v.raw) == "null" }

// parsed is a JSON text taken apart. free gives its lists of members to the next
// text: afterwards the value may not be looked at, but the texts in it last.
type parsed struct {
	value
	p *parser
}

func (d parsed) free() {
	if d.p != nil {
		d.p.free()
	}
}

// parse reads one JSON text (RFC 8259) and refuses what readers of JSON
// disagree about: keys that are equal but for case within one object, bytes
// that are no UTF-8, lone surrogates, a byte order mark, anything after the
// value, and more than maxDepth levels.
func parse(b []byte) (parsed, *Malformed) {
	p := parsers.Get().(*parser)
	p.b, p.s, p.i, p.bad = b, string(b), 0, nil
	p.space()
	v := p.value(0)
	p.space()
	if p.bad == nil && p.i < len(b) {
		p.fail(ReasonJSON, "something follows the JSON value")
	}
	if p.bad != nil {
		bad := p.bad
		p.free()
		return parsed{}, bad
	}
	return parsed{v, p}, nil
}

type parser struct {
	b   []byte
	s   string // b once more: texts without escapes are parts of it
	i   int
	bad *Malformed // the first mistake; ends the reading

	open []member // of the objects and lists around the place, the innermost last
	done []member // of those that are read
}

// parsers are kept for their lists: most of the memory that reading takes.
var parsers = sync.Pool{New: func() any { return new(parser) }}

// maxKept is how many members a kept list holds; an ordinary body has about 60.
const maxKept = 512

func (p *parser) free() {
	if cap(p.open) > maxKept || cap(p.done) > maxKept {
		return
	}
	clear(p.open[:cap(p.open)])
	clear(p.done[:cap(p.done)])
	*p = parser{open: p.open[:0], done: p.done[:0]}
	parsers.Put(p)
}

// close moves the members behind from to those that are read.
func (p *parser) close(from int) []member {
	at := len(p.done)
	p.done = append(p.done, p.open[from:]...)
	p.open = p.open[:from]
	return p.done[at:len(p.done):len(p.done)]
}

func (p *parser) fail(r Reason, what string) {
	if p.bad == nil {
		p.bad = &Malformed{Reason: r, Detail: what + " (byte " + strconv.Itoa(p.i) + ")"}
		p.i = len(p.b)
	}
}

func (p *parser) peek() byte {
	if p.i < len(p.b) {
		return p.b[p.i]
	}
	return 0
}

func (p *parser) space() {
	for p.i < len(p.b) && (p.b[p.i] == ' ' || p.b[p.i] == '\n' || p.b[p.i] == '\r' || p.b[p.i] == '\t') {
		p.i++
	}
}

func (p *parser) value(depth int) (v value) {
	if depth > maxDepth {
		p.fail(ReasonDepth, "nested deeper than 32 levels")
		return v
	}
	from := p.i
	switch c := p.peek(); {
	case c == '{':
		v = p.object(depth)
	case c == '[':
		v = p.array(depth)
	case c == '"':
		v = value{kind: str, text: p.string()}
	case c == '-' || c >= '0' && c <= '9':
		v = p.number()
	default:
		v = p.word()
	}
	if p.bad == nil {
		v.raw = p.b[from:p.i:p.i]
	}
	return v
}

func (p *parser) object(depth int) value {
	v := value{kind: object}
	var many map[string]bool
	from := len(p.open)
	p.i++
	for p.space(); p.bad == nil && p.peek() != '}'; p.space() {
		members := p.open[from:]
		if len(members) > 0 && !p.comma() {
			return v
		}
		if p.peek() != '"' {
			p.fail(ReasonJSON, "a name in quotes is missing")
			return v
		}
		key := p.string()
		if len(members) == manyMembers {
			many = folded(members)
		}
		if twice(members, many, key) {
			p.fail(ReasonDuplicate, "a name stands twice in one object")
			return v
		}
		if p.space(); p.peek() != ':' {
			p.fail(ReasonJSON, "a colon is missing")
			return v
		}
		p.i++
		p.space()
		val := p.value(depth + 1)
		p.open = append(p.open, member{key, val})
	}
	p.i++
	v.members = p.close(from)
	return v
}

func (p *parser) array(depth int) value {
	v := value{kind: array}
	from := len(p.open)
	p.i++
	for p.space(); p.bad == nil && p.peek() != ']'; p.space() {
		if len(p.open) > from && !p.comma() {
			return v
		}
		val := p.value(depth + 1)
		p.open = append(p.open, member{val: val})
	}
	p.i++
	v.members = p.close(from)
	return v
}

func (p *parser) comma() bool {
	if p.peek() != ',' {
		p.fail(ReasonJSON, "a comma or an end is missing")
		return false
	}
	p.i++
	p.space()
	return true
}

func (p *parser) word() value {
	for _, w := range []string{"null", "true", "false"} {
		if len(p.b)-p.i >= len(w) && string(p.b[p.i:p.i+len(w)]) == w {
			p.i += len(w)
			return value{kind: word}
		}
	}
	p.fail(ReasonJSON, "no JSON value")
	return value{}
}

func (p *parser) digits() bool {
	from := p.i
	for p.i < len(p.b) && p.b[p.i] >= '0' && p.b[p.i] <= '9' {
		p.i++
	}
	return p.i > from
}

func (p *parser) number() value {
	if p.peek() == '-' {
		p.i++
	}
	ok := true
	if p.peek() == '0' {
		p.i++
	} else {
		ok = p.digits()
	}
	if ok && p.peek() == '.' {
		p.i++
		ok = p.digits()
	}
	if c := p.peek(); ok && (c == 'e' || c == 'E') {
		p.i++
		if c := p.peek(); c == '+' || c == '-' {
			p.i++
		}
		ok = p.digits()
	}
	if !ok {
		p.fail(ReasonJSON, "a number is broken")
	}
	return value{kind: number}
}

// string reads a string and stands behind its closing quote.
func (p *parser) string() string {
	p.i++
	from := p.i
	for p.i < len(p.b) { // most strings hold no escapes
		switch c := p.b[p.i]; {
		case c == '"':
			p.i++
			return p.s[from : p.i-1]
		case c == '\\':
			return p.escaped(from)
		case c < 0x20:
			p.fail(ReasonJSON, "a control character stands in a text")
			return ""
		case c < utf8.RuneSelf:
			p.i++
		default:
			p.rune()
		}
	}
	p.fail(ReasonJSON, "a text has no end")
	return ""
}

// rune steps over one character beyond ASCII.
func (p *parser) rune() {
	r, n := utf8.DecodeRune(p.b[p.i:])
	if r == utf8.RuneError && n == 1 {
		p.fail(ReasonEncoding, "a byte is no UTF-8")
		return
	}
	p.i += n
}

// escaped goes on with a string whose first escape is at p.i.
func (p *parser) escaped(from int) string {
	out := append([]byte(nil), p.b[from:p.i]...)
	for p.i < len(p.b) {
		c := p.b[p.i]
		switch {
		case c == '"':
			p.i++
			return string(out)
		case c == '\\':
			out = p.escape(out)
		case c < 0x20:
			p.fail(ReasonJSON, "a control character stands in a text")
		case c < utf8.RuneSelf:
			out = append(out, c)
			p.i++
		default:
			at := p.i
			p.rune()
			if p.bad == nil {
				out = append(out, p.b[at:p.i]...)
			}
		}
	}
	p.fail(ReasonJSON, "a text has no end")
	return ""
}

func (p *parser) escape(out []byte) []byte {
	p.i++
	c := p.peek()
	p.i++
	switch c {
	case '"', '\\', '/':
		return append(out, c)
	case 'b':
		return append(out, '\b')
	case 'f':
		return append(out, '\f')
	case 'n':
		return append(out, '\n')
	case 'r':
		return append(out, '\r')
	case 't':
		return append(out, '\t')
	case 'u':
		return p.unicode(out)
	}
	p.fail(ReasonJSON, "an escape is unknown")
	return out
}

func (p *parser) unicode(out []byte) []byte {
	r, ok := p.hex4()
	if ok && utf16.IsSurrogate(r) {
		if p.i+1 >= len(p.b) || p.b[p.i] != '\\' || p.b[p.i+1] != 'u' {
			p.fail(ReasonEncoding, "half a surrogate pair")
			return out
		}
		p.i += 2
		var low rune
		low, ok = p.hex4()
		if r = utf16.DecodeRune(r, low); ok && r == unicode.ReplacementChar {
			p.fail(ReasonEncoding, "half a surrogate pair")
			return out
		}
	}
	if !ok {
		p.fail(ReasonJSON, "an escape is broken")
		return out
	}
	return utf8.AppendRune(out, r)
}

func (p *parser) hex4() (r rune, ok bool) {
	if p.i+4 > len(p.b) {
		return 0, false
	}
	for _, c := range p.b[p.i : p.i+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	p.i += 4
	return r, true
}
