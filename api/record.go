package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"opdeck/api/jsontree"
)

// errNoObject: a record is JSON but not an object.
var errNoObject = errors.New("api: the record is not a JSON object")

// ReadRecord decodes JSON into the struct that v points to; it does not call v's UnmarshalJSON. Each member is read in
// the form of the service's documents only: under exactly its name, a text from a text, a number from a number, a flag
// from true or false. A value of any other form never loses the record: it leaves its field at zero and a whole number
// at -1; Unknown lists it, and Raw keeps it. Of a repeated member none counts.
//
// The tag "also" of a field lists names that are tried, in this order, if its own member is missing or empty: the
// documents use several. ReadRecord fails if b is not JSON, or neither an object nor null.
func ReadRecord(b []byte, v any) error {
	from, err := jsontree.Parse(b)
	if err != nil {
		return err
	}
	return readInto(from, v)
}

func readInto(from jsontree.Value, v any) error {
	to := reflect.ValueOf(v).Elem()
	l := recordLayout(to.Type())
	if l.read(from, to); !l.fits(from) && !from.Null() {
		return errNoObject
	}
	return nil
}

// keepRecord decodes JSON into *to, replacing its value, and copies it to raw, a member of *to. After an error *to
// holds only the copy.
func keepRecord[T any](b []byte, to *T, raw *json.RawMessage) error {
	var read T
	err := ReadRecord(b, &read)
	*to = read
	*raw = bytes.Clone(b)
	return err
}

// Form is a member that reads itself: Read reports whether v has its documented form. What it keeps of another value
// stays.
type Form interface{ Read(v jsontree.Value) bool }

// ReadMembers decodes an object into the struct that v points to, as ReadRecord does, and returns the members that have
// another form than the documented one, in path order.
func ReadMembers(from jsontree.Value, v any) []Field {
	_ = readInto(from, v)
	return slices.DeleteFunc(unknown(from, reflect.TypeOf(v).Elem()), func(f Field) bool { return !f.Odd })
}

// layout describes how a Go type is read.
type layout struct {
	fields []field                                  // of a struct, in declaration order
	elem   *layout                                  // of a slice
	fits   func(v jsontree.Value) bool              // whether v has the documented form, regardless of its elements
	set    func(v jsontree.Value, to reflect.Value) // reads a v that fits
	checks bool                                     // the type is a checker
	odd    func(v jsontree.Value, to reflect.Value) // marks to as not known if v does not fit; nil: to stays empty
	once   bool                                     // a second member of its name, in any spelling, makes it not known
}

// checker looks at the value that it was just read from, which may not fit.
type checker interface{ check(v jsontree.Value) }

// single is a value that a second member of its name, in any spelling, makes not known.
type single interface{ twice(v jsontree.Value) }

type field struct {
	name   string
	also   []string
	index  []int
	layout *layout
}

// read reads v into to; null and a value that does not fit leave it empty.
func (l *layout) read(v jsontree.Value, to reflect.Value) {
	switch {
	case l.fits(v):
		l.set(v, to)
	case l.odd != nil && !v.Null():
		l.odd(v, to)
	default:
		to.SetZero()
	}
	if l.checks && !v.Null() {
		to.Addr().Interface().(checker).check(v)
	}
}

var layouts sync.Map // of structs, by type

func recordLayout(t reflect.Type) *layout {
	if l, ok := layouts.Load(t); ok {
		return l.(*layout)
	}
	l := &layout{fits: isKind(jsontree.Object)}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			l.fields = append(l.fields, field{name, strings.Fields(f.Tag.Get("also")), f.Index, layoutOf(f.Type)})
		}
	}
	l.checks = reflect.PointerTo(t).Implements(reflect.TypeFor[checker]())
	l.once = reflect.PointerTo(t).Implements(reflect.TypeFor[single]())
	l.set = l.readRecord
	layouts.Store(t, l)
	return l
}

// memberNames returns the names under which that member is read into a T.
func memberNames[T any](name string) []string {
	l := recordLayout(reflect.TypeFor[T]())
	return append([]string{name}, l.fields[l.place(name)].also...)
}

func isKind(kinds ...jsontree.Kind) func(v jsontree.Value) bool {
	return func(v jsontree.Value) bool { return slices.Contains(kinds, v.Kind()) }
}

