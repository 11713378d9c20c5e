package mask

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/api/apitest"
	"opdeck/api/redact"
	"opdeck/api/untrusted"
)

func TestValue(t *testing.T) {
	op := apitest.Operation(map[string]any{"odd": map[string]any{"number": "stays"}})
	before := string(op.Raw)
	m := Value(op)
	for _, secret := range []string{"12345678904321", "DE02120300000000202051"} {
		if strings.Contains(string(m.Raw), secret) {
			t.Errorf("%s is in the JSON", secret)
		}
	}
	if m.Source.Account.Number != "••••4321" || m.Destination.CounterpartyAccount.Number != "••••2051" {
		t.Errorf("fields are %q and %q", m.Source.Account.Number, m.Destination.CounterpartyAccount.Number)
	}
	if string(op.Raw) != before || op.Source.Account.Number != "12345678904321" {
		t.Error("the operation itself was changed")
	}
	if !strings.Contains(string(m.Raw), `"odd":{"number":"stays"}`) {
		t.Errorf("another number was masked: %s", m.Raw)
	}
	var again api.Operation
	if err := json.Unmarshal(m.Raw, &again); err != nil || again.Source.Account.Number != "••••4321" {
		t.Errorf("the masked JSON reads as %q, %v", again.Source.Account.Number, err)
	}
	if twice := Value(m); string(twice.Raw) != string(m.Raw) {
		t.Error("masking twice is not masking once")
	}
	if none := Value(api.Operation{}); none.Raw != nil || none.Source.Account != nil {
		t.Errorf("an empty operation became %+v", none)
	}
}

// TestAccountRecord: in an account of its own every number is hidden, as short as it
// may be, and whatever is in its requisites.
func TestAccountRecord(t *testing.T) {
	const in = `{"id":"U1234567","number":"12345","balance":{"sum":{"units":"12345678"}},"requisites":[{"type":"SWIFT","bic":"EXAMDEFF","wallet":"bc1q12345678x","id":"req-1234567"}]}`
	var a api.Account
	if err := json.Unmarshal([]byte(in), &a); err != nil {
		t.Fatal(err)
	}
	const want = `{"id":"U1234567","number":"••••2345","balance":{"sum":{"units":"12345678"}},"requisites":[{"type":"SWIFT","bic":"EXAMDEFF","wallet":"••••678x","id":"req-1234567"}]}`
	shown := Value(a)
	if string(shown.Raw) != want || shown.Number != "••••2345" || strings.Contains(fmt.Sprint(shown.Requisites), "bc1q") {
		t.Errorf("%s %s %v", shown.Raw, shown.Number, shown.Requisites)
	}
	if again := Value(shown); string(again.Raw) != want {
		t.Errorf("masked again: %s", again.Raw)
	}
	if string(a.Raw) != in || a.Requisites[0].Title != "SWIFT" || !strings.Contains(fmt.Sprint(a.Requisites), "bc1q12345678x") {
		t.Error("the record itself changed")
	}
}

func TestJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"account":{"number":"12345678"}}`:                                                                       `{"account":{"number":"••••5678"}}`,
		`{"account":{"number":12345678901234567890}}`:                                                             `{"account":{"number":"••••7890"}}`,
		`{"ACCOUNT":{"NUMBER":"12345678"}}`:                                                                       `{"ACCOUNT":{"NUMBER":"••••5678"}}`,
		`{"account":{"numbe\u0072":"12345678"}}`:                                                                  `{"account":{"numbe\u0072":"••••5678"}}`,
		`{"counterpartyAccount":[{"number":"12345678"},{"number":null}]}`:                                         `{"counterpartyAccount":[{"number":"••••5678"},{"number":null}]}`,
		`{"account":{"x":{"number":"1"},"number":"a\"bcdefgh"}}`:                                                  `{"account":{"x":{"number":"••••"},"number":"••••efgh"}}`,
		`{"iban":"XX12 3456","to_iban":1234567,"Account-Number":"A-77"}`:                                          `{"iban":"••••3456","to_iban":"••••4567","Account-Number":"••••"}`,
		`{"account":"U1v72kDJdQw","beneficiar":"K1"}`:                                                             `{"account":"U1v72kDJdQw","beneficiar":"K1"}`,
		`{"source":{"account":"12345678904321"}}`:                                                                 `{"source":{"account":"••••4321"}}`,
		`{"account":"m•••@example.com"}`:                                                                          `{"account":"m•••@example.com"}`,
		`{"requisites":[{"title":"SWIFT","items":[{"id":"7","key":"Account","value":"12 34 56 78","order":1}]}]}`: `{"requisites":[{"title":"SWIFT","items":[{"id":"7","key":"Account","value":"••••6 78","order":1}]}]}`,
		`{"accounts":[{"fiat":{"number":"00991"},"bank":{"number":7}}]}`:                                          `{"accounts":[{"fiat":{"number":"••••0991"},"bank":{"number":"••••"}}]}`,
		`{"accounts":["12345678"],"number":"123456","x":{"number":"12"}}`:                                         `{"accounts":["••••5678"],"number":"••••3456","x":{"number":"12"}}`,
		`{"comment":"pay <DE89 3704 0044 0532 0130 00>"}`:                                                         `{"comment":"pay <••••3000>"}`,
		`["\u0044E89370400440532013000", 5]`:                                                                      `["••••3000", 5]`,
		`{"DE89370400440532013000":1}`:                                                                            `{"••••3000":1}`,
		`{"a":"DE89370400440532013001"}`:                                                                          `{"a":"DE89370400440532013001"}`, // wrong check digits
		`{"units":"99999999999999999999", "number" : 1.50}`:                                                       `{"units":"99999999999999999999", "number" : 1.50}`,
		`[]`: `[]`, ``: ``,
		`{"account":{"number":"12`: `{"account":{"number":"••••"`, // cut off: nothing shows
	} {
		got := string(JSON([]byte(in)))
		if got != want {
			t.Errorf("%s\nbecame %s\nwant   %s", in, got, want)
		}
	}
}

