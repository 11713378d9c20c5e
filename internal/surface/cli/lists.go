package cli

import (
	"encoding"
	"encoding/json"
	"reflect"
)

// notNull is v with empty lists in place of nil ones, so that scripts can iterate over them; lists whose field has
// the tag `null:"unreported"` stay null, which means "not known". Types with an encoding of their own are unchanged.
func notNull(v any) any {
	if v == nil {
		return nil
	}
	return filled(reflect.ValueOf(v)).Interface()
}

var (
	marshals = reflect.TypeFor[json.Marshaler]()
	texts    = reflect.TypeFor[encoding.TextMarshaler]()
)

func filled(v reflect.Value) reflect.Value {
	t := v.Type()
	if p := reflect.PointerTo(t); p.Implements(marshals) || p.Implements(texts) {
		return v
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return filledList(v)
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		c := reflect.MakeMapWithSize(t, v.Len())
		for k, e := range v.Seq2() {
			c.SetMapIndex(k, filled(e))
		}
		return c
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return v
		}
		c := reflect.New(t).Elem()
		if t.Kind() == reflect.Interface {
			c.Set(filled(v.Elem()))
			return c
		}
		c.Set(reflect.New(t.Elem()))
		c.Elem().Set(filled(v.Elem()))
		return c
	case reflect.Struct:
		c := reflect.New(t).Elem()
		c.Set(v)
		fillFields(c)
		return c
	}
	return v
}

// fillFields fills the fields of a copied struct, including embedded ones.
func fillFields(c reflect.Value) {
	for i := range c.NumField() {
		switch f, v := c.Type().Field(i), c.Field(i); {
		case f.Anonymous && v.Kind() == reflect.Struct:
			fillFields(v)
		case f.IsExported() && (f.Tag.Get("null") == "" || !v.IsNil()):
			v.Set(filled(v))
		}
	}
}

// filledList is filled for a list. Bytes are text in JSON.
func filledList(v reflect.Value) reflect.Value {
	t := v.Type()
	if t.Kind() == reflect.Array || t.Elem().Kind() == reflect.Uint8 {
		return v
	}
	c := reflect.MakeSlice(t, v.Len(), v.Len())
	for i := range v.Len() {
		c.Index(i).Set(filled(v.Index(i)))
	}
	return c
}
