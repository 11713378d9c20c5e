package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestMoneyDecimal(t *testing.T) {
	for _, c := range []struct {
		units, nanos, want string
		err                error
	}{
		{"250", "0", "250", nil},
		{"0", "1", "0.000000001", nil},
		{"0", "999999999", "0.999999999", nil},
		{"99999999999999999999", "999999999", "99999999999999999999.999999999", nil},
		{"-12", "-340000000", "-12.34", nil},
		{"0", "-500000000", "-0.5", nil},
		{"-0", "5", "0.000000005", nil},
		{"5000", "", "5000", nil},
		{"", "", "0", nil},
		{"1", "-1", "", ErrSign},
		{"-1", "1", "", ErrSign},
		{"1", "1000000000", "", ErrNanos},
		{"1", "1.5", "", ErrNanos},
		{"1e3", "0", "", ErrUnits},
		{" 1", "0", "", ErrUnits},
		{"+1", "0", "", ErrUnits},
		{"--1", "0", "", ErrUnits},
		{"٣", "0", "", ErrUnits},
		{"1.5", "0", "", ErrUnits},
	} {
		m := Money{CurrencyCode: "EUR", Units: Number(c.units), Nanos: Number(c.nanos)}
		d, err := m.Decimal()
		if !errors.Is(err, c.err) || err == nil && d.Text('f') != c.want {
			t.Errorf("%q %q: %v %v, want %s %v", c.units, c.nanos, d, err, c.want, c.err)
		}
	}
}

func TestMoneyReadsTextAndNumbers(t *testing.T) {
	var m Money
	if err := json.Unmarshal([]byte(`{"currencyCode":"USD","units":250,"nanos":"5"}`), &m); err != nil {
		t.Fatal(err)
	}
	if m.String() != "USD 250.000000005" {
		t.Error(m.String())
	}
}

func TestRate(t *testing.T) {
	usd := Money{CurrencyCode: "USD", Units: "100"}
	eur := Money{CurrencyCode: "EUR", Units: "92", Nanos: "500000000"}
	if r, exact, ok := Rate(usd, eur); !ok || !exact || r.Text('f') != "0.925" {
		t.Errorf("%v %v %v", r, exact, ok)
	}
	if r, exact, ok := Rate(Money{Units: "3"}, Money{Units: "1"}); !ok || exact || r.Text('f') != "0.333333333333" {
		t.Errorf("%v %v %v", r, exact, ok)
	}
	if _, _, ok := Rate(Money{}, eur); ok {
		t.Error("nothing has no rate")
	}
}

func TestUnknownFieldsAreKept(t *testing.T) {
	raw := `{"opid":"x","status":"WARP","scan":1,"source":{"account":{"id":"a","iban":"DE"}},"documents":[{"guid":"g","pages":3}],"sourceAmount":{"sum":{"units":"1","micros":2}}}`
	var o Operation
	if err := json.Unmarshal([]byte(raw), &o); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range o.Unknown() {
		got = append(got, f.Path+"="+string(f.Value))
	}
	want := []string{"documents[0].pages=3", "scan=1", `source.account.iban="DE"`, "sourceAmount.sum.micros=2"}
	if len(got) != len(want) {
		t.Fatalf("got %v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s, want %s", got[i], want[i])
		}
	}
	b, err := json.Marshal(o)
	if err != nil || string(b) != raw {
		t.Errorf("written back as %s (%v)", b, err)
	}
	if o.Phase() != PhaseUnknown || o.Phase().Ended() {
		t.Error("an unknown status is no end state")
	}
}

func FuzzMoney(f *testing.F) {
	f.Add("1", "2")
	f.Add("-99999999999999999999", "-999999999")
	f.Fuzz(func(t *testing.T, units, nanos string) {
		d, err := Money{Units: Number(units), Nanos: Number(nanos)}.Decimal()
		if err == nil && d.Exponent < -9 {
			t.Fatalf("more than nine decimals: %v", d)
		}
	})
}

