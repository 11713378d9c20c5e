// Package mask masks account numbers for people whose role may not see them: in
// any value of the service, in webhooks, and in any JSON as it came, where
// everything else stays to the letter. A number is known by the name of its field (number, iban,
// accountNumber, the values of requisites) and, in any text, by its shape: an
// IBAN whose check digits are right. Masking what is masked already changes
// nothing.
package mask

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"unicode/utf8"

	"opdeck/api"
	"opdeck/api/untrusted"
)

// Dot stands for what is hidden.
const Dot = "•"

const dots = Dot + Dot + Dot + Dot

// Number is an account number with all but its last four letters and digits as
// dots, "••••1234"; how long it was is not told. Four or fewer are dots only.
func Number(n untrusted.Text) untrusted.Text {
	s := strings.TrimRight(n.Line(128), " ")
	if s == "" {
		return ""
	}
	r := []rune(s)
	if len(r) <= 4 {
		return dots
	}
	return untrusted.Text(dots + string(r[len(r)-4:]))
}

// Needed reports whether the person in ctx gets masked values: whoever may not
// reveal account numbers, and a context that names nobody.
func Needed(ctx context.Context) bool { return !api.ActorOf(ctx).Role.May(api.MayReveal) }

// For is v as the person in ctx may see it: Value of it where Needed. All that
// leaves the program for a person passes here.
func For[T any](ctx context.Context, v T) T {
	if Needed(ctx) {
		return Value(v)
	}
	return v
}

// Value is v with account numbers masked in every text that it holds, whatever
// type it has: a field that is added later is masked without more ado. Fields
// called Number are account numbers, bytes are the body of a message (body), and
// raw JSON is masked by JSON. v itself is not changed.
func Value[T any](v T) T {
	maskIn(reflect.ValueOf(&v).Elem(), "")
	return v
}

// maskIn masks what v holds, in copies of what v points to. name is the field's.
func maskIn(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.String:
		if is := maskText(v.String(), name); is != v.String() {
			v.SetString(is)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			switch f := v.Type().Field(i); {
			case v.Type() == accountType && f.Type == rawType:
				if raw := v.Field(i); !raw.IsNil() {
					raw.SetBytes(within("account", raw.Bytes()))
				}
			case f.IsExported():
				maskIn(v.Field(i), f.Name)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			c := reflect.New(v.Type().Elem())
			c.Elem().Set(v.Elem())
			maskIn(c.Elem(), name)
			v.Set(c)
		}
	case reflect.Slice:
		maskSlice(v, name)
	case reflect.Map:
		if v.IsNil() {
			return
		}
		c := reflect.MakeMapWithSize(v.Type(), v.Len())
		for k, e := range v.Seq2() {
			c.SetMapIndex(maskCopy(k, ""), maskCopy(e, name))
		}
		v.Set(c)
	case reflect.Interface:
		if !v.IsNil() {
			v.Set(maskCopy(v.Elem(), name))
		}
	}
}

var accountType, rawType = reflect.TypeFor[api.Account](), reflect.TypeFor[json.RawMessage]()

func maskCopy(v reflect.Value, name string) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	maskIn(c, name)
	return c
}

func maskSlice(v reflect.Value, name string) {
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
			maskIn(c.Index(i), name)
		}
		v.Set(c)
	}
}

func maskText(s, name string) string {
	if name == "Number" {
		return string(Number(untrusted.Text(s)))
	}
	return Text(s)
}

// NumberIf is an account number as it is shown now: masked or in full.
func NumberIf(n untrusted.Text, masked bool) untrusted.Text {
	if masked {
		return Number(n)
	}
	return n
}

// JSONIf is raw as it is shown or copied now: masked or as it came.
func JSONIf(raw []byte, masked bool) []byte {
	if masked {
		return JSON(raw)
	}
	return raw
}

// body is the body of a webhook as it may be shown: JSON as JSON does it. In a
// body that is not JSON nothing tells what is a number, so that every run of five
// digits and more is hidden.
func body(raw []byte) []byte {
	if json.Valid(raw) {
		return JSON(raw)
	}
	s := Text(strings.ToValidUTF8(string(JSON(raw)), string(utf8.RuneError)))
	var b strings.Builder
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && digit(s[j]) {
			j++
		}
		switch {
		case j-i >= 5:
			b.WriteString(dots)
		case j > i:
			b.WriteString(s[i:j])
		default:
			j++
			b.WriteByte(s[i])
		}
		i = j
	}
	return []byte(b.String())
}