func isFlag(v jsontree.Value) bool { _, ok := v.Flag(); return ok }

func isWhole(v jsontree.Value) bool {
	_, err := strconv.ParseInt(string(v.Raw()), 10, 64)
	return v.Kind() == jsontree.Number && err == nil
}

// layoutOf returns the layout of a field.
func layoutOf(t reflect.Type) *layout {
	switch {
	case t == reflect.TypeFor[Number](): // the documents write numbers either way
		return &layout{fits: isKind(jsontree.String, jsontree.Number),
			set: func(v jsontree.Value, to reflect.Value) { to.SetString(string(numberOf(v))) }}
	case t == reflect.TypeFor[Time]():
		set := func(v jsontree.Value, to reflect.Value) { *to.Addr().Interface().(*Time) = timeIn(v) }
		return &layout{fits: isKind(jsontree.String), set: set, odd: set}
	case t == reflect.TypeFor[Lock](): // read by the record's check
		return &layout{fits: isFlag, set: func(jsontree.Value, reflect.Value) {}}
	case reflect.PointerTo(t).Implements(reflect.TypeFor[Form]()):
		read := func(v jsontree.Value, to reflect.Value) { to.Addr().Interface().(Form).Read(v) }
		return &layout{set: read, odd: read,
			fits: func(v jsontree.Value) bool { return reflect.New(t).Interface().(Form).Read(v) }}
	case t.Kind() == reflect.Pointer:
		return pointerLayout(layoutOf(t.Elem()))
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		return &layout{fits: func(jsontree.Value) bool { return true }, set: func(v jsontree.Value, to reflect.Value) {
			_ = json.Unmarshal(v.Raw(), to.Addr().Interface())
		}}
	}
	switch t.Kind() {
	case reflect.Struct:
		return recordLayout(t)
	case reflect.Slice:
		return listLayout(layoutOf(t.Elem()))
	case reflect.Bool:
		return &layout{fits: isFlag, set: func(v jsontree.Value, to reflect.Value) {
			is, _ := v.Flag()
			to.SetBool(is)
		}}
	case reflect.Int64:
		return &layout{fits: isWhole, odd: func(_ jsontree.Value, to reflect.Value) { to.SetInt(-1) },
			set: func(v jsontree.Value, to reflect.Value) {
				n, _ := strconv.ParseInt(string(v.Raw()), 10, 64)
				to.SetInt(n)
			}}
	}
	return &layout{fits: isKind(jsontree.String),
		set: func(v jsontree.Value, to reflect.Value) { to.SetString(v.Text()) }}
}

// pointerLayout leaves the pointer nil unless the value fits.
func pointerLayout(elem *layout) *layout {
	return &layout{fields: elem.fields, elem: elem.elem, fits: elem.fits, set: func(v jsontree.Value, to reflect.Value) {
		to.Set(reflect.New(to.Type().Elem()))
		elem.read(v, to.Elem())
	}}
}

// listLayout reads elements one by one. An unreadable one stays at zero, so that the count is right.
func listLayout(elem *layout) *layout {
	return &layout{elem: elem, once: true, fits: isKind(jsontree.Array), set: func(v jsontree.Value, to reflect.Value) {
		to.Set(reflect.MakeSlice(to.Type(), v.Len(), v.Len()))
		for i, m := range elementsOf(v) {
			elem.read(m, to.Index(i))
		}
	}}
}

func elementsOf(v jsontree.Value) []jsontree.Value {
	out := make([]jsontree.Value, 0, v.Len())
	for _, m := range v.Members() {
		out = append(out, m)
	}
	return out
}

// readRecord reads an object into a struct.
func (l *layout) readRecord(v jsontree.Value, to reflect.Value) {
	to.SetZero()
	var seen, twice uint64 // of l.fields
	for name, m := range v.Members() {
		if i := l.place(name); i >= 0 {
			twice, seen = twice|seen&(1<<i), seen|1<<i
			l.fields[i].layout.read(m, to.FieldByIndex(l.fields[i].index))
		}
	}
	for i, f := range l.fields {
		at := to.FieldByIndex(f.index)
		if twice&(1<<i) != 0 || f.layout.once && spelt(v, f.name) > 1 {
			f.doubled(v.Member(f.name), at)
			continue
		}
		for _, name := range f.also {
			if m := v.Member(name); at.IsZero() && m.Kind() != 0 {
				f.layout.read(m, at)
			}
		}
	}
}

