package present

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"opdeck/api"
	"opdeck/api/apitest"
	"opdeck/api/hook"
	"opdeck/api/jsontree"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/audit"
)

// maker makes records of which each text is what text says of its field's name.
type maker struct {
	text func(field string) string // nil: records are empty
	own  map[reflect.Type]any      // values of types that cannot be filled field by field
}

const deepest = 6 // members of members

func (m maker) value(t reflect.Type, name string, deep int) reflect.Value {
	out := reflect.New(t).Elem()
	if v, ok := m.own[t]; ok {
		out.Set(reflect.ValueOf(v))
		return out
	}
	if m.text == nil || deep == deepest {
		return out
	}
	switch t.Kind() {
	case reflect.String:
		out.SetString(m.text(name))
	case reflect.Bool:
		out.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		out.SetInt(3)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		out.SetUint(1)
	case reflect.Float64:
		out.SetFloat(1.5)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			out.SetBytes([]byte(m.text(name)))
			break
		}
		out.Set(reflect.Append(out, m.value(t.Elem(), name, deep+1)))
	case reflect.Array:
		for i := range out.Len() {
			out.Index(i).Set(m.value(t.Elem(), name, deep+1))
		}
	case reflect.Pointer:
		out.Set(reflect.New(t.Elem()))
		out.Elem().Set(m.value(t.Elem(), name, deep+1))
	case reflect.Map:
		out.Set(reflect.MakeMap(t))
		out.SetMapIndex(m.value(t.Key(), name, deep+1), m.value(t.Elem(), name, deep+1))
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() {
				out.Field(i).Set(m.value(f.Type, f.Name, deep+1))
			}
		}
	}
	return out
}

// inColumn is a record in a column.
type inColumn struct {
	Name  string
	Cell  Cell
	Exact string
}

// call is what a presenter makes of records of m; columns become the cells of a record.
func (m maker) call(presenter any) []any {
	f := reflect.ValueOf(presenter)
	if f.Kind() != reflect.Func {
		return []any{m.cells(f)}
	}
	var in []reflect.Value
	for i := range f.Type().NumIn() {
		t := f.Type().In(i)
		in = append(in, m.value(t, strings.ToLower(t.Name()), 0))
	}
	var results []reflect.Value
	if f.Type().IsVariadic() {
		results = f.CallSlice(in)
	} else {
		results = f.Call(in)
	}
	out := make([]any, len(results))
	for i, r := range results {
		out[i] = m.cells(r)
	}
	return out
}

// cells are those of a record, where v are columns.
func (m maker) cells(v reflect.Value) any {
	if v.Kind() == reflect.Slice && v.Type().Elem() == reflect.TypeFor[any]() {
		out := make([]any, v.Len())
		for i := range out {
			out[i] = m.cells(v.Index(i).Elem())
		}
		return out
	}
	if v.Kind() != reflect.Slice || v.Type().Elem().Kind() != reflect.Struct {
		return v.Interface()
	}
	if cell, ok := v.Type().Elem().FieldByName("Cell"); !ok || cell.Type.Kind() != reflect.Func {
		return v.Interface()
	}
	var out []any
	for i := range v.Len() {
		c := v.Index(i)
		cell := c.FieldByName("Cell")
		record := m.value(cell.Type().In(1), "record", 0)
		line := inColumn{Name: c.FieldByName("Name").String(),
			Cell: cell.Call([]reflect.Value{reflect.ValueOf(m.own[reflect.TypeFor[Options]()]), record})[0].Interface().(Cell)}
		if csv := c.FieldByName("CSV"); csv.Len() > 0 {
			for i := range csv.Len() {
				line.Exact += csv.Index(i).FieldByName("Cell").Call([]reflect.Value{record})[0].Interface().(fmt.Stringer).String()
			}
		}
		out = append(out, line)
	}
	return out
}

// drawn reports whether a member of a presentation is text to be drawn.
func drawn(name string) bool {
	return name != "Copy" && name != "ID" && name != "Opens" && name != "Remedy"
}

// texts walks the texts of a presentation.
func texts(v reflect.Value, visit func(string)) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() != reflect.TypeFor[untrusted.Text]() {
			visit(v.String())
		}
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			texts(v.Elem(), visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			texts(v.Index(i), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && drawn(f.Name) {
				texts(v.Field(i), visit)
			}
		}
	}
}

