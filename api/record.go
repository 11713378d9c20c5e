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

// ReadRecord decodes JSON into the struct that v points to; it does not call v's UnmarshalJSON. A value of another
// type than the field's never loses the record: a number is read from a text and a text from a number, a flag from
// "true", 1 and the like. An unreadable value leaves its field at zero and a whole number at -1; Unknown lists it, and
// Raw keeps it. Anything that encoding/json accepts is read in the same way (FuzzOperation), except amounts, locks and
// repeated lists, which are read in the documented form only.
//
// The tag "also" of a field lists names that are tried, in this order, if its own member is missing or empty.
// ReadRecord fails if b is not JSON, or neither an object nor null.
func ReadRecord(b []byte, v any) error {
	tree, err := jsontree.Parse(b)
	if err != nil {
		return err
	}
	defer tree.Free()
	to := reflect.ValueOf(v).Elem()
	if !recordLayout(to.Type()).read(tree.Root(), to) && !tree.Root().Null() {
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

// layout describes how a Go type is read. A pointer has the layout of its element, except for read.
type layout struct {
	typ     reflect.Type
	fields  []field                                       // of a struct, in declaration order
	aliased []field                                       // the fields that have other names too
	elem    *layout                                       // of a slice
	fits    func(v jsontree.Value) bool                   // whether v itself can be read, regardless of its elements
	read    func(v jsontree.Value, to reflect.Value) bool // false: v could not be read
	checks  bool                                          // the type is a checker
	once    bool                                          // a second member of its name makes it not known
}

// checker looks at the value that it was just read from, which may not be an object.
type checker interface{ check(v jsontree.Value) }

// single is a value that a second member of its name, in any spelling, makes not known.
type single interface{ twice(v jsontree.Value) }

type field struct {
	name   string
	also   []string
	index  []int
	layout *layout
}

var layouts sync.Map // of structs, by type

func recordLayout(t reflect.Type) *layout {
	if l, ok := layouts.Load(t); ok {
		return l.(*layout)
	}
	l := &layout{typ: t, fits: func(v jsontree.Value) bool { return v.Kind() == jsontree.Object }}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			l.fields = append(l.fields, field{name, strings.Fields(f.Tag.Get("also")), f.Index, layoutOf(f.Type)})
		}
	}
	l.aliased = slices.DeleteFunc(slices.Clone(l.fields), func(f field) bool { return len(f.also) == 0 })
	l.checks = reflect.PointerTo(t).Implements(reflect.TypeFor[checker]())
	l.once = reflect.PointerTo(t).Implements(reflect.TypeFor[single]())
	l.read = l.readRecord
	layouts.Store(t, l)
	return l
}

// memberNames returns the names under which that member is read into a T.
func memberNames[T any](name string) []string {
	l := recordLayout(reflect.TypeFor[T]())
	return append([]string{name}, l.fields[l.place(name, 0)].also...)
}

// layoutOf returns the layout of a field.
func layoutOf(t reflect.Type) *layout {
	switch {
	case t == reflect.TypeFor[Number]():
		return leafLayout(t, func(v jsontree.Value, to reflect.Value) { to.SetString(string(numberOf(v))) })
	case t == reflect.TypeFor[Time]():
		return leafLayout(t, func(v jsontree.Value, to reflect.Value) {
			*to.Addr().Interface().(*Time) = timeOf(numberOf(v))
		})
	case t == reflect.TypeFor[Lock](): // read by the record's check
		l := leafLayout(t, func(jsontree.Value, reflect.Value) {})
		l.fits = isFlag
		return l
	case t.Kind() == reflect.Pointer:
		return pointerLayout(layoutOf(t.Elem()))
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		return leafLayout(t, readByJSON)
	}
	switch t.Kind() {
	case reflect.Struct:
		return recordLayout(t)
	case reflect.Slice:
		return listLayout(t)
	case reflect.String:
		return scalarLayout(t, func(s string, ok bool, to reflect.Value) bool { to.SetString(s); return ok })
	case reflect.Bool:
		return scalarLayout(t, func(s string, ok bool, to reflect.Value) bool {
			is, known := flagWord(s)
			ok = ok && known
			to.SetBool(ok && is)
			return ok
		})
	case reflect.Int, reflect.Int64:
		return scalarLayout(t, func(s string, ok bool, to reflect.Value) bool {
			n, whole := wholeWord(s)
			if ok = ok && whole; !ok {
				n = -1
			}
			to.SetInt(n)
			return ok
		})
	}
	return leafLayout(t, readByJSON)
}

func readByJSON(v jsontree.Value, to reflect.Value) {
	_ = json.Unmarshal(v.Raw(), to.Addr().Interface())
}

// leafLayout is the layout of a type that takes any value.
func leafLayout(t reflect.Type, set func(v jsontree.Value, to reflect.Value)) *layout {
	return &layout{typ: t, fits: func(jsontree.Value) bool { return true },
		read: func(v jsontree.Value, to reflect.Value) bool { set(v, to); return true }}
}

