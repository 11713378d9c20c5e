// Package mask masks account numbers, personal data and secrets for people whose role may not see them: in any value
// of the service, in webhooks, and in any JSON, whose other parts stay unchanged. It recognises all of them by member
// names (package redact; number, accountNumber, the values of requisites), and account numbers in any text by form
// too: an IBAN with right check digits. Masking is idempotent.
package mask

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"opdeck/api"
	"opdeck/api/redact"
	"opdeck/api/untrusted"
)

// For is v for the person in ctx: Value(v) if Needed. Everything for people passes here.
func For[T any](ctx context.Context, v T) T {
	if Needed(ctx) {
		return Value(v)
	}
	return v
}

// Value is v with every text masked as in JSON, for any type, so that new fields are covered. Fields called Number
// are account numbers, others hold what their JSON names say; bytes are the body of a message (body), and raw JSON is
// masked by JSON. It does not change v.
func Value[T any](v T) T {
	maskIn(reflect.ValueOf(&v).Elem(), redact.Open)
	return v
}

// maskIn masks v in place, with copies of what v points to; is is the kind of v.
func maskIn(v reflect.Value, is redact.Kind) {
	switch v.Kind() {
	case reflect.String:
		if shown := hide(v.String(), is); shown != v.String() {
			v.SetString(shown)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			switch f := v.Type().Field(i); {
			case v.Type() == itemType && redact.Public(v.FieldByName("Key").String()):
				maskIn(v.Field(i), redact.Open)
			case v.Type() == accountType && f.Type == rawType:
				if raw := v.Field(i); !raw.IsNil() {
					raw.SetBytes(within("account", raw.Bytes()))
				}
			case f.IsExported():
				maskIn(v.Field(i), kindOfField(f, is))
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			c := reflect.New(v.Type().Elem())
			c.Elem().Set(v.Elem())
			maskIn(c.Elem(), is)
			v.Set(c)
		}
	case reflect.Slice:
		maskSlice(v, is)
	case reflect.Map:
		if v.IsNil() {
			return
		}
		c := reflect.MakeMapWithSize(v.Type(), v.Len())
		for k, e := range v.Seq2() {
			is := is
			if k.Kind() == reflect.String {
				is = redact.KindOf(k.String(), is)
			}
			c.SetMapIndex(maskCopy(k, redact.Open), maskCopy(e, is))
		}
		v.Set(c)
	case reflect.Interface:
		if !v.IsNil() {
			v.Set(maskCopy(v.Elem(), is))
		}
	}
}

var (
	accountType, rawType = reflect.TypeFor[api.Account](), reflect.TypeFor[json.RawMessage]()
	itemType             = reflect.TypeFor[api.RequisiteItem]()
)

// kindOfField is the kind of a struct field, within a value of kind inside.
func kindOfField(f reflect.StructField, inside redact.Kind) redact.Kind {
	if f.Name == "Number" {
		return redact.Number
	}
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return redact.KindOf(name, inside)
}

func maskCopy(v reflect.Value, is redact.Kind) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	maskIn(c, is)
	return c
}

func maskSlice(v reflect.Value, is redact.Kind) {
	switch {
	case v.IsNil():
	case v.Type() == rawType:
		v.SetBytes(JSON(v.Bytes()))
	case v.Type().Elem().Kind() == reflect.Uint8:
		v.SetBytes(body(v.Bytes()))
	default:
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(c, v)
		for i := range c.Len() {
			maskIn(c.Index(i), is)
		}
		v.Set(c)
	}
}

// NumberIf is an account number, masked or in full.
func NumberIf(n untrusted.Text, masked bool) untrusted.Text {
	if masked {
		return redact.LastFour(n)
	}
	return n
}

// Requisite is the value of a line of requisites as shown now: a bank's name and codes are not masked.
func Requisite(label, value untrusted.Text, masked bool) untrusted.Text {
	return NumberIf(value, masked && !redact.Public(string(label)))
}

// JSONIf is raw for display or copying: masked as the body of a message (body), or unchanged.
func JSONIf(raw []byte, masked bool) []byte {
	if masked {
		return body(raw)
	}
	return raw
}

// body masks the body of a webhook: JSON as in JSON. Any other body does not say what is a number or a name, so only
// its size is shown.
func body(raw []byte) []byte {
	if json.Valid(raw) {
		return JSON(raw)
	}
	if len(raw) == 0 || bytes.HasPrefix(raw, []byte(redact.Dots)) {
		return raw
	}
	return fmt.Appendf(nil, "%s (%d bytes that are not JSON)", redact.Dots, len(raw))
}
