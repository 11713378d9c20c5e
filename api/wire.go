package api

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"opdeck/api/jsontree"
	"opdeck/api/untrusted"
)

// Time is a moment as the service writes it: ISO 8601, in UTC where no zone is
// told; seconds or milliseconds since 1970 are read as well. What cannot be read
// as one stays in Raw, and Time is zero.
type Time struct {
	time.Time
	Raw untrusted.Text
}

// UnmarshalJSON never fails: an odd moment must not hide the record around it.
func (t *Time) UnmarshalJSON(b []byte) error {
	var n Number
	_ = n.UnmarshalJSON(b)
	*t = timeOf(n)
	return nil
}

// timeOf reads a moment from its text.
func timeOf(n Number) Time {
	t := Time{Raw: untrusted.Text(n)}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02"} {
		if at, err := time.Parse(layout, string(n)); err == nil {
			t.Time = at.UTC()
			return t
		}
	}
	switch since, err := strconv.ParseInt(string(n), 10, 64); { // 2001 to 2286, told by their length
	case err != nil:
	case len(n) == 10:
		t.Time = time.Unix(since, 0).UTC()
	case len(n) == 13:
		t.Time = time.UnixMilli(since).UTC()
	}
	return t
}

// MarshalJSON writes the moment as it came, or in RFC 3339 if it was made here.
func (t Time) MarshalJSON() ([]byte, error) {
	return json.Marshal(string(t.text()))
}

// text is the moment as it came, or in RFC 3339 if it was made here.
func (t Time) text() untrusted.Text {
	if t.Raw != "" || t.IsZero() {
		return t.Raw
	}
	return untrusted.Text(t.UTC().Format(time.RFC3339Nano))
}

// At makes a Time.
func At(t time.Time) Time { return Time{Time: t.UTC()} }

// Field is one value of an answer that this program has no name for, or one that
// has a name and cannot be read.
type Field struct {
	Path  string // "source.account.iban", "documents[2].scan"
	Value json.RawMessage
	Odd   bool // it has a name, and its value is of no kind that can be read

	Earlier bool // a member of that name stands again behind it, and counts
}

// Tells reports whether a record has a member that is not null. A record that no answer
// brought (empty) tells all of its members.
func Tells(record json.RawMessage, member string) bool {
	for _, usual := range []string{":true", ":false"} { // found without reading the record
		if bytes.Contains(record, []byte(`"`+member+`"`+usual)) {
			return true
		}
	}
	switch {
	case len(record) == 0:
		return true
	case !bytes.Contains(record, []byte(`\u`)) && !bytes.Contains(bytes.ToLower(record), []byte(strings.ToLower(member))):
		return false // the name stands nowhere
	}
	v := object(record).get(member)
	return v != nil && string(v) != "null"
}

// Unknown lists the fields of raw that the Go type of known does not name, and
// those that it names but cannot read, in the order of their paths. Nothing of
// the wire is lost: such fields are kept in Raw, shown in the details and passed
// on in JSON.
func Unknown(raw json.RawMessage, known any) []Field {
	var out []Field
	eachField(raw, reflect.TypeOf(known), "", func(path string, value json.RawMessage, t reflect.Type) {
		odd := t != nil && !slices.Contains(leaves, t) && !fits(value, t) || null(value) && strings.HasSuffix(path, "]")
		if path != "" && (t == nil || odd) {
			out = append(out, Field{Path: path, Value: value, Odd: odd})
		}
		if t != nil && t.Kind() == reflect.Struct && !slices.Contains(leaves, t) {
			out = append(out, earlier(path, value)...)
		}
	})
	slices.SortStableFunc(out, func(a, b Field) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// earlier are the members of an object that stand again further on in it: of one name the
// last counts, as encoding/json has it.
func earlier(path string, raw json.RawMessage) (out []Field) {
	tree, err := jsontree.Parse(raw)
	if err != nil {
		return nil
	}
	defer tree.Free()
	last := map[string]json.RawMessage{}
	for name, v := range tree.Root().Members() {
		if was, twice := last[name]; twice && tree.Root().Kind() == jsontree.Object {
			out = append(out, Field{Path: under(path, name), Value: was, Earlier: true})
		}
		last[name] = v.Raw()
	}
	return out
}

// leaves are read by themselves, whatever comes.
var leaves = []reflect.Type{reflect.TypeFor[Time](), reflect.TypeFor[Number](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[Requisites]()}

// eachField calls fn for each value of raw with the Go type that it is read into,
// pointers aside; nil for a member without a name there. What stands around a value
// comes before it.
func eachField(raw json.RawMessage, t reflect.Type, path string, fn func(path string, value json.RawMessage, t reflect.Type)) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		return
	}
	fn(path, raw, t)
	switch {
	case t == nil || slices.Contains(leaves, t):
	case t.Kind() == reflect.Slice:
		items, _ := array(raw)
		for i, it := range items {
			eachField(it, t.Elem(), path+"["+strconv.Itoa(i)+"]", fn)
		}
	case t.Kind() == reflect.Struct:
		types := fieldTypes(t)
		for name, v := range object(raw) {
			eachField(v, types[name], under(path, name), fn)
		}
	}
}

// fits reports whether readRecord can read raw into a scalar of type t; other types
// always fit, since their parts are looked at one by one.
func fits(raw json.RawMessage, t reflect.Type) bool {
	s, ok := textual(raw)
	known := true
	switch t.Kind() {
	case reflect.String:
	case reflect.Bool:
		_, known = flagWord(s)
	case reflect.Int, reflect.Int64:
		_, known = wholeWord(s)
	case reflect.Struct:
		ok = raw[0] == '{'
	case reflect.Slice:
		ok = raw[0] == '['
	default:
		return true
	}
	return ok && known || string(raw) == "null"
}

// fieldTypes are the types of a struct's fields by their names in JSON.
func fieldTypes(t reflect.Type) map[string]reflect.Type {
	m := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			m[name] = f.Type
		}
	}
	return m
}
