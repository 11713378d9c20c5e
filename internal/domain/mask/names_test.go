package mask

import (
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/api/redact"
	"opdeck/api/untrusted"
)

// TestMembersNobodyKnows: the names decide, however deep and whatever is there, in JSON
// and in what people read of it.
func TestMembersNobodyKnows(t *testing.T) {
	for in, want := range map[string]string{
		`{"iban2":"XX99 0001"}`:                                                         `{"iban2":"••••0001"}`,
		`{"a":[{"nested":{"passportNumber":"P1234567"}}]}`:                              `{"a":[{"nested":{"passportNumber":"••••67"}}]}`,
		`{"email":"ana@example.com","emails":["b@x.de",null]}`:                          `{"email":"a••••@example.com","emails":["b••••@x.de",null]}`,
		`{"passport":{"series":"AB","no":1234567,"valid":true,"type":"RED","x":[1]}}`:   `{"passport":{"series":"••••","no":"••••67","valid":true,"type":"RED","x":["••••"]}}`,
		`{"apiSecret":"long secret","secret":{"value":"x","next":{"iban":"XX990001"}}}`: `{"apiSecret":"••••","secret":{"value":"••••","next":{"iban":"••••"}}}`,
		`{"taxAmount":{"sum":{"units":"5"}},"tax":{"rate":"20","number":"123456"}}`:     `{"taxAmount":{"sum":{"units":"5"}},"tax":{"rate":"20","number":"••••56"}}`,
		`{"url":"https://u:pw@h.example/p?a=1&access_token=xyz&b=2#f and ws://k@i"}`:    `{"url":"https://••••@h.example/p?a=1&access_token=••••&b=2#f and ws://••••@i"}`,
	} {
		got := string(JSON([]byte(in)))
		if got != want {
			t.Errorf("%s\nbecame %s\nwant   %s", in, got, want)
		}
		if again := string(JSON([]byte(got))); again != got {
			t.Errorf("masked again: %s", again)
		}
	}
	for _, c := range []struct{ path, value, want string }{
		{"email", "ana@example.com", "a••••@example.com"}, {"tax number", "TAX-12345", "••••45"}, {"customer.nested.passportNumber", "P1234567", "••••67"},
		{"documents[0].iban2", "XX990001", "••••0001"}, {"source.account.number", "12345678", "••••5678"}, {"accounts[0]", "12345678", "••••5678"}, {"number", "12", "12"},
		{"nested", `{"phone":"+49123456","n":1.50}`, `{"phone":"••••56","n":1.50}`}, {"passport", `["P1234567"]`, `["••••67"]`}, {"email.verified", "true", "true"},
		{"comment", "pay DE89370400440532013000", "pay ••••3000"}, {"passport", "–", "–"},
	} {
		d := api.Detail{Path: c.path, Label: "cut", Value: untrusted.Text(c.value)}
		if got := Detail(d, true); string(got) != c.want {
			t.Errorf("%s %s is %s, want %s", c.path, c.value, got, c.want)
		}
		if Detail(d, false) != d.Value {
			t.Errorf("%s is masked while nothing is", c.path)
		}
	}
}

// TestTypedFields are masked as their names in JSON say.
func TestTypedFields(t *testing.T) {
	p := api.Counterparty{Profile: api.CounterpartyProfile{Name: "Ana", Email: "ana@example.com", TaxNumber: "TAX-12345", Address: api.PostalAddress{Line1: "Main street 5", CountryISO: "EE"}}}
	got := Value(p)
	want := api.CounterpartyProfile{Name: "Ana", Email: "a••••@example.com", TaxNumber: "••••45", Address: api.PostalAddress{Line1: "•••• 5", CountryISO: "EE"}}
	if got.Profile != want {
		t.Errorf("%+v", got.Profile)
	}
	if m := Value(map[string]string{"Authorization": "Bearer x", "Host": "h"}); m["Authorization"] != redact.Dots || m["Host"] != "h" {
		t.Errorf("%v", m)
	}
}

// TestBanksAreNotMasked: a bank's name and codes are in public directories; the account beside them is masked, also
// where a label speaks of both.
func TestBanksAreNotMasked(t *testing.T) {
	in := `{"requisites":[{"title":"SWIFT","items":[{"key":"Bank name","value":"First Mutual"},{"key":"BIC","value":"FMUTUS33"},` +
		`{"key":"Routing number","value":"021000021"},{"key":"SWIFT account","value":"40817810099910004312"},` +
		`{"key":"Account number","value":"40817810099910004312"}]},{"bankName":"First Mutual","routing":"021000021","acc":"40817810"}],` +
		`"destination":{"counterpartyAccount":{"number":"40817810","counterparty":{"bankName":"First Mutual"}}}}`
	want := strings.NewReplacer("40817810099910004312", "••••4312", "40817810", "••••7810").Replace(in)
	if got := string(JSON([]byte(in))); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	items := []api.RequisiteItem{{Key: "Bank name", Number: "First Mutual"}, {Key: "Account", Number: "40817810"}}
	if got := Value(items); got[0].Number != "First Mutual" || got[1].Number != "••••7810" {
		t.Errorf("%+v", got)
	}
}
