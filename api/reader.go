package api

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Reading operations is what browsing costs most: each page of the list reads
// dozens of them from the index. reader reads the usual shapes of a record, with the
// fields of its type known beforehand. What is unusual (a name in another case, a
// name twice, a value of another kind) it leaves to readRecord, and where it answers,
// its answer is that of readRecord: FuzzOperation holds the two together.

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

// record reads an object into the struct v. Values without a field are stepped
// over; a field that comes twice, or in another case, is left to the library,
// which merges the one and matches the other.
func (r *reader) record(v reflect.Value, l *layout) {
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
		i := l.place(name, expect)
		switch {
		case i >= 0 && seen&(1<<i) != 0, i < 0 && l.alike(name):
			r.fail()
		case i >= 0:
			seen |= 1 << i
			expect = i + 1
			f := &l.fields[i]
			r.value(v.Field(f.index), f.layout)
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

// value reads what comes next into v; null leaves v at zero.
func (r *reader) value(v reflect.Value, l *layout) {
	if r.bad || r.null() {
		return
	}
	switch l.kind {
	case isNumber:
		v.SetString(string(r.number()))
	case isTime:
		*v.Addr().Interface().(*Time) = timeOf(r.number())
	case isRecord:
		r.record(v, l)
	case isText:
		v.SetString(r.text())
	case isFlag:
		v.SetBool(r.flag())
	case isWhole:
		v.SetInt(r.whole())
	case isPointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.value(v.Elem(), l.elem)
	case isList:
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		r.array(func() {
			n := v.Len()
			v.Grow(1)
			v.SetLen(n + 1)
			r.value(v.Index(n), l.elem)
		})
	default:
		r.fail()
	}
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

// text is that of a string, or of an id as a number.
func (r *reader) text() string {
	if c := r.next(); c == '-' || c >= '0' && c <= '9' {
		return string(r.digits())
	}
	from := r.i
	if s := r.plain(); !r.bad {
		return string(s)
	}
	r.i, r.bad = from, false
	return r.escaped()
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

func (r *reader) flag() bool {
	switch {
	case r.word("true"):
		return true
	case r.word("false"):
		return false
	}
	is, ok := flagWord(string(r.number())) // "true", 1
	if !ok {
		r.fail()
	}
	return is
}

// number is what Number keeps of a string or a whole number.
func (r *reader) number() Number {
	if r.next() == '"' {
		return Number(r.plain())
	}
	return Number(r.digits())
}

// digits is a whole number as JSON writes it.
func (r *reader) digits() []byte {
	neg := r.take('-')
	from, first := r.i, r.i
	if neg {
		from--
	}
	for r.i < len(r.b) && r.b[r.i] >= '0' && r.b[r.i] <= '9' {
		r.i++
	}
	n := r.i - first
	if r.bad || n == 0 || n > 1 && r.b[first] == '0' || r.i < len(r.b) && strings.IndexByte(".eE", r.b[r.i]) >= 0 {
		r.fail()
		return nil
	}
	return r.b[from:r.i]
}

// whole is a whole number of up to 18 digits, or the text of one.
func (r *reader) whole() int64 {
	if r.next() == '"' {
		n, ok := wholeWord(string(r.plain()))
		if !ok {
			r.fail()
		}
		return n
	}
	d := r.digits()
	n, err := strconv.ParseInt(string(d), 10, 64)
	if err != nil || len(d) > 18 {
		r.fail()
	}
	return n
}

// layout tells how reader reads a Go type.
type layout struct {
	kind   kind
	fields []field // of a record, in the order of its declaration
	elem   *layout // of a pointer or list
}

type field struct {
	name   string
	index  int
	layout *layout
}

type kind int

const (
	isOther kind = iota // left to the library
	isRecord
	isText
	isFlag
	isWhole
	isNumber
	isTime
	isPointer
	isList
)

const maxFields = 32 // of a record: bits of what was seen

func layoutOf(t reflect.Type) *layout {
	switch {
	case t == reflect.TypeFor[Number]():
		return &layout{kind: isNumber}
	case t == reflect.TypeFor[Time]():
		return &layout{kind: isTime}
	case t.Kind() == reflect.String:
		return &layout{kind: isText}
	case t.Kind() == reflect.Bool:
		return &layout{kind: isFlag}
	case t.Kind() == reflect.Int64:
		return &layout{kind: isWhole}
	case t.Kind() == reflect.Pointer:
		return &layout{kind: isPointer, elem: layoutOf(t.Elem())}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return &layout{kind: isList, elem: layoutOf(t.Elem())}
	case t.Kind() != reflect.Struct || t.NumField() > maxFields:
		return &layout{}
	}
	l := &layout{kind: isRecord}
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" {
			l.fields = append(l.fields, field{name, f.Index[0], layoutOf(f.Type)})
		}
	}
	return l
}

func (l *layout) names() []string {
	var out []string
	for _, f := range l.fields {
		out = append(out, f.name)
	}
	return out
}

// place is where the field of that name stands, -1 for none; expect is tried first.
func (l *layout) place(name []byte, expect int) int {
	if expect < len(l.fields) && l.fields[expect].name == string(name) {
		return expect
	}
	return slices.IndexFunc(l.fields, func(f field) bool { return f.name == string(name) })
}

func (l *layout) alike(name []byte) bool {
	return slices.ContainsFunc(l.fields, func(f field) bool { return strings.EqualFold(f.name, string(name)) })
}