// scalarLayout is the layout of a type that is read from a text, a number or a flag; null changes nothing.
func scalarLayout(t reflect.Type, set func(s string, ok bool, to reflect.Value) bool) *layout {
	read := func(v jsontree.Value, to reflect.Value) bool {
		if v.Null() {
			return true
		}
		s, ok := v.Scalar()
		return set(s, ok, to)
	}
	return &layout{typ: t, read: read, fits: func(v jsontree.Value) bool { return read(v, reflect.New(t).Elem()) }}
}

// pointerLayout leaves the pointer unchanged if the value is unreadable.
func pointerLayout(elem *layout) *layout {
	l := *elem
	l.once = false
	l.read = func(v jsontree.Value, to reflect.Value) bool {
		if v.Null() {
			to.SetZero()
			return true
		}
		at := to
		if to.IsNil() {
			at = reflect.New(to.Type().Elem())
		}
		ok := elem.read(v, at.Elem())
		if ok {
			to.Set(at)
		}
		return ok
	}
	return &l
}

// listLayout reads elements one by one. An unreadable one stays at zero, so that the count is right.
func listLayout(t reflect.Type) *layout {
	l := &layout{typ: t, elem: layoutOf(t.Elem()), once: true,
		fits: func(v jsontree.Value) bool { return v.Kind() == jsontree.Array }}
	l.read = func(v jsontree.Value, to reflect.Value) bool {
		switch {
		case v.Null():
			to.SetZero()
			return true
		case v.Kind() != jsontree.Array:
			return false
		}
		to.Set(reflect.MakeSlice(t, v.Len(), v.Len()))
		i := 0
		for _, m := range v.Members() {
			l.elem.read(m, to.Index(i))
			i++
		}
		return true
	}
	return l
}

// readRecord reads an object into a struct. A repeated member is read again.
func (l *layout) readRecord(v jsontree.Value, to reflect.Value) bool {
	if v.Kind() != jsontree.Object {
		if l.checks && !v.Null() {
			to.Addr().Interface().(checker).check(v)
		}
		return v.Null()
	}
	expect := 0 // most records have the order of the Go type
	for name, m := range v.Members() {
		i := l.place(name, expect)
		if i < 0 {
			i = l.respelt(v, name)
		}
		if i >= 0 {
			expect = i + 1
			f := &l.fields[i]
			f.layout.read(m, to.FieldByIndex(f.index))
			if f.layout.once && spelt(v, f.name) > 1 {
				f.doubled(m, to.FieldByIndex(f.index))
			}
		}
	}
	for _, f := range l.aliased {
		f.readAlso(v, to.FieldByIndex(f.index))
	}
	if l.checks {
		to.Addr().Interface().(checker).check(v)
	}
	return true
}

// doubled makes a field not known whose member is repeated.
func (f field) doubled(m jsontree.Value, to reflect.Value) {
	if s, is := to.Addr().Interface().(single); is {
		s.twice(m)
	} else {
		to.SetZero()
	}
}

// spelt counts the members of v that have the name in any spelling.
func spelt(v jsontree.Value, name string) (n int) {
	for other := range v.Members() {
		if jsontree.SameName(other, name) {
			n++
		}
	}
	return n
}

// readAlso fills an empty field from the first of its other names that has a value.
func (f field) readAlso(v jsontree.Value, to reflect.Value) {
	for _, name := range f.also {
		if !to.IsZero() {
			return
		}
		if m := v.Named(name); m.Kind() != 0 {
			f.layout.read(m, to)
		}
	}
}

// place returns the index of the field of that name, exactly or else ignoring case; -1 for none. It tries expect
// first.
func (l *layout) place(name string, expect int) int {
	if expect < len(l.fields) && l.fields[expect].name == name {
		return expect
	}
	if i := slices.IndexFunc(l.fields, func(f field) bool { return f.name == name }); i >= 0 {
		return i
	}
	return slices.IndexFunc(l.fields, func(f field) bool { return strings.EqualFold(f.name, name) })
}

// respelt returns the index of the field whose name differs from the member's only in separators, if v has no member
// of the field's own name; -1 for none.
func (l *layout) respelt(v jsontree.Value, name string) int {
	if !strings.ContainsAny(name, "_-") {
		return -1
	}
	i := slices.IndexFunc(l.fields, func(f field) bool { return jsontree.SameName(f.name, name) })
	if i >= 0 && v.Member(l.fields[i].name).Kind() != 0 {
		return -1
	}
	return i
}

// of returns the layout of the member of v with that name; nil if no field reads it.
func (l *layout) of(v jsontree.Value, name string) *layout {
	i := l.place(name, len(l.fields))
	if i < 0 {
		i = l.respelt(v, name)
	}
	if i < 0 || l.fields[i].name != name && hasExactly(v, l.fields[i].name) {
		return nil
	}
	return l.fields[i].layout
}

