package format

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestIndent: JSON is laid out as the library does, and what is nested deep takes no more
// room than its length allows.
func TestIndent(t *testing.T) {
	var value *rapid.Generator[any]
	value = rapid.Deferred(func() *rapid.Generator[any] {
		leaf := rapid.SampledFrom([]any{nil, true, 1.5, "", "a\"b", "{[,:]}", "\\", map[string]any{}, []any{}})
		return rapid.OneOf(leaf, rapid.Map(rapid.SliceOfN(value, 0, 3), func(l []any) any { return l }),
			rapid.Map(rapid.MapOfN(rapid.SampledFrom([]string{"a", "b:", ""}), value, 0, 3), func(m map[string]any) any { return m }))
	})
	rapid.Check(t, func(t *rapid.T) {
		doc, err := json.Marshal(value.Draw(t, "value"))
		if err != nil {
			t.Fatal(err)
		}
		var want, wide bytes.Buffer
		_ = json.Indent(&want, doc, "", "  ")
		_ = json.Indent(&wide, doc, " ", "\t\t")
		for _, in := range [][]byte{doc, wide.Bytes()} {
			if got := Indent(in); string(got) != want.String() {
				t.Fatalf("%s\nbecame %s\nwant   %s", in, got, want.Bytes())
			}
		}
	})
	deep := strings.Repeat(`{"a":[`, 4500) + "1" + strings.Repeat("]}", 4500)
	if got := Indent([]byte(deep)); len(got) > 200*len(deep) || !json.Valid(got) {
		t.Errorf("%d bytes became %d", len(deep), len(got))
	}
	if lines, whole := JSON([]byte(`["`+strings.Repeat("x", 5000)+`"]`), 10); whole || len(lines) != 3 {
		t.Errorf("a line that was cut counts as whole: %d lines", len(lines))
	}
	for _, damaged := range []string{`"`, `{"a`, `{"a\`, `]`, `{`, ``} {
		Indent([]byte(damaged))
	}
}