// doubled makes a field not known whose member is repeated.
func (f field) doubled(m jsontree.Value, to reflect.Value) {
	if s, is := to.Addr().Interface().(single); is {
		s.twice(m)
	} else if to.SetZero(); to.Kind() == reflect.Int64 {
		to.SetInt(-1)
	}
}

// spelt counts the members of v that have the name, whatever its case and separators.
func spelt(v jsontree.Value, name string) (n int) {
	for other := range v.Members() {
		if sameName(other, name) {
			n++
		}
	}
	return n
}

// sameName reports whether two names differ only in case and separators: isLock, is_lock, Is-Lock.
func sameName(a, b string) bool {
	for {
		a, b = strings.TrimLeft(a, "_- "), strings.TrimLeft(b, "_- ")
		if a == "" || b == "" {
			return a == b
		}
		if !strings.EqualFold(a[:1], b[:1]) {
			return false
		}
		a, b = a[1:], b[1:]
	}
}

// place returns the index of the field of that name; -1 for none.
func (l *layout) place(name string) int {
	return slices.IndexFunc(l.fields, func(f field) bool { return f.name == name })
}

// visit calls fn for v and each value inside it that the layout describes, and with a nil layout for members without
// a field, parents first. Of repeated members it visits the last.
func (l *layout) visit(path string, v jsontree.Value, fn func(path string, v jsontree.Value, l *layout)) {
	fn(path, v, l)
	switch {
	case l == nil:
	case l.elem != nil && v.Kind() == jsontree.Array:
		for i, m := range elementsOf(v) {
			l.elem.visit(path+"["+strconv.Itoa(i)+"]", m, fn)
		}
	case l.fields != nil:
		for _, m := range v.Sorted() {
			var of *layout
			if i := l.place(m.Name); i >= 0 {
				of = l.fields[i].layout
			}
			of.visit(under(path, m.Name), m.Value, fn)
		}
	}
}

// numberOf converts a value to a Number.
func numberOf(v jsontree.Value) Number {
	if v.Kind() == jsontree.String {
		return Number(v.Text())
	}
	return Number(v.Raw())
}

// Object is a JSON object from a read, a webhook or the answer to a write; the zero value does not exist.
type Object struct{ jsontree.Value }

var byteOrderMark = []byte("\xef\xbb\xbf")

// ParseJSON parses b, without a byte order mark; the value does not exist if b is not JSON.
func ParseJSON(b []byte) jsontree.Value {
	v, _ := jsontree.Parse(bytes.TrimPrefix(b, byteOrderMark))
	return v
}

// ObjectOf parses b as an object.
func ObjectOf(b []byte) Object { return ObjectIn(ParseJSON(b)) }

// ObjectIn returns v as an object.
func ObjectIn(v jsontree.Value) Object {
	if v.Kind() != jsontree.Object {
		return Object{}
	}
	return Object{v}
}

// Exists reports whether there is an object; it may be empty.
func (m Object) Exists() bool { return m.Kind() != 0 }

// Has reports whether there is a non-null member of that name.
func (m Object) Has(name string) bool {
	v := m.Member(name)
	return v.Kind() != 0 && !v.Null()
}

// First returns the first of the named members that holds a text, a number or a flag. A name "a.b" is b within a.
func (m Object) First(names ...string) string {
	for _, n := range names {
		if s, ok := m.Path(n).Scalar(); ok && s != "" {
			return s
		}
	}
	return ""
}

// Inside returns the object itself and the objects that it wraps (jsontree.Value.Inside).
func (m Object) Inside() (out []Object) {
	for _, v := range m.Value.Inside() {
		out = append(out, Object{v})
	}
	return out
}

// Find returns the first text under one of the names, in the object or one that it wraps.
func (m Object) Find(names ...string) string {
	s, _ := m.Value.Find(names...)
	return s
}

// Says reports whether a flag of the object, or of one that it wraps, equals want.
func (m Object) Says(name string, want bool) bool {
	for _, o := range m.Inside() {
		if is, told := o.Member(name).Flag(); told && is == want {
			return true
		}
	}
	return false
}

