package jsontree

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

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
