package mask

import (
	"encoding/json"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/api/apitest"
)

func TestOperation(t *testing.T) {
	op := apitest.Operation(map[string]any{"odd": map[string]any{"number": "stays"}})
	before := string(op.Raw)
	m := Operation(op)
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
	if twice := Operation(m); string(twice.Raw) != string(m.Raw) {
		t.Error("masking twice is not masking once")
	}
	if none := Operation(api.Operation{}); none.Raw != nil || none.Source.Account != nil {
		t.Errorf("an empty operation became %+v", none)
	}
}

func TestJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"account":{"number":"12345678"}}`:                               `{"account":{"number":"••••5678"}}`,
		`{"account":{"number":12345678901234567890}}`:                     `{"account":{"number":"••••7890"}}`,
		`{"ACCOUNT":{"NUMBER":"12345678"}}`:                               `{"ACCOUNT":{"NUMBER":"••••5678"}}`,
		`{"account":{"numbe\u0072":"12345678"}}`:                          `{"account":{"numbe\u0072":"••••5678"}}`,
		`{"counterpartyAccount":[{"number":"12345678"},{"number":null}]}`: `{"counterpartyAccount":[{"number":"••••5678"},{"number":null}]}`,
		`{"account":{"x":{"number":"1"},"number":"a\"bcdefgh"}}`:          `{"account":{"x":{"number":"1"},"number":"••••efgh"}}`,
		`{"units":"99999999999999999999", "number" : 1.50}`:               `{"units":"99999999999999999999", "number" : 1.50}`,
		`[]`: `[]`, ``: ``,
		`{"account":{"number":"12`: `{"account":{"number":"••••"`, // cut off: nothing shows
	} {
		got := string(JSON([]byte(in)))
		if got != want {
			t.Errorf("%s\nbecame %s\nwant   %s", in, got, want)
		}
	}
}
