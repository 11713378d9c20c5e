package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestAccountInEachShape: the same account as the service's page, its webhook and
// others might write it.
func TestAccountInEachShape(t *testing.T) {
	for in, want := range map[string]string{
		`{"id":"U1","customer":{"id":"D1"},"currencyCode":"EUR","balance":{"sum":{"currencyCode":"EUR","units":"12","nanos":500000000}}}`:     "U1 D1 EUR EUR 12.5",
		`{"suid":"U1","cuid":"D1","currency_iso":"EUR","balance":{"money":{"currencyCode":"EUR","units":12,"nanos":500000000},"default":{}}}`: "U1 D1 EUR EUR 12.5",
		`{"accountId":"U1","customer":{"cuid":"D1"},"balance":{"currencyCode":"EUR","units":"12","nanos":500000000}}`:                         "U1 D1 EUR EUR 12.5",
		`{"id":7,"customer":"D1","currencyIso":"EUR","balance":"12.50"}`:                                                                      "  EUR text",
		`{"id":"U1","balance":null,"hold":[],"requisites":null}`:                                                                              "U1   ",
		`{"id":"U1","balance":{"sum":{"currencyCode":"EUR","units":"1","nanos":0},"money":{"currencyCode":"EUR","units":"2","nanos":0}}}`:     "U1   “money” (object), “sum” (object)",
		`{"id":"U1","balance":{"sum":{"currencyCode":"EUR","units":"1","nanos":0},"scale":2}}`:                                                "U1   “scale” (number), “sum” (object)",
	} {
		var a Account
		if err := json.Unmarshal([]byte(in), &a); err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		money := ""
		if m := a.Balance.Value(); !m.Empty() {
			money = m.String()
		}
		if got := fmt.Sprintf("%s %s %s %s", string(a.ID), string(a.Customer.ID), string(a.CurrencyCode), money); got != want {
			t.Errorf("%s is %q, not %q", in, got, want)
		}
		if out, err := json.Marshal(a); err != nil || string(out) != in {
			t.Errorf("%s is written as %s (%v)", in, out, err)
		}
	}
	for in, want := range map[string]string{`{"sum":{"currencyCode":"EUR","units":"250000","nanos":5}}`: "EUR 250000.000000005", `{"currencyCode":"EUR","units":1,"nanos":0}`: "EUR 1", `{"currencyCode":"EUR","units":1}`: "“currencyCode” (text), “units” (number)",
		`{"sum":{"currencyCode":"EUR","units":"x"}}`: "“currencyCode” (text), “units” (text)", `{"currencyCode":"EUR","country":"DE"}`: "", `{"sum":{"currencyCode":"EUR","units":"1"},"moon":1}`: "", `{"a":1}`: "", `7`: "", `{}`: ""} {
		if got, ok := amountIn(json.RawMessage(in)); ok != (want != "") || ok && got.String() != want {
			t.Errorf("%s is the amount %q, not %q", in, got, want)
		}
	}
	var odd Account
	if err := json.Unmarshal([]byte(`{"id":"U","balance":"12.50","hold":[1],"isDefault":"maybe","moon":{"a":1}}`), &odd); err != nil {
		t.Fatal(err)
	}
	var reported []string
	for _, f := range odd.Unknown() {
		reported = append(reported, fmt.Sprint(f.Path, " ", f.Odd))
	}
	if got := strings.Join(reported, ", "); got != "balance true, hold true, isDefault true, moon false" {
		t.Errorf("beside the fields it shows %s", got)
	}
}

// TestRequisitesInAnyShape: in the webhook's they keep its order; in any other no
// member is lost.
func TestRequisitesInAnyShape(t *testing.T) {
	for in, want := range map[string]string{
		`[{"title":"SEPA","items":[{"key":"b","value":"2","order":2},{"key":"a","value":"1","order":"1"}]}]`: "SEPA: a=1 b=2",
		`[{"type":"SWIFT","iban":"X","bic":"Y"},{"type":"LOCAL","number":5}]`:                                "SWIFT: bic=Y iban=X; LOCAL: number=5",
		`{"iban":"X","deep":{"n":[1]}}`: `: deep={"n":[1]} iban=X`,
		`"as agreed"`:                   ": =as agreed", `[null,{},[],true,{"items":"x"}]`: ": =true; : items=x", `null`: "", `[]`: "",
		`[{"title":"T","items":[{"key":"a"},7,null,{"note":"n"}],"until":null}]`: "T: a=",
	} {
		var r Requisites
		if err := json.Unmarshal([]byte(in), &r); err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		var sets []string
		for _, set := range r {
			line := string(set.Title) + ":"
			for _, it := range set.Items {
				line += " " + string(it.Key) + "=" + string(it.Number)
			}
			sets = append(sets, line)
		}
		if got := strings.Join(sets, "; "); got != want {
			t.Errorf("%s gives %q, not %q", in, got, want)
		}
	}
}

// FuzzAccount: no JSON object is lost, whatever it holds.
func FuzzAccount(f *testing.F) {
	f.Add([]byte(`{"id":"U1","balance":{"sum":{"units":"1"}},"requisites":[{"items":[{"order":1e9}]}],"accounts":[{"suid":1}]}`))
	f.Add([]byte(`{"profile":7,"accounts":[null,"x"],"customer":[]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if !ObjectOf(b).Exists() || !json.Valid(b) { // object drops a byte order mark
			return
		}
		var a Account
		var p Counterparty
		if err := json.Unmarshal(b, &a); err != nil || string(a.Raw) == "" {
			t.Fatalf("account: %v", err)
		}
		if err := json.Unmarshal(b, &p); err != nil || string(p.Raw) == "" {
			t.Fatalf("counterparty: %v", err)
		}
		_, _, _, _ = Details(a.Unknown()), Details(p.Unknown()), p.Statuses(), p.Profile.Details()
	})
}