func hasExactly(v jsontree.Value, name string) bool {
	for n := range v.Members() {
		if n == name {
			return true
		}
	}
	return false
}

// visit calls fn for v and each value inside it that the layout describes, and with a nil layout for members without
// a field, parents first. Of repeated members it visits the last.
func (l *layout) visit(path string, v jsontree.Value, fn func(path string, v jsontree.Value, l *layout)) {
	fn(path, v, l)
	switch {
	case l == nil:
	case l.elem != nil && v.Kind() == jsontree.Array:
		i := 0
		for _, m := range v.Members() {
			l.elem.visit(path+"["+strconv.Itoa(i)+"]", m, fn)
			i++
		}
	case l.fields != nil:
		for _, m := range v.Sorted() {
			l.of(v, m.Name).visit(under(path, m.Name), m.Value, fn)
		}
	}
}

// numberOf converts a value to a Number.
func numberOf(v jsontree.Value) Number {
	switch {
	case v.Kind() == jsontree.String:
		return Number(v.Text())
	case v.Null():
		return ""
	}
	return Number(v.Raw())
}

func flagWord(s string) (is, ok bool) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "true", "1", "yes", "y":
		return true, true
	case "", "false", "0", "no", "n":
		return false, true
	}
	return false, false
}

// wholeWord parses a whole number; "" is 0.
func wholeWord(s string) (int64, bool) {
	if s = strings.TrimSpace(s); s == "" {
		return 0, true
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	const exact = 1 << 53 // beyond it a float does not hold every whole number
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != float64(int64(f)) || f > exact || f < -exact {
		return 0, false
	}
	return int64(f), true
}

// Object is a JSON object from a read, a webhook or the answer to a write; the zero value does not exist. Names match
// as in encoding/json: exactly, else ignoring case.
type Object struct{ jsontree.Value }

var byteOrderMark = []byte("\xef\xbb\xbf")

// ParseJSON parses b, without a byte order mark; the value does not exist if b is not JSON.
func ParseJSON(b []byte) jsontree.Value {
	tree, err := jsontree.Parse(bytes.TrimPrefix(b, byteOrderMark))
	if err != nil {
		return jsontree.Value{}
	}
	return tree.Root()
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

// First returns the first of the named members that holds a text, a number or a flag.
func (m Object) First(names ...string) string {
	for _, n := range names {
		if s, ok := m.Named(n).Scalar(); ok && s != "" {
			return s
		}
	}
	return ""
}

// Inside returns the object itself and the objects that wrap a record in it, at most jsontree.MaxWrappers deep.
func (m Object) Inside() []Object { return m.wrapped(nil, jsontree.MaxWrappers) }

func (m Object) wrapped(out []Object, depth int) []Object {
	out = append(out, m)
	if depth == 0 {
		return out
	}
	for _, w := range wrappers {
		if in := ObjectIn(m.Member(w)); in.Len() > 0 {
			out = in.wrapped(out, depth-1)
		}
	}
	return out
}

// wrappers are the names of objects that may wrap any answer.
var wrappers = slices.Concat(jsontree.Wrappers, []string{"document", "file", "application", "parameters"})

// Find returns the first text under one of the names, in the object or one that it wraps.
func (m Object) Find(names ...string) string {
	for _, o := range m.Inside() {
		if s := o.First(names...); s != "" {
			return s
		}
	}
	return ""
}

// Says reports whether a flag of the object, or of one that it wraps, equals want.
func (m Object) Says(name string, want bool) bool {
	for _, o := range m.Inside() {
		if s := o.First(name); s != "" {
			if is, known := flagWord(s); known && is == want {
				return true
			}
		}
	}
	return false
}

// Fails reports whether the answer holds an error, with or without words.
func (m Object) Fails() bool {
	for _, k := range []string{"error", "errors"} {
		switch string(m.Member(k).Raw()) {
		case "", "null", "false", `""`, "{}", "[]", "0":
		default:
			return true
		}
	}
	return false
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
	tree, err := jsontree.Parse(raw)
	if err != nil {
		return nil
	}
	defer tree.Free()
	var out []Field
	recordLayout(reflect.TypeOf(known)).visit("", tree.Root(), func(path string, v jsontree.Value, l *layout) {
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

// HasFlag reports whether a record has a member of that name that can be read as yes or no. A record that was made
// here, and so is empty, counts as having each.
func HasFlag(record json.RawMessage, name string) bool {
	for _, usual := range []string{":true", ":false"} { // found without parsing the record
		if bytes.Contains(record, []byte(`"`+name+`"`+usual)) {
			return true
		}
	}
	if len(record) == 0 {
		return true
	}
	tree, err := jsontree.Parse(record)
	if err != nil {
		return false
	}
	defer tree.Free()
	word, ok := tree.Root().Named(name).Scalar()
	_, known := flagWord(word)
	return ok && known && strings.TrimSpace(word) != ""
}