// notDocumented are amounts that are not in the form of the service's documents. Each is tried in the members of an
// operation and as the balance of an account.
var notDocumented = []string{
	`{}`, `7`, `5.00`, `"5.00 EUR"`, `[5,0]`, `true`,
	`{"currencyCode":"EUR"}`,
	`{"currencyCode":"EUR","units":"5"}`,
	`{"currencyCode":"EUR","nanos":0}`,
	`{"currencyCode":"EUR","units":null,"nanos":0}`,
	`{"currencyCode":"EUR","units":"5","nanos":null}`,
	`{"currencyCode":"EUR","units":"","nanos":0}`,
	`{"currencyCode":"EUR","units":["5"],"nanos":0}`,
	`{"currencyCode":"EUR","units":true,"nanos":0}`,
	`{"currencyCode":"EUR","units":"5","nanos":{}}`,
	`{"units":"5","nanos":0}`,
	`{"currencyCode":null,"units":"5","nanos":0}`,
	`{"currencyCode":978,"units":"5","nanos":0}`,
	`{"currencyCode":["EUR"],"units":"5","nanos":0}`,
	`{"currency":"EUR","units":"5","nanos":0}`,
	`{"currencyCode":"EUR","currency_code":"USD","units":"5","nanos":0}`,
	`{"currencyCode":"EUR","currency":"EUR","units":"5","nanos":0}`,
	`{"currencyCode":"EUR","units":"791920","scale":2}`,
	`{"currencyCode":"EUR","units":"791920","nanos":0,"scale":2}`,
	`{"currencyCode":"EUR","units":"791920","nanos":0,"scale":null}`,
	`{"currencyCode":"EUR","units":"5","nanos":0,"exponent":-2}`,
	`{"currencyCode":"EUR","units":"5","nanos":0,"cents":50}`,
	`{"currencyCode":"EUR","units":"5","nanos":0,"micros":500000}`,
	`{"currencyCode":"EUR","units":"5","nanos":0,"fraction":"25"}`,
	`{"currencyCode":"EUR","units":"5","nanos":0,"sign":-1}`,
	`{"currencyCode":"EUR","units":"5","nanos":0,"formatted":"5.00 EUR"}`,
	`{"currencyCode":"EUR","units":"5","nanos":0,"":1}`,
	`{"currencyCode":"EUR","units":"5","nanos":0,"sum":{"currencyCode":"EUR","units":"6","nanos":0},"x":1}`,
	`{"currencyCode":"EUR","units":"5","Units":"791920","nanos":0}`,
	`{"currencyCode":"EUR","Units":"791920","nanos":0}`,
	`{"currencyCode":"EUR","UNITS":"5","units":"5","nanos":0}`,
	`{"currencyCode":"EUR","units":"5","nanos":0,"Nanos":500000000}`,
	`{"currencyCode":"EUR","units":"5","nanos":0,"currencycode":"EUR"}`,
	`{"currencyCode":"EUR","units":"5","units":"6","nanos":0}`,
	`{"currencyCode":"EUR","units":"5","nanos":0,"nanos":0}`,
	`{"currencyCode":"EUR","currencyCode":"EUR","units":"5","nanos":0}`,
	`{"currencyCode":"EUR","value":"12.50"}`,
	`{"currency":"EUR","amount":"-0.05"}`,
	`{"currencyCode":"EUR","amount":1250,"scale":2}`,
	`{"currencyCode":"EUR","units":"0","micros":1250000}`,
	`{"sum":{"currencyCode":"EUR","units":"5","nanos":0},"scale":2}`,
	`{"sum":{"currencyCode":"EUR","units":"5","nanos":0},"Sum":{"currencyCode":"EUR","units":"6","nanos":0}}`,
	`{"Sum":{"currencyCode":"EUR","units":"5","nanos":0}}`,
	`{"sum":{"currencyCode":"EUR","units":"5","nanos":0},"units":"6"}`,
	`{"sum":{"currencyCode":"EUR","units":"5","nanos":0},"sum":{"currencyCode":"EUR","units":"5","nanos":0}}`,
	`{"sum":null,"units":"6"}`,
	// not whole numbers in range
	`{"currencyCode":"EUR","units":"5.5","nanos":0}`,
	`{"currencyCode":"EUR","units":1e3,"nanos":0}`,
	`{"currencyCode":"EUR","units":" 5","nanos":0}`,
	`{"currencyCode":"EUR","units":"5,000","nanos":0}`,
	`{"currencyCode":"EUR","units":"5","nanos":1000000000}`,
	`{"currencyCode":"EUR","units":"5","nanos":-1}`,
}

