// Package mask masks account numbers, personal data and secrets for people whose role may not see them: in any value
// of the service, in webhooks, and in any JSON, whose other parts stay unchanged. It recognises all of them by member
// names (package redact; number, accountNumber, the values of requisites), and account numbers in any text by form
// too: an IBAN with right check digits. Masking is idempotent.
package mask

import (
	"bytes"
	"cmp"
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

// address masks, in every web address in a text, the login and the query values whose names suggest a secret.
func address(s string) string {
	var b strings.Builder
	for {
		at := strings.Index(s, "://")
		if at < 0 {
			return b.String() + s
		}
		b.WriteString(s[:at+3])
		s = s[at+3:]
		end := strings.IndexAny(s, " \t\r\n\"'<>")
		if end < 0 {
			end = len(s)
		}
		b.WriteString(addressParts(s[:end]))
		s = s[end:]
	}
}

// addressParts masks an address after its scheme.
func addressParts(s string) string {
	host := strings.IndexAny(s, "/?#")
	if host < 0 {
		host = len(s)
	}
	if at := strings.LastIndexByte(s[:host], '@'); at >= 0 {
		s, host = redact.Dots+s[at:], host-at+len(redact.Dots)
	}
	query := strings.IndexByte(s[host:], '?')
	if query < 0 {
		return s
	}
	var b strings.Builder
	rest := s[host+query:]
	b.WriteString(s[:host+query])
	for rest != "" {
		end := strings.IndexAny(rest[1:], "&#;") + 1
		if end == 0 {
			end = len(rest)
		}
		name, _, given := strings.Cut(rest[1:end], "=")
		if given && redact.KindOf(name, redact.Open) == redact.Secret {
			b.WriteString(rest[:1] + name + "=" + redact.Dots)
		} else {
			b.WriteString(rest[:end])
		}
		rest = rest[end:]
	}
	return b.String()
}

// JSON masks valid JSON by member names in any case and spelling (kindOf), and account numbers in every text by their
// form too. JSON without any is returned unchanged; so is everything that is not masked.
func JSON(raw []byte) []byte { return within("", raw) }

// Refusal masks a refusal in JSON: as JSON does, and each of its texts is a sentence of the service.
func Refusal(raw []byte) []byte { return as(redact.Prose, raw) }

// as is JSON for a value of that kind.
func as(is redact.Kind, raw []byte) []byte { return scan([]level{{is: is}}, raw) }

// within is JSON for a value at a path ("customer.email"): in an account, a number is an account number.
func within(path string, raw []byte) []byte { return scan(levels(path), raw) }

func scan(at []level, raw []byte) []byte {
	s := string(raw)
	var b strings.Builder
	kept := 0
	for i := 0; i < len(s); {
		top := len(at) - 1
		switch c := s[i]; {
		case c == '{' || c == '[':
			at = append(at, below(at, c == '{'))
			i++
		case (c == '}' || c == ']') && top >= 0:
			at = at[:top]
			i++
		case c == ',' && top >= 0:
			at[top].isKey = at[top].object
			i++
		case c <= ' ' || c == ':' || c == ',' || c == '}' || c == ']':
			i++
		default:
			end := scalar(s, i)
			if new, ok := token(at, s[i:end]); ok {
				b.WriteString(s[kept:i])
				b.WriteString(new)
				kept = end
			}
			i = end
		}
	}
	if kept == 0 {
		return raw
	}
	return []byte(b.String() + s[kept:])
}

// level is the scanner's state in an object or a list, under a key.
type level struct {
	object bool
	label  string      // of an object: the value of its member "key"
	key    string      // of an object: the last key; of a list: the key of the list; folded
	isKey  bool        // the next string is a key
	is     redact.Kind // what the value of that key holds
	within place       // what the object or list belongs to
	inside redact.Kind // the same for its members
}

// levels is the state for a value at that path of a record.
func levels(path string) (at []level) {
	for name := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		if strings.Trim(name, "0123456789") != "" { // not an index in a list
			l := below(at, true)
			l.enter(name)
			at = append(at, l)
		}
	}
	return at
}

// enter handles a key.
func (l *level) enter(name string) {
	l.key, l.is, l.isKey = fold(name), redact.KindOf(name, l.inside), false
}

// place is the subject of an object, by the keys above it.
type place int

const (
	elsewhere place = iota
	account         // its numbers are account numbers
	requisite       // so are its values
)

func below(at []level, object bool) level {
	l := level{object: object, isKey: object}
	if len(at) == 0 {
		return l
	}
	up := at[len(at)-1]
	l.within, l.inside = max(up.within, about(up.key)), up.is
	if !object {
		l.key, l.is = up.key, up.is
	}
	return l
}

func about(key string) place {
	switch {
	case strings.Contains(key, "requisit"):
		return requisite
	case strings.HasSuffix(key, "account"), strings.HasSuffix(key, "accounts"), key == "fiat":
		return account
	}
	return elsewhere
}

// fold normalises a key: counterparty_account becomes counterpartyAccount.
func fold(key string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(key))
}

// token is the masked form of a string, number or word; ok is false if it is not masked.
func token(at []level, raw string) (new string, ok bool) {
	if top := len(at) - 1; top >= 0 && at[top].isKey {
		at[top].enter(unquote(raw))
		return written(raw, redact.Open)
	}
	is := holds(at, raw)
	if top := len(at) - 1; top >= 0 && at[top].key == "key" {
		at[top].label = unquote(raw)
	}
	return written(raw, is)
}