// Fails reports whether the answer holds an error, with or without words, or a success that is not true.
func (m Object) Fails() bool {
	for _, k := range []string{"error", "errors"} {
		switch string(m.Member(k).Raw()) {
		case "", "null", "false", `""`, "{}", "[]", "0":
		default:
			return true
		}
	}
	success, _ := m.Member("success").Flag()
	return m.Has("success") && !success
}

// words returns the first sentence under one of the names, as Quote takes it in; it searches nested objects and lists
// too.
func (m Object) words(names ...string) string {
	for _, n := range names {
		if s := sentenceIn(m.Member(n), 3); s != "" {
			return string(Quote(s, maxQuote))
		}
	}
	return ""
}

func sentenceIn(v jsontree.Value, deep int) string {
	switch {
	case deep == 0:
	case v.Kind() == jsontree.String:
		return strings.TrimSpace(v.Text())
	case v.Kind() == jsontree.Array:
		looked := 0
		for _, it := range v.Members() {
			if s := sentenceIn(it, deep-1); s != "" {
				return s
			}
			if looked++; looked == 5 {
				return ""
			}
		}
	case v.Kind() == jsontree.Object:
		for _, k := range []string{"error", "message", "detail", "description", "reason", "title"} {
			if s := sentenceIn(v.Member(k), deep-1); s != "" {
				return s
			}
		}
	}
	return ""
}

// Field is a value in an answer without a Go field, or one that its Go field could not read.
type Field struct {
	Path  string // "source.account.iban", "documents[2].scan"
	Value json.RawMessage
	Odd   bool // it has a Go field, but its value has an unreadable type

	Earlier bool // a later member of the same name replaces it
}

// Unknown lists the fields of raw without a field in the Go type of known, and those that it could not read, in path
// order. It is empty if raw is not JSON. Raw keeps such fields, the details show them, and JSON output passes them
// on.
func Unknown(raw json.RawMessage, known any) []Field {
	from, err := jsontree.Parse(raw)
	if err != nil {
		return nil
	}
	return unknown(from, reflect.TypeOf(known))
}

func unknown(from jsontree.Value, known reflect.Type) []Field {
	var out []Field
	recordLayout(known).visit("", from, func(path string, v jsontree.Value, l *layout) {
		odd := v.Null() && strings.HasSuffix(path, "]") || l != nil && !v.Null() && !l.fits(v)
		if path != "" && (l == nil || odd) {
			out = append(out, Field{Path: path, Value: v.Raw(), Odd: odd})
		}
		if l != nil && l.fields != nil && v.Kind() == jsontree.Object {
			out = append(out, replaced(path, v)...)
		}
	})
	slices.SortStableFunc(out, func(a, b Field) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// replaced returns the members of an object that a later one of the same name replaces.
func replaced(path string, v jsontree.Value) (out []Field) {
	before := map[string]jsontree.Value{}
	for name, m := range v.Members() {
		if was, twice := before[name]; twice {
			out = append(out, Field{Path: under(path, name), Value: was.Raw(), Earlier: true})
		}
		before[name] = m
	}
	return out
}

// HasFlag reports whether a record has one member of that name, and it says yes or no. A record that was made here, and
// so is empty, counts as having each.
func HasFlag(record json.RawMessage, name string) bool {
	return hasOne(record, name, isFlag, "true", "false")
}

// HasText reports whether a record has one member of that name, and it is a text, perhaps an empty one. A record that
// was made here, and so is empty, counts as having each.
func HasText(record json.RawMessage, name string) bool {
	return hasOne(record, name, isKind(jsontree.String), `"`)
}

// hasOne reports whether a record has one member of that name, and it fits. One that begins as usual is found without
// parsing the record.
func hasOne(record json.RawMessage, name string, fits func(jsontree.Value) bool, usual ...string) bool {
	label := []byte(`"` + name + `":`)
	if len(record) == 0 {
		return true
	}
	if at := bytes.Index(record, label); at >= 0 && bytes.Count(record, label) == 1 {
		value := string(record[at+len(label):])
		return slices.ContainsFunc(usual, func(start string) bool { return strings.HasPrefix(value, start) }) ||
			fits(ParseJSON(record).Member(name))
	}
	n, from := 0, ParseJSON(record)
	for other := range from.Members() {
		if other == name {
			n++
		}
	}
	return n == 1 && fits(from.Member(name))
}
