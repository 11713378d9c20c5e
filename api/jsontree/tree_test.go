package jsontree

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// odd are texts at the edge of the grammar, most of them no JSON.
var odd = []string{``, ` `, `{`, `}`, `[`, `]`, `"`, `"\`, `"\u`, `"\u12`, `"\u12g4"`, `"\x"`, "\"\x01\"", "\"\x7f\"", `"a`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `{a:1}`,
	`{"a" 1}`, `{"a":1 "b":2}`, `{1:2}`, `[1,]`, `[,1]`, `[1 2]`, `[1}`, `{"a":1]`, `-`, `+1`, `01`, `-01`, `1.`, `.5`, `1e`, `1e+`, `1E-2`, `-0`, `0.0e0`, `1.5.5`, `0x1`, `nul`, `nullx`, `True`, `truefalse`, `NaN`,
	`1 2`, "1\x00", "\x00", "\xef\xbb\xbf1", " \t\r\n1\v", "[1\u00a0]", `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00\ud83d"`, `"\ud83d\u0041"`, "\"\xff\"", "\"\xed\xa0\x80\\n\"", `{"a":1,"a":2}`,
	`{"k":1,"K":2,"\u212a":3}`, `{"":0}`, strings.Repeat("[", 40) + strings.Repeat("]", 40), `{"a":[1,-0.5e+7,null,true,"\\"],"b":{}}`}

// FuzzParse holds Parse against encoding/json: both read the same texts, as the same
// values, and a text without a doubt is read alike when doubts are looked for.
func FuzzParse(f *testing.F) {
	for _, s := range odd {
		f.Add([]byte(s))
	}
	f.Fuzz(check)
}

func check(t *testing.T, b []byte) {
	before := string(b)
	tree, err := Parse(b)
	if (err == nil) != json.Valid(b) {
		t.Fatalf("%q: %v; valid for encoding/json: %t", b, err, json.Valid(b))
	}
	if err != nil {
		var raw json.RawMessage
		if want := json.Unmarshal(b, &raw); want.Error() != err.Error() {
			t.Fatalf("%q: %v instead of %v", b, err, want)
		}
		return
	}
	var want any
	d := json.NewDecoder(strings.NewReader(before))
	d.UseNumber()
	if err := d.Decode(&want); err != nil || !reflect.DeepEqual(plain(tree), want) {
		t.Fatalf("read %q as %v, encoding/json as %v, %v", b, plain(tree), want, err)
	}
	if raw := strings.Trim(before, " \t\r\n"); string(tree.Raw()) != raw {
		t.Fatalf("%q has the bytes %q", b, tree.Raw())
	}
	strict, _, err := ParseStrict(b)
	if err != nil || !reflect.DeepEqual(plain(strict), plain(tree)) {
		t.Fatalf("%q is read otherwise when doubts are looked for: %v", b, err)
	}
	if string(b) != before {
		t.Fatal("the bytes were changed")
	}
}

// plain is v as encoding/json decodes it: the last value of a repeated name.
func plain(v Value) any {
	switch v.Kind() {
	case Object:
		m := map[string]any{}
		for name, x := range v.Members() {
			m[name] = plain(x)
		}
		return m
	case Array:
		a := make([]any, 0)
		for _, x := range v.Members() {
			a = append(a, plain(x))
		}
		return a
	case String:
		return v.Text()
	case Number:
		return json.Number(v.Raw())
	}
	return map[string]any{"true": true, "false": false}[string(v.Raw())]
}

func TestNesting(t *testing.T) {
	for _, n := range []int{10_000, 10_001} {
		check(t, []byte(strings.Repeat("[", n)+strings.Repeat("]", n)))
	}
}

func TestDoubts(t *testing.T) {
	many := ""
	for i := range 40 {
		many += fmt.Sprintf(`"n%d":0,`, i)
	}
	for text, want := range map[string]Doubt{
		`{"a":1,"b":{"a":1}}`:    {},
		`[{"a":1},{"a":1}]`:      {},
		`{"a":1,"A":2}`:          {Duplicate, 10},
		`{"k":1,"\u212a":2}`:     {Duplicate, 15},
		"{" + many + `"N3":0}`:   {Duplicate, len(many) + 5},
		"{" + many + `"n99":0}`:  {},
		"[\"\xff\",\"\\ud800\"]": {NotUTF8, 4},
		`["\ud83d\ude00"]`:       {},
		`["\ude00\ud83d"]`:       {Halved, 15},
		strings.Repeat("[", MaxDepth) + "1" + strings.Repeat("]", MaxDepth):     {},
		strings.Repeat("[", MaxDepth+1) + "1" + strings.Repeat("]", MaxDepth+1): {TooDeep, MaxDepth + 1},
	} {
		_, got, err := ParseStrict([]byte(text))
		if err != nil || got != want {
			t.Errorf("%.60q: %v, %v; want %v", text, got, err, want)
		}
	}
}
