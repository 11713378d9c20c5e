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

// errNoObject says that a record is JSON and no object.
var errNoObject = errors.New("api: the record is no JSON object")

// readRecord reads JSON into the struct that v points to. A value of another
// type than the field's never loses the record: a number is read from a text and
// a text from a number, a flag from "true", 1 and their like. What cannot be read
// at all leaves its field at zero, a whole number at -1 and a flag at what its
// unread tag says; Unknown lists it, and Raw keeps it. What encoding/json reads is
// read as it does: FuzzOperation holds the two together. It fails when b is not
// JSON, or no object.
func readRecord(b []byte, v any) error {
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

// keepRecord reads JSON into *to, in place of what it held, and a copy of it into raw.
func keepRecord[T any](b []byte, to *T, raw *json.RawMessage) error {
	var read T
	if err := readRecord(b, &read); err != nil {
		return err
	}
	*to = read
	*raw = bytes.Clone(b)
	return nil
}

// layout tells how a Go type is read.
type layout struct {
	read   func(v jsontree.Value, to reflect.Value) bool // false: v could not be read
	fields []field                                       // of a struct, in the order of its declaration
}

type field struct {
	name   string
	index  []int
	layout *layout
}

var layouts sync.Map // of structs, by their types

// recordLayout is that of a struct's fields, whatever its own UnmarshalJSON does.
func recordLayout(t reflect.Type) *layout {
	if l, ok := layouts.Load(t); ok {
		return l.(*layout)
	}
	l := &layout{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			l.fields = append(l.fields, field{name, f.Index, layoutOf(f.Type, f.Tag.Get("unread") == "true")})
		}
	}
	l.read = l.record
	layouts.Store(t, l)
	return l
}

// layoutOf is that of a field. unread is what a flag is when it cannot be read.
func layoutOf(t reflect.Type, unread bool) *layout {
	switch {
	case t == reflect.TypeFor[Number]():
		return &layout{read: func(v jsontree.Value, to reflect.Value) bool { to.SetString(string(numberOf(v))); return true }}
	case t == reflect.TypeFor[Time]():
		return &layout{read: func(v jsontree.Value, to reflect.Value) bool {
			*to.Addr().Interface().(*Time) = timeOf(numberOf(v))
			return true
		}}
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		return &layout{read: readOther}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return pointerLayout(layoutOf(t.Elem(), unread))
	case reflect.Struct:
		return recordLayout(t)
	case reflect.Slice:
		return listLayout(layoutOf(t.Elem(), false))
	case reflect.String:
		return scalar(func(s string, ok bool, to reflect.Value) bool { to.SetString(s); return ok })
	case reflect.Bool:
		return scalar(func(s string, ok bool, to reflect.Value) bool {
			is, known := flagWord(s)
			ok = ok && known
			to.SetBool(ok && is || !ok && unread)
			return ok
		})
	case reflect.Int, reflect.Int64:
		return scalar(func(s string, ok bool, to reflect.Value) bool {
			n, whole := wholeWord(s)
			if ok = ok && whole; !ok {
				n = -1
			}
			to.SetInt(n)
			return ok
		})
	}
	return &layout{read: readOther}
}

func readOther(v jsontree.Value, to reflect.Value) bool {
	return json.Unmarshal(v.Raw(), to.Addr().Interface()) == nil
}

// scalar is the layout of what is read from a text, a number or a flag; null changes
// nothing.
func scalar(set func(s string, ok bool, to reflect.Value) bool) *layout {
	return &layout{read: func(v jsontree.Value, to reflect.Value) bool {
		if v.Null() {
			return true
		}
		s, ok := textOf(v)
		return set(s, ok, to)
	}}
}

// pointerLayout: what cannot be read leaves the pointer as it is.
func pointerLayout(elem *layout) *layout {
	return &layout{read: func(v jsontree.Value, to reflect.Value) bool {
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
	}}
}

// listLayout reads the elements one by one. One that cannot be read stays at zero: how
// many there were is told all the same.
func listLayout(elem *layout) *layout {
	return &layout{read: func(v jsontree.Value, to reflect.Value) bool {
		n := v.Len()
		switch {
		case v.Null():
			to.SetZero()
			return true
		case v.Kind() != jsontree.Array:
			return false
		case n == 0 || to.IsNil():
			to.Set(reflect.MakeSlice(to.Type(), 0, n))
		}
		i := 0
		for _, m := range v.Members() { // a list that stands twice is read over the first, as encoding/json does
			if i >= to.Cap() {
				to.Grow(1)
			}
			if i >= to.Len() {
				to.SetLen(i + 1)
			}
			elem.read(m, to.Index(i))
			i++
		}
		to.SetLen(n)
		return true
	}}
}

// record reads an object into a struct. A field that stands twice is read twice.
func (l *layout) record(v jsontree.Value, to reflect.Value) bool {
	if v.Kind() != jsontree.Object {
		return v.Null()
	}
	expect := 0 // records mostly come in the order of the types
	for name, m := range v.Members() {
		if i := l.place(name, expect); i >= 0 {
			expect = i + 1
			f := &l.fields[i]
			f.layout.read(m, to.FieldByIndex(f.index))
		}
	}
	return true
}

// place is where the field of that name stands, to the letter or else in any case; -1
// for none. expect is tried first.
func (l *layout) place(name string, expect int) int {
	if expect < len(l.fields) && l.fields[expect].name == name {
		return expect
	}
	if i := slices.IndexFunc(l.fields, func(f field) bool { return f.name == name }); i >= 0 {
		return i
	}
	return slices.IndexFunc(l.fields, func(f field) bool { return strings.EqualFold(f.name, name) })
}

func (l *layout) names() []string {
	var out []string
	for _, f := range l.fields {
		out = append(out, f.name)
	}
	return out
}

// textOf is the text of a text, a number or a flag.
func textOf(v jsontree.Value) (string, bool) {
	switch v.Kind() {
	case jsontree.String:
		return v.Text(), true
	case jsontree.Object, jsontree.Array:
		return "", false
	}
	return string(v.Raw()), !v.Null()
}

// numberOf is what a Number keeps of a value.
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

// wholeWord reads a whole number; "" is 0.
func wholeWord(s string) (int64, bool) {
	if s = strings.TrimSpace(s); s == "" {
		return 0, true
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	const exact = 1 << 53 // beyond it a float is no longer every whole number
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != float64(int64(f)) || f > exact || f < -exact {
		return 0, false
	}
	return int64(f), true
}