// TestValueOfAnyType: what is masked does not depend on knowing a type.
func TestValueOfAnyType(t *testing.T) {
	const secret = "DE89370400440532013000"
	type inner struct {
		Number untrusted.Text
		Note   *string
	}
	note := "to " + secret
	v := []any{map[string]inner{secret: {Number: "12345678", Note: &note}}, json.RawMessage(`{"x":"` + secret + `"}`), []byte("iban 12345678"), [][]string{{secret}}, 5, nil}
	b, err := json.Marshal(Value(v))
	if err != nil || strings.Contains(string(b), secret[:18]) || strings.Contains(string(b), "12345678") || !strings.Contains(string(b), "••••5678") {
		t.Errorf("%s, %v", b, err)
	}
	if b, _ = json.Marshal(v); strings.Count(string(b), secret) != 4 {
		t.Errorf("what was masked was changed: %s", b)
	}
}

func TestBody(t *testing.T) {
	for in, want := range map[string]string{
		`{"iban":"X12345678"}`:                          `{"iban":"••••5678"}`,
		`{"iban":"X12345678"`:                           "•••• (19 bytes that are not JSON)",
		`number=12345678&x=123 DE89370400440532013000 `: "•••• (45 bytes that are not JSON)",
		"\x1f\x8b 1234567":                              "•••• (10 bytes that are not JSON)",
		`{"payload":"{\"number\":\"12345678\"}"}`:       `{"payload":"{\"number\":\"••••5678\"}"}`,
		"": "",
	} {
		if got := string(body([]byte(in))); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// FuzzJSON: whatever comes, valid JSON stays valid and is masked once for all,
// and of an IBAN put into it nothing but the end can be read.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"account":{"number":"1"}}`, `[1,"x\u0044",{"requisites":[{"items":[{"value":1e5}]}]}]`, `{"a":"`, `}{][,:"`, "\"\\"} {
		f.Add([]byte(s), "comment", "pay ", uint64(370400440532013000))
	}
	f.Fuzz(func(t *testing.T, raw []byte, key, before string, account uint64) {
		out := JSON(raw)
		body(raw)
		if json.Valid(raw) != json.Valid(out) && json.Valid(raw) {
			t.Fatalf("%q became %q", raw, out)
		}
		if json.Valid(raw) && string(JSON(out)) != string(out) {
			t.Fatalf("%q, masked again: %q", out, JSON(out))
		}
		secret := german(account)
		for _, v := range []any{map[string]any{key: before + secret}, []any{before + secret + before}, map[string]any{secret: map[string]any{key: []any{secret}}}} {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(JSON(b)); !json.Valid([]byte(got)) || strings.Contains(got, secret[:18]) && !strings.Contains(before+key, secret[:18]) {
				t.Fatalf("%s became %s", b, got)
			}
		}
	})
}

// german is an IBAN with right check digits.
func german(n uint64) string {
	bban := fmt.Sprintf("%018d", n%1_000_000_000_000_000_000)
	for check := 2; check < 99; check++ {
		if s := fmt.Sprintf("DE%02d%s", check, bban); redact.Changes(s) {
			return s
		}
	}
	panic("one of 97 is right")
}