// written masks a token: completely, or the IBANs in it.
func written(raw string, is redact.Kind) (string, bool) {
	isText := strings.HasPrefix(raw, `"`)
	if is == redact.Prose && !isText {
		is = redact.Open
	}
	if is == redact.Open && (!isText || !strings.Contains(raw, `\`) && !strings.Contains(raw, "://") &&
		!redact.Changes(raw)) {
		return "", false
	}
	was := unquote(raw)
	shown := hide(was, is)
	if shown == was && (isText || is == redact.Open) {
		return "", false
	}
	return quote(shown), true
}

// holds is the kind of the current value, by the names around it.
func holds(at []level, raw string) redact.Kind {
	if len(at) == 0 || raw == "null" || raw == "true" || raw == "false" {
		return redact.Open
	}
	l := at[len(at)-1]
	if l.is < redact.Number && isNumber(l, raw) {
		return redact.Number
	}
	return l.is
}

// isNumber reports whether a value is an account number by its place.
func isNumber(l level, raw string) bool {
	switch {
	case l.key == "number":
		return l.within != elsewhere || digits(raw)
	case l.within == requisite && (redact.Public(l.key) || l.key == "value" && redact.Public(l.label)):
		return false
	case l.within == requisite && (l.key == "value" || l.key != "id" && digits(raw)):
		return true
	case about(l.key) != elsewhere || l.key == "wallet": // an identifier, or a number in place of one
		return digits(raw)
	}
	return false
}

// digits reports whether a text is mostly digits, so that it may be a number.
func digits(raw string) bool {
	n := 0
	for _, r := range unquote(raw) {
		if r >= '0' && r <= '9' {
			n++
		}
	}
	return n >= 6
}

// scalar is the end of the string, number or word at s[i].
func scalar(s string, i int) int {
	if s[i] != '"' {
		for i++; i < len(s) && !strings.ContainsRune(" \t\r\n,:{}[]\"", rune(s[i])); i++ {
		}
		return i
	}
	for i++; i < len(s) && s[i] != '"'; i++ {
		if s[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(s))
}

// unquote is the text of a JSON string; a number or word is unchanged.
func unquote(raw string) string {
	var s string
	if json.Unmarshal([]byte(raw), &s) != nil {
		return raw
	}
	return s
}

func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // encoding a string cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}

// Detail is the value of a field, masked if masked is true: as in JSON at the path of the field, which may be its
// label; a value that is JSON is masked inside.
func Detail(d api.Detail, masked bool) untrusted.Text {
	s, path := string(d.Value), cmp.Or(d.Path, d.Label)
	switch {
	case !masked:
	case strings.HasPrefix(s, "{") || strings.HasPrefix(s, "["):
		return untrusted.Text(within(path, []byte(s)))
	case s != "true" && s != "false" && s != "–":
		return untrusted.Text(hide(s, holds(levels(path), s)))
	}
	return d.Value
}

// hide is the masked form of a text of that kind.
func hide(s string, is redact.Kind) string {
	switch {
	case s == "":
		return ""
	case is == redact.Secret:
		return redact.Dots
	case is == redact.Personal:
		return redact.Person(s)
	case is == redact.Number:
		return string(redact.LastFour(untrusted.Text(s)))
	}
	inner := strings.TrimSpace(s)
	switch {
	case inner != "" && (inner[0] == '{' || inner[0] == '[') && json.Valid([]byte(inner)):
		return string(as(is, []byte(s)))
	case is == redact.Prose:
		return redact.Said(address(s))
	}
	return redact.Text(address(s))
}

// revealKey marks a context in which values are not masked.
type revealKey struct{}

// Needed reports whether values are masked in ctx. They are, unless the role of the person
// may reveal them and the context is one that Reveal or ByCaller returned.
func Needed(ctx context.Context) bool {
	unmasked, _ := ctx.Value(revealKey{}).(bool)
	return !unmasked || Barred(ctx)
}

// Barred reports whether the person in ctx may not reveal masked values at all; a context
// that names no one is barred too. Filters then find nothing by what the mask hides.
func Barred(ctx context.Context) bool { return !api.ActorOf(ctx).Role.May(api.MayReveal) }

// Reveal records e in the trail and then returns a context in which values are not masked,
// for the one answer that e names. The error is a refusal: by role, or because the trail
// cannot be written.
func Reveal(ctx context.Context, trail api.Auditor, e api.Event) (context.Context, error) {
	if err := Record(ctx, trail, e); err != nil {
		return ctx, err
	}
	return context.WithValue(ctx, revealKey{}, true), nil
}

// Record is Reveal for a caller that masks when it draws: after it, the caller may show the
// values.
func Record(ctx context.Context, trail api.Auditor, e api.Event) error {
	if err := api.Need(ctx, e.Name, api.MayReveal); err != nil {
		return err
	}
	if err := trail.Note(ctx, api.ActorOf(ctx), e); err != nil {
		return api.NotRecorded(e.Name, "nothing is revealed", err)
	}
	return nil
}

// ByCaller leaves masking to the caller: to the console, which masks each time that it draws,
// and to code that uses values and shows none of them.
func ByCaller(ctx context.Context) context.Context { return context.WithValue(ctx, revealKey{}, true) }

// Again ends what Reveal and ByCaller began: values are masked.
func Again(ctx context.Context) context.Context { return context.WithValue(ctx, revealKey{}, false) }
