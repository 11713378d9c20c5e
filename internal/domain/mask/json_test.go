package mask

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

func TestJSONInAnySpelling(t *testing.T) {
	for in, want := range map[string]string{
		`{"source":{"account":{"number":"123456789"}}}`:                    `{"source":{"account":{"number":"••••6789"}}}`,
		`{"counterpartyAccount":{"number":123456789,"x":1.50}}`:            `{"counterpartyAccount":{"number":"••••6789","x":1.50}}`,
		`{"Account":{"a":{"number":"1"},"NUMBER":"12345"}}`:                `{"Account":{"a":{"number":"••••"},"NUMBER":"••••2345"}}`,
		`{"account":[{"number":"12345"},{"number":"67890"}]}`:              `{"account":[{"number":"••••2345"},{"number":"••••7890"}]}`,
		`{"account":{"number":null,"name":"number"}}`:                      `{"account":{"number":null,"name":"number"}}`,
		`{"acc\u006funt":{"num\u0062er":"12345"}}`:                         `{"acc\u006funt":{"num\u0062er":"••••2345"}}`,
		`{"account":{"number":"\u0031\u0032345\"6"}}`:                      `{"account":{"number":"••••45\"6"}}`,
		`{"number":"12345","customer":{"number":"12345"}}`:                 `{"number":"12345","customer":{"number":"12345"}}`,
		`{"account":"number","number":"12345"}`:                            `{"account":"number","number":"12345"}`,
		`{"account":{"name":"{\"number\":\"1\"}","number":"12345"},"z":1}`: `{"account":{"name":"{\"number\":\"1\"}","number":"••••2345"},"z":1}`,
	} {
		if got := string(JSON([]byte(in))); got != want {
			t.Errorf("%s\n gives %s\n want  %s", in, got, want)
		}
	}
}

// TestJSONLeavesTheRest: any JSON stays JSON and is unchanged where it has no account number.
func TestJSONLeavesTheRest(t *testing.T) {
	value := rapid.Deferred(func() *rapid.Generator[any] {
		leaf := rapid.OneOf(rapid.Map(rapid.String(), func(s string) any { return s }), rapid.Map(rapid.Float64(), func(f float64) any { return f }),
			rapid.Just[any](nil), rapid.Just[any](true))
		list := rapid.Map(rapid.SliceOfN(leaf, 0, 3), func(l []any) any { return l })
		return rapid.OneOf(leaf, list, rapid.Map(rapid.MapOfN(rapid.SampledFrom([]string{"name", "numbers", "x", "\"", "\\"}), leaf, 0, 4),
			func(m map[string]any) any { return m }))
	})
	rapid.Check(t, func(t *rapid.T) {
		v := map[string]any{"a": value.Draw(t, "a"), "account": value.Draw(t, "account"), "b": value.Draw(t, "b")}
		src, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		got := string(JSON(src))
		if !json.Valid([]byte(got)) {
			t.Fatalf("%s\nbecame no JSON: %s", src, got)
		}
		if _, inside := v["account"].(map[string]any); inside && got != string(src) {
			t.Fatalf("%s\nbecame %s", src, got)
		}
	})
}