// TestAmountOfAnotherFormIsNotKnown: it is neither a number nor nothing.
func TestAmountOfAnotherFormIsNotKnown(t *testing.T) {
	for _, in := range notDocumented {
		amounts := []string{in}
		if !strings.Contains(strings.ToLower(in), `"sum"`) {
			amounts = append(amounts, `{"sum":`+in+`}`, `{"default":{"currencyCode":"EUR","units":"1","nanos":0},"sum":`+in+`}`)
		}
		for _, amount := range amounts {
			o, err := ReadOperation([]byte(`{"opid":"o","sourceAmount":` + amount + `}`))
			var a Account
			if err := errors.Join(err, json.Unmarshal([]byte(`{"id":"a","balance":`+amount+`}`), &a)); err != nil {
				t.Fatal(err)
			}
			for what, m := range map[string]Money{"operation": o.SourceAmount.Sum, "account": a.Balance.Value()} {
				if d, err := m.Decimal(); err == nil || m.Empty() {
					t.Errorf("%s of an %s is %v, %+v", amount, what, d, m)
				}
			}
		}
	}
	for _, twice := range []string{`"sourceAmount":%[1]s,"sourceAmount":%[1]s`, `"SourceAmount":%[1]s,"sourceAmount":%[1]s`,
		`"sourceAmount":%[1]s,"source_amount":%[1]s`} {
		o, err := ReadOperation(fmt.Appendf(nil, "{"+twice+"}", `{"sum":{"currencyCode":"EUR","units":"5","nanos":0}}`))
		if err != nil || !o.SourceAmount.Sum.Unclear {
			t.Errorf("%s: %+v, %v", twice, o.SourceAmount, err)
		}
	}
}

// TestAmountOfTheDocumentedForm: as the service's pages show it, in an object of its own.
func TestAmountOfTheDocumentedForm(t *testing.T) {
	for in, want := range map[string]string{
		`{"currencyCode":"EUR","units":"12","nanos":500000000}`:                   "EUR 12.5",
		`{"nanos":"1","units":12,"currencyCode":"EUR"}`:                           "EUR 12.000000001",
		`{"currency_code":"EUR","units":"-12","nanos":-500000000}`:                "EUR -12.5",
		`{"currencyCode":"JPY","units":"0","nanos":0}`:                            "JPY 0",
		`{"currencyCode":"XQZ","units":"98765432109876543210","nanos":990000000}`: "XQZ 98765432109876543210.99",
		`null`: "",
	} {
		o, err := ReadOperation([]byte(`{"opid":"o","sourceAmount":{"sum":` + in + `}}`))
		m := o.SourceAmount.Sum
		if err != nil || want == "" && !m.Empty() || want != "" && m.String() != want {
			t.Errorf("%s is %s, %v; want %s", in, m, err, want)
		}
	}
}

