package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
)

// readRecord reads JSON into the struct that v points to. A value of another
// type than the field's never loses the record: a number is read from a text and
// a text from a number, a flag from "true", 1 and their like. What cannot be read
// at all leaves its field at zero, a whole number at -1 and a flag at what its
// unread tag says; Unreadable lists it, and Raw keeps it. The usual types are
// read by encoding/json alone. It fails when b is not JSON, or no object where v
// is a struct.
func readRecord(b []byte, v any) error {
	err := json.Unmarshal(b, v)
	var mismatch *json.UnmarshalTypeError
	if err == nil || !errors.As(err, &mismatch) {
		return err
	}
	to := reflect.ValueOf(v).Elem()
	to.SetZero()
	if !lenient(b, to, "") {
		return err
	}
	return nil
}

// lenient reads raw into v and reports whether it could; unread is the tag of
// v's field.
func lenient(raw json.RawMessage, v reflect.Value, unread string) bool {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return false
	}
	if u, ok := v.Addr().Interface().(json.Unmarshaler); ok {
		return u.UnmarshalJSON(raw) == nil
	}
	if string(raw) == "null" {
		return true
	}
	switch v.Kind() {
	case reflect.Pointer:
		to := reflect.New(v.Type().Elem())
		ok := lenient(raw, to.Elem(), unread)
		if ok {
			v.Set(to)
		}
		return ok
	case reflect.Struct:
		return lenientStruct(raw, v)
	case reflect.Slice:
		return lenientSlice(raw, v)
	case reflect.String:
		s, ok := textual(raw)
		v.SetString(s)
		return ok
	case reflect.Bool:
		is, ok := flagOf(raw)
		v.SetBool(is || !ok && unread == "true")
		return ok
	case reflect.Int, reflect.Int64:
		n, ok := wholeOf(raw)
		if !ok {
			n = -1
		}
		v.SetInt(n)
		return ok
	}
	return json.Unmarshal(raw, v.Addr().Interface()) == nil
}

func lenientStruct(raw json.RawMessage, v reflect.Value) bool {
	m := object(raw)
	if m == nil {
		return false
	}
	for f := range v.Type().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			lenient(raw, v.FieldByIndex(f.Index), "")
			continue
		case name == "" || name == "-":
			continue
		}
		if value := m.get(name); value != nil {
			lenient(value, v.FieldByIndex(f.Index), f.Tag.Get("unread"))
		}
	}
	return true
}

// lenientSlice reads the elements one by one. One that cannot be read stays at
// zero: how many there were is told all the same.
func lenientSlice(raw json.RawMessage, v reflect.Value) bool {
	items, ok := array(raw)
	if !ok {
		return false
	}
	out := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, it := range items {
		lenient(it, out.Index(i), "")
	}
	v.Set(out)
	return true
}

// flagOf reads a flag from what is usual for one.
func flagOf(raw json.RawMessage) (is, ok bool) {
	s, ok := textual(raw)
	if !ok {
		return false, false
	}
	return flagWord(s)
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

// wholeOf reads a whole number from a number or its text; "" is 0.
func wholeOf(raw json.RawMessage) (int64, bool) {
	s, ok := textual(raw)
	if !ok {
		return 0, false
	}
	return wholeWord(s)
}

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

// fits reports whether lenient can read raw into a scalar of type t; other types
// always fit, since their parts are looked at one by one.
func fits(raw json.RawMessage, t reflect.Type) bool {
	ok := true
	switch t.Kind() {
	case reflect.String:
		_, ok = textual(raw)
	case reflect.Bool:
		_, ok = flagOf(raw)
	case reflect.Int, reflect.Int64:
		_, ok = wholeOf(raw)
	case reflect.Struct:
		ok = raw[0] == '{'
	case reflect.Slice:
		ok = raw[0] == '['
	}
	return ok || string(raw) == "null"
}
