package cli

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"
	"unicode"
)

// schemaPrint is JSON that a command prints, with -o json and -o jsonl. With jsonl it
// is one value a line; many of json are one after the other.
type schemaPrint struct {
	When  string       `json:"when"` // "": always, or where nothing else applies
	Many  bool         `json:"many"`
	JSON  *schemaValue `json:"json,omitempty"`
	JSONL *schemaValue `json:"jsonl,omitempty"`
}

// schemaValue is a JSON value: text, time (RFC 3339), base64, integer, number, boolean,
// list or map of something, the object of a type, an object with members of its own,
// or any value.
type schemaValue struct {
	Kind   string         `json:"kind"`
	Type   string         `json:"type,omitempty"` // of an object, in types
	Of     *schemaValue   `json:"of,omitempty"`   // of a list or map
	Fields []schemaMember `json:"fields,omitempty"`
	Sent   bool           `json:"as_sent,omitempty"` // as the service sent it: what is named here may be missing or otherwise, and there may be more
}

// schemaMember is a member of an object.
type schemaMember struct {
	Name   string      `json:"name"`
	Absent bool        `json:"absent"` // may be missing
	Null   bool        `json:"null"`   // may be null
	Value  schemaValue `json:"value"`
}

// schemaTypes are the objects by their names.
type schemaTypes map[string]schemaType

type schemaType struct {
	Fields []schemaMember `json:"fields"`

	of reflect.Type
}

// sent is JSON as the service sent it; T has the members that are known.
type sent[T any] struct{ json.RawMessage }

func (sent[T]) known() reflect.Type { return reflect.TypeFor[T]() }

// asSent is raw, or where nothing was kept what is known of it.
func asSent[T any](raw json.RawMessage, known T) sent[T] {
	if len(raw) == 0 {
		raw, _ = json.Marshal(known) // what was read from JSON can be written
	}
	return sent[T]{raw}
}

// value describes t as encoding/json writes it. A type that writes itself must be text,
// as all of that kind are here, or keep what the service sent in Raw.
func (types schemaTypes) value(t reflect.Type) schemaValue {
	if t.Kind() == reflect.Pointer {
		return types.value(t.Elem())
	}
	if kept, ok := reflect.Zero(t).Interface().(interface{ known() reflect.Type }); ok {
		v := types.value(kept.known())
		v.Sent = true
		return v
	}
	var raw reflect.StructField
	keeps := false
	if t.Kind() == reflect.Struct {
		raw, keeps = t.FieldByName("Raw")
		keeps = keeps && raw.Type == reflect.TypeFor[json.RawMessage]()
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		return schemaValue{Kind: "time"}
	case t == reflect.TypeFor[json.RawMessage](), keeps && raw.Tag.Get("json") != "-": // nothing of it is named
		return schemaValue{Kind: "any"}
	case t == reflect.TypeFor[json.Number]():
		return schemaValue{Kind: "number"}
	case t.Implements(reflect.TypeFor[json.Marshaler]()) && !keeps:
		return schemaValue{Kind: "text"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return schemaValue{Kind: "boolean"}
	case reflect.String:
		return schemaValue{Kind: "text"}
	case reflect.Float64:
		return schemaValue{Kind: "number"}
	case reflect.Interface:
		return schemaValue{Kind: "any"}
	case reflect.Slice, reflect.Map:
		if t.Elem().Kind() == reflect.Uint8 {
			return schemaValue{Kind: "base64"}
		}
		of := types.value(t.Elem())
		return schemaValue{Kind: map[reflect.Kind]string{reflect.Slice: "list", reflect.Map: "map"}[t.Kind()], Of: &of}
	case reflect.Struct:
		return types.object(t, keeps)
	}
	return schemaValue{Kind: "integer"}
}

// object describes a struct; one with a name stands among the types, behind the name
// of its package where that is not the service's or this one.
func (types schemaTypes) object(t reflect.Type, keeps bool) schemaValue {
	name := snake(strings.TrimSuffix(t.Name(), "JSON"))
	if name == "" || strings.Contains(name, "[") {
		return schemaValue{Kind: "object", Fields: types.members(t), Sent: keeps}
	}
	if pkg := t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]; pkg != "api" && pkg != "cli" {
		name = pkg + "." + name
	}
	switch before, known := types[name]; {
	case !known:
		types[name] = schemaType{of: t} // it may hold itself
		types[name] = schemaType{types.members(t), t}
	case before.of != t:
		panic("cli: two types are called " + name)
	}
	return schemaValue{Kind: "object", Type: name, Sent: keeps}
}

func (types schemaTypes) members(t reflect.Type) []schemaMember {
	var out []schemaMember
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			out = append(out, types.members(f.Type)...)
		case f.IsExported() && name != "-" && name != "":
			absent := strings.Contains(options, "omit")
			nilable := f.Type.Kind() == reflect.Pointer || f.Type.Kind() == reflect.Slice || f.Type.Kind() == reflect.Map || f.Type.Kind() == reflect.Interface
			out = append(out, schemaMember{name, absent, nilable && !absent, types.value(f.Type)})
		}
	}
	return out
}

// snake is a Go name in the way of JSON names.
func snake(s string) string {
	var b strings.Builder
	for i, c := range s {
		if unicode.IsUpper(c) && i > 0 && unicode.IsLower(rune(s[i-1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}
