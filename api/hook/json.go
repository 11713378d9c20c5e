package hook

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
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
	if !json.Valid(b) {
		return parsed{}, invalid(b)
	}
	p := parsers.Get().(*parser)
	p.b, p.s = b, string(b)
	p.space()
	v := p.value(0)
	if bad := p.bad; bad != nil {
		p.free()
		return parsed{}, bad
	}
	return parsed{v, p}, nil
}

// invalid says where a text stops being JSON.
func invalid(b []byte) *Malformed {
	var raw json.RawMessage
	var at *json.SyntaxError
	switch err := json.Unmarshal(b, &raw); {
	case !errors.As(err, &at):
		return &Malformed{Reason: ReasonJSON, Detail: "no JSON"}
	case strings.Contains(at.Error(), "max depth"):
		return tooDeep(int(at.Offset))
	}
	return &Malformed{Reason: ReasonJSON, Detail: "not one JSON value (byte " + strconv.FormatInt(at.Offset, 10) + ")"}
}

func tooDeep(at int) *Malformed {
	return &Malformed{Reason: ReasonDepth, Detail: "nested deeper than " + strconv.Itoa(maxDepth) + " levels (byte " + strconv.Itoa(at) + ")"}
}

// parser takes a text apart that is known to be JSON.
type parser struct {
	b   []byte
	s   string // b once more: texts without escapes are parts of it
	i   int
	bad *Malformed // the first mistake

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

func (p *parser) fail(bad *Malformed) { p.bad = first(p.bad, bad) }

func (p *parser) encoding(what string) {
	p.fail(&Malformed{Reason: ReasonEncoding, Detail: what + " (byte " + strconv.Itoa(p.i) + ")"})
}

func (p *parser) space() {
	for p.i < len(p.b) && (p.b[p.i] == ' ' || p.b[p.i] == '\n' || p.b[p.i] == '\r' || p.b[p.i] == '\t') {
		p.i++
	}
}

// next steps over a comma or colon and the space around it.
func (p *parser) next() {
	p.space()
	if p.b[p.i] == ',' || p.b[p.i] == ':' {
		p.i++
		p.space()
	}
}

func (p *parser) value(depth int) (v value) {
	if depth > maxDepth {
		p.fail(tooDeep(p.i))
	}
	from := p.i
	switch c := p.b[p.i]; {
	case c == '{':
		v = value{kind: object, members: p.members('}', depth)}
	case c == '[':
		v = value{kind: array, members: p.members(']', depth)}
	case c == '"':
		v = value{kind: str, text: p.text()}
	default:
		if v.kind = word; c == '-' || c >= '0' && c <= '9' {
			v.kind = number
		}
		for p.i < len(p.b) && strings.IndexByte(" \n\r\t,]}", p.b[p.i]) < 0 {
			p.i++
		}
	}
	v.raw = p.b[from:p.i:p.i]
	return v
}

// members reads those of an object or list up to its end.
func (p *parser) members(end byte, depth int) []member {
	var many map[string]bool
	from := len(p.open)
	p.i++
	for p.space(); p.b[p.i] != end; p.next() {
		var m member
		if end == '}' {
			m.key = p.text()
			members := p.open[from:]
			if len(members) == manyMembers {
				many = folded(members)
			}
			if twice(members, many, m.key) {
				p.fail(&Malformed{Reason: ReasonDuplicate, Detail: "a name stands twice in one object (byte " + strconv.Itoa(p.i) + ")"})
			}
			p.next()
		}
		m.val = p.value(depth + 1)
		p.open = append(p.open, m)
	}
	p.i++
	return p.close(from)
}

// text reads a string and stands behind its closing quote.
func (p *parser) text() string {
	p.i++
	from, escaped, wide := p.i, false, false
	for ; p.b[p.i] != '"'; p.i++ {
		if p.b[p.i] == '\\' {
			escaped = true
			p.i++
		}
		wide = wide || p.b[p.i] >= utf8.RuneSelf
	}
	s := p.s[from:p.i]
	p.i++
	if wide && !utf8.ValidString(s) {
		p.encoding("a byte is no UTF-8")
	}
	if !escaped {
		return s
	}
	if halved(s) {
		p.encoding("half a surrogate pair")
	}
	var out string
	_ = json.Unmarshal(p.b[from-1:p.i], &out) // it is JSON
	return out
}

// halved reports whether the escapes of a text hold half of a surrogate pair.
func halved(s string) bool {
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