// TestMembersBesideAnAmount: a member that a person called harmless leaves the amount known; another one, and another
// spelling, does not.
func TestMembersBesideAnAmount(t *testing.T) {
	IgnoreBesideAmounts([]string{"formatted", "id"})
	defer IgnoreBesideAmounts(nil)
	for in, known := range map[string]bool{
		`{"sum":{"currencyCode":"EUR","units":"5","nanos":0,"formatted":"5.00 EUR","id":null}}`: true,
		`{"sum":{"currencyCode":"EUR","units":"5","nanos":0,"id":1},"formatted":"5.00 EUR"}`:    true,
		`{"currencyCode":"EUR","units":"5","nanos":0}`:                                          false,
		`{"sum":{"currencyCode":"EUR","units":"5","nanos":0,"Formatted":"5.00 EUR"}}`:           false,
		`{"sum":{"currencyCode":"EUR","units":"5","nanos":0,"formatted":"5.00 EUR","scale":2}}`: false,
		`{"sum":{"currencyCode":"EUR","units":"5","nanos":0},"formatted":"5.00 EUR","scale":2}`: false,
		`{"sum":{"currencyCode":"EUR","units":"5","formatted":"5.00 EUR"}}`:                     false,
	} {
		o, err := ReadOperation([]byte(`{"opid":"o","sourceAmount":` + in + `}`))
		if err != nil || o.SourceAmount.Sum.Unclear == known {
			t.Errorf("%s: %+v, %v", in, o.SourceAmount.Sum, err)
		}
	}
}

// TestLocks: only the member isLock, once, true or false, tells a lock.
func TestLocks(t *testing.T) {
	for in, want := range map[string]Lock{
		`"isLock":true`: Locked, `"isLock":false`: Unlocked,
		`"isLock":false,"locked":true`: Unlocked, // a member that no document names

		``: LockUnknown, `"isLock":null`: LockUnknown, `"isLock":""`: LockUnknown, `"isLock":"true"`: LockUnknown,
		`"isLock":"false"`: LockUnknown, `"isLock":0`: LockUnknown, `"isLock":1`: LockUnknown, `"isLock":"no"`: LockUnknown,
		`"isLock":"off"`: LockUnknown, `"isLock":"UNLOCKED"`: LockUnknown, `"isLock":"LOCKED"`: LockUnknown, `"isLock":"maybe"`: LockUnknown,
		`"isLock":{"value":false}`: LockUnknown, `"isLock":{}`: LockUnknown, `"isLock":[]`: LockUnknown, `"isLock":[false]`: LockUnknown,
		`"locked":true`: LockUnknown, `"isLocked":true`: LockUnknown, `"lock":{"state":"LOCKED"}`: LockUnknown, `"removable":false`: LockUnknown,
		`"is_lock":true`: LockUnknown, `"IsLock":true`: LockUnknown, `"islock":false`: LockUnknown, `"ISLOCK":false`: LockUnknown,
		`"isLock":true,"isLock":false`: LockUnknown, `"isLock":false,"isLock":false`: LockUnknown, `"isLock":false,"IsLock":true`: LockUnknown,
		`"is_lock":true,"isLock":false`: LockUnknown, `"isLock":false,"isLock":null`: LockUnknown,
	} {
		doc := `{"guid":"g"` + strings.TrimSuffix(","+in, ",") + `}`
		o, err := ReadOperation([]byte(`{"opid":"o","documents":[` + doc + `]}`))
		var f CustomerFile
		if err := errors.Join(err, json.Unmarshal([]byte(doc), &f)); err != nil {
			t.Fatal(err)
		}
		if d := o.Documents[0]; d.Lock != want || f.Lock() != want {
			t.Errorf("%s: document %d, file %d, want %d", doc, d.Lock, f.Lock(), want)
		}
	}
	o, err := ReadOperation([]byte(`{"documents":[{"guid":"g","isLock":true}],"documents":[{"guid":"g","isLock":false}]}`))
	if err != nil || o.DocumentsReported() {
		t.Errorf("of two lists of documents one counts: %+v, %v", o.Documents, err)
	}
}