// decoded is a JSON text as the service sends it.
func decoded[T any](t *testing.T, doc string) T {
	t.Helper()
	var out T
	if err := json.Unmarshal([]byte(doc), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// making is a maker with these texts and these samples of the service's records.
func making(t *testing.T, text func(string) string, op api.Operation) maker {
	quote := func(s string) string { b, _ := json.Marshal(text(s)); return string(b) }
	money := fmt.Sprintf(`{"currencyCode":%s,"units":"1250","nanos":500000000}`, quote("currency"))
	account := decoded[api.Account](t, fmt.Sprintf(`{"id":%s,"name":%s,"number":%s,"status":%s,"balance":{"sum":%s},"hold":"12.50",`+
		`"customer":{"id":%s,"name":%s,"email":%s},"requisites":[{"title":%s,"items":[{"key":%s,"number":%s}]}],"extra":%s}`, quote("id"),
		quote("name"), quote("number"), quote("status"), money, quote("cuid"), quote("customer"), quote("email"), quote("title"),
		quote("key"), quote("value"), quote("extra")))
	return maker{text, map[reflect.Type]any{
		reflect.TypeFor[time.Time](): noon, reflect.TypeFor[Options](): as, reflect.TypeFor[*time.Location](): time.UTC,
		reflect.TypeFor[api.Operation](): op, reflect.TypeFor[api.Account](): account,
		reflect.TypeFor[api.Application](): decoded[api.Application](t, fmt.Sprintf(
			`{"individual":{"application":{"firstName":%s,"empty":""},"documents":[{"type":%s}]}}`, quote("first name"), quote("type"))),
		reflect.TypeFor[api.Money]():      decoded[api.Money](t, money),
		reflect.TypeFor[api.Time]():       api.Time{Raw: untrusted.Text(text("time"))},
		reflect.TypeFor[secret.Value]():   secret.New("0123456789"),
		reflect.TypeFor[jsontree.Value](): jsontree.Value{}, reflect.TypeFor[time.Duration](): 90 * time.Second,
		reflect.TypeFor[api.Verdict]():    api.Verdict(text("verdict")),
		reflect.TypeFor[hook.Stamp]():     hook.Stamp{},
		reflect.TypeFor[approval.State](): approval.Open, reflect.TypeFor[audit.Result](): audit.ResultUnknown,
	}}
}

// TestFactsAreSafe: whatever a store or the service says, what is presented can be drawn as it is.
func TestFactsAreSafe(t *testing.T) {
	m := making(t, func(string) string { return "a" + apitest.Hostile + "c" }, apitest.HostileOperation())
	for name, p := range presenters {
		for _, out := range m.call(p) {
			texts(reflect.ValueOf(out), func(text string) {
				if clean, flags := untrusted.Clean(text, len(text)+1); flags != 0 || clean != text {
					t.Errorf("%s: %q is not safe to draw", name, text)
				}
			})
		}
	}
}

// TestPresenters: a record with every member shows something, and one without any can be shown.
func TestPresenters(t *testing.T) {
	rich := making(t, spaced, apitest.Operation(nil))
	empty := maker{nil, map[reflect.Type]any{reflect.TypeFor[Options](): as}}
	ofSomeRecords := []string{"Moment.By", "Moment.Item", "ShareRisk"}
	for name, p := range presenters {
		var full strings.Builder
		show(&full, rich.call(p))
		if strings.TrimSpace(full.String()) == "" && !slices.Contains(ofSomeRecords, name) {
			t.Errorf("%s shows nothing of a full record", name)
		}
		show(&full, empty.call(p))
	}
}

// spaced are a field's name in words.
func spaced(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 && !unicode.IsUpper(rune(name[i-1])) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// show writes a presentation in lines.
func show(b *strings.Builder, v any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			show(b, x)
		}
	case []Section:
		for _, s := range v {
			show(b, s)
		}
	case Section:
		fmt.Fprintf(b, "%s\n", strings.TrimSpace("# "+v.Title))
		show(b, v.Facts)
	case []Fact:
		for _, f := range v {
			show(b, f)
		}
	case Fact:
		fmt.Fprintf(b, "%s: %s%s\n", v.Key(), v.Value, toned(v.Tone))
	case Cell:
		fmt.Fprintf(b, "%s%s\n", v.Text, toned(v.Tone))
	case []Sentence:
		for _, s := range v {
			show(b, s)
		}
	case Sentence:
		fmt.Fprintf(b, "%s%s\n", v.Line(as), toned(v.Tone))
	case Mark:
		show(b, v.Cell(as))
	case []Span:
		for _, s := range v {
			fmt.Fprintf(b, "%s%s\n", s.Text, toned(s.Tone))
		}
	case []Finding:
		for _, f := range v {
			fmt.Fprintf(b, "# %s (%s) %s\n", f.Title, f.None, f.Note)
			show(b, f.Lines)
		}
	case []string:
		for _, s := range v {
			show(b, s)
		}
	case []Cell:
		for _, c := range v {
			show(b, c)
		}
	case inColumn:
		fmt.Fprintf(b, "%s: %s%s", v.Name, v.Cell.Text, toned(v.Cell.Tone))
		if v.Exact != "" {
			fmt.Fprintf(b, " | %s", v.Exact)
		}
		b.WriteByte('\n')
	case string:
		fmt.Fprintf(b, "%s\n", v)
	default:
		fmt.Fprintf(b, "%+v\n", v)
	}
}

// toned names a tone that is not the usual one.
func toned(t Tone) string {
	return []string{"", " [dim]", " [accent]", " [good]", " [warn]", " [bad]", " [info]", " [strong]"}[t]
}
