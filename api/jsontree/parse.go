package jsontree

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// maxNesting is the nesting that encoding/json reads.
const maxNesting = 10_000

// parser takes one text apart. Once broken it stays where it is: the text is no JSON.
type parser struct {
	b      []byte
	s      string // b once more: texts without escapes are parts of it
	i      int
	broken bool
	strict bool  // look for doubts
	doubt  Doubt // the first one

	open []Member // of the objects and lists around the place, the innermost last
	done []Member // of those that are read
}

// close moves the members behind from to those that are read.
func (p *parser) close(from int) []Member {
	at := len(p.done)
	p.done = append(p.done, p.open[from:]...)
	clear(p.open[from:])
	p.open = p.open[:from]
	return p.done[at:len(p.done):len(p.done)]
}

func (p *parser) doubts(kind DoubtKind) {
	if p.doubt.Kind == NoDoubt {
		p.doubt = Doubt{kind, p.i}
	}
}

// peek is the character at hand, 0 at the end.
func (p *parser) peek() byte {
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

// take steps over c.
func (p *parser) take(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.i++
	return true
}

func (p *parser) space() {
	for p.i < len(p.s) && (p.s[p.i] == ' ' || p.s[p.i] == '\n' || p.s[p.i] == '\r' || p.s[p.i] == '\t') {
		p.i++
	}
}

// value reads into the zero Value v.
func (p *parser) value(depth int, v *Value) {
	if p.strict && depth > MaxDepth {
		p.doubts(TooDeep)
	}
	from := p.i
	switch c := p.peek(); {
	case c == '{':
		v.Kind = Object
		v.Members = p.members('}', depth+1)
	case c == '[':
		v.Kind = Array
		v.Members = p.members(']', depth+1)
	case c == '"':
		v.Kind = String
		v.Text = p.text()
	case c == '-' || c >= '0' && c <= '9':
		v.Kind = Number
		p.number()
	default:
		v.Kind = Word
		p.word()
	}
	v.Raw = p.b[from:p.i:p.i]
}

// members reads those of an object or list up to its end.
func (p *parser) members(end byte, depth int) []Member {
	if depth > maxNesting {
		p.broken = true
		return nil
	}
	var many map[string]bool
	from := len(p.open)
	p.i++
	p.space()
	for more := !p.take(end); more && !p.broken; {
		var m Member
		if end == '}' {
			m.Name = p.name()
			if p.strict && !p.broken {
				many = p.unique(p.open[from:], many, m.Name)
			}
			p.space()
			p.broken = p.broken || !p.take(':')
			p.space()
		}
		if p.broken {
			break
		}
		p.value(depth, &m.Value)
		p.open = append(p.open, m)
		p.space()
		if more = p.take(','); more {
			p.space()
		} else if !p.take(end) {
			p.broken = true
		}
	}
	return p.close(from)
}

func (p *parser) name() string {
	if p.peek() != '"' {
		p.broken = true
		return ""
	}
	return p.text()
}

func (p *parser) word() {
	for _, w := range [...]string{"true", "false", "null"} {
		if strings.HasPrefix(p.s[p.i:], w) {
			p.i += len(w)
			return
		}
	}
	p.broken = true
}

func (p *parser) number() {
	p.take('-')
	ok := p.take('0') || p.digits()
	if p.take('.') {
		ok = p.digits() && ok
	}
	if p.take('e') || p.take('E') {
		_ = p.take('+') || p.take('-')
		ok = p.digits() && ok
	}
	p.broken = p.broken || !ok
}

// digits steps over one digit or more.
func (p *parser) digits() bool {
	from := p.i
	for p.i < len(p.s) && p.s[p.i] >= '0' && p.s[p.i] <= '9' {
		p.i++
	}
	return p.i > from
}

// text reads a string and stands behind its closing quote.
func (p *parser) text() string {
	from, escaped, wide := p.i+1, false, false
	i := from
	for ; i < len(p.s) && p.s[i] != '"'; i++ {
		switch c := p.s[i]; {
		case c >= utf8.RuneSelf:
			wide = true
		case c == '\\' && escape(p.s[i+1:]):
			escaped = true
			i++
		case c < 0x20 || c == '\\':
			p.broken = true
			return ""
		}
	}
	if p.broken = i >= len(p.s); p.broken {
		return ""
	}
	s := p.s[from:i]
	p.i = i + 1
	damaged := wide && !utf8.ValidString(s)
	if !escaped && !damaged {
		return s
	}
	switch {
	case damaged:
		p.doubts(NotUTF8)
	case p.strict && halved(s):
		p.doubts(Halved)
	}
	var out string
	_ = json.Unmarshal(p.b[from-1:p.i], &out) // it is JSON
	return out
}

// escape reports whether s begins with what may stand behind a backslash.
func escape(s string) bool {
	if s == "" || s[0] != 'u' {
		return s != "" && strings.IndexByte(`"\/bfnrt`, s[0]) >= 0
	}
	hex := s[1:min(5, len(s))]
	return len(hex) == 4 && strings.Trim(hex, "0123456789abcdefABCDEF") == ""
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
