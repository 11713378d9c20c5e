package api

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"opdeck/api/untrusted"
)

// reader walks over JSON of known shape. Once bad it stays where it is: the
// document needs the library.
type reader struct {
	b   []byte
	i   int
	bad bool
}

func (r *reader) fail() { r.bad = true }

// end reports whether the whole document was read.
func (r *reader) end() bool {
	r.space()
	return !r.bad && r.i == len(r.b)
}

func (r *reader) space() {
	for r.i < len(r.b) {
		switch r.b[r.i] {
		case ' ', '\t', '\n', '\r':
			r.i++
		default:
			return
		}
	}
}

// next is the next character that is no space, 0 at the end.
func (r *reader) next() byte {
	r.space()
	if r.i < len(r.b) {
		return r.b[r.i]
	}
	return 0
}

// take steps over c.
func (r *reader) take(c byte) bool {
	if r.bad || r.next() != c {
		return false
	}
	r.i++
	return true
}

// word steps over a literal.
func (r *reader) word(w string) bool {
	r.space()
	if r.bad || len(r.b)-r.i < len(w) || string(r.b[r.i:r.i+len(w)]) != w {
		return false
	}
	r.i += len(w)
	return true
}

func (r *reader) null() bool { return r.word("null") }

// object calls value for each name that is one of names, by its place there,
// with the reader at its value. Other values are stepped over.
func (r *reader) object(names []string, value func(i int)) {
	if !r.take('{') {
		r.fail()
		return
	}
	if r.take('}') {
		return
	}
	var seen uint32
	expect := 0 // records mostly come in the order of the types
	for !r.bad {
		name := r.plain()
		if !r.take(':') {
			r.fail()
			return
		}
		i := place(names, name, expect)
		switch {
		case i >= 0 && seen&(1<<i) != 0, i < 0 && alike(names, name):
			r.fail() // the library merges the one and matches the other
		case i >= 0:
			seen |= 1 << i
			expect = i + 1
			value(i)
		default:
			r.skip()
		}
		if r.take('}') {
			return
		}
		if !r.take(',') {
			r.fail()
		}
	}
}

func place(names []string, name []byte, expect int) int {
	if expect < len(names) && names[expect] == string(name) {
		return expect
	}
	for i, n := range names {
		if n == string(name) {
			return i
		}
	}
	return -1
}

func alike(names []string, name []byte) bool {
	for _, n := range names {
		if strings.EqualFold(n, string(name)) {
			return true
		}
	}
	return false
}

// skip steps over a value of any kind.
func (r *reader) skip() {
	from, depth := r.i, 0
value:
	for ; r.i < len(r.b); r.i++ {
		switch r.b[r.i] {
		case '"':
			for r.i++; r.i < len(r.b) && r.b[r.i] != '"'; r.i++ {
				if r.b[r.i] == '\\' {
					r.i++
				}
			}
		case '{', '[':
			depth++
		case ',':
			if depth == 0 {
				break value
			}
		case '}', ']':
			if depth == 0 {
				break value
			}
			depth--
		}
	}
	r.i = min(r.i, len(r.b))
	if !json.Valid(r.b[from:r.i]) {
		r.fail()
	}
}

func (r *reader) array(item func()) {
	if !r.take('[') {
		r.fail()
		return
	}
	if r.take(']') {
		return
	}
	for !r.bad {
		item()
		if r.take(']') {
			return
		}
		if !r.take(',') {
			r.fail()
		}
	}
}

// plain is a string without escapes, in valid UTF-8.
func (r *reader) plain() []byte {
	if !r.take('"') {
		r.fail()
		return nil
	}
	from, wide := r.i, false
	for ; r.i < len(r.b); r.i++ {
		switch c := r.b[r.i]; {
		case c == '"':
			s := r.b[from:r.i]
			r.i++
			if wide && !utf8.Valid(s) {
				r.fail()
			}
			return s
		case c == '\\' || c < 0x20:
			r.fail()
			return nil
		case c >= utf8.RuneSelf:
			wide = true
		}
	}
	r.fail()
	return nil
}

func (r *reader) text(t *untrusted.Text) {
	if r.bad || r.null() {
		return
	}
	if c := r.next(); c == '-' || c >= '0' && c <= '9' { // an id as a number
		*t = untrusted.Text(r.digits())
		return
	}
	from := r.i
	if s := r.plain(); !r.bad {
		*t = untrusted.Text(s)
		return
	}
	r.i, r.bad = from, false
	*t = untrusted.Text(r.escaped())
}

// escaped is a string that is not plain; the library reads it.
func (r *reader) escaped() (s string) {
	if !r.take('"') {
		r.fail()
		return ""
	}
	from := r.i - 1
	for ; r.i < len(r.b); r.i++ {
		switch r.b[r.i] {
		case '\\':
			r.i++
		case '"':
			r.i++
			if json.Unmarshal(r.b[from:r.i], &s) != nil {
				r.fail()
			}
			return s
		}
	}
	r.fail()
	return ""
}

func (r *reader) flag(f *bool) {
	switch {
	case r.word("true"):
		*f = true
	case r.word("false"):
		*f = false
	case r.null():
	default: // "true", 1
		is, ok := flagWord(string(r.number()))
		if *f = is; !ok {
			r.fail()
		}
	}
}

// number is what Number keeps of a string or a whole number.
func (r *reader) number() Number {
	switch {
	case r.next() == '"':
		return Number(r.plain())
	case r.null():
		return ""
	}
	return Number(r.digits())
}

// digits is a whole number as JSON writes it.
func (r *reader) digits() []byte {
	neg := r.take('-')
	from := r.i
	for r.i < len(r.b) && r.b[r.i] >= '0' && r.b[r.i] <= '9' {
		r.i++
	}
	if n := r.i - from; r.bad || n == 0 || n > 1 && r.b[from] == '0' {
		r.fail()
		return nil
	}
	if r.i < len(r.b) && strings.IndexByte(".eE", r.b[r.i]) >= 0 {
		r.fail()
		return nil
	}
	if neg {
		from--
	}
	return r.b[from:r.i]
}

// whole is a whole number, or the text of one.
func (r *reader) whole(v *int64) {
	if r.next() != '"' {
		r.short(v)
		return
	}
	n, ok := wholeWord(string(r.plain()))
	if *v = n; !ok {
		r.fail()
	}
}

// short is a whole number of up to 18 digits, or null.
func (r *reader) short(v *int64) {
	if r.null() {
		return
	}
	d := r.digits()
	if len(d) > 18 {
		r.fail()
	}
	var x int64
	for _, c := range d {
		if c != '-' {
			x = 10*x + int64(c-'0')
		}
	}
	if len(d) > 0 && d[0] == '-' {
		x = -x
	}
	*v = x
}
