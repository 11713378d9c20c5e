package api

import (
	"encoding/json"
	"errors"
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

// TestAmountOfAnotherShapeIsNotZero: an object that does not say how much is neither zero nor nothing.
func TestAmountOfAnotherShapeIsNotZero(t *testing.T) {
	for in, want := range map[string]error{
		`{"currencyCode":"EUR","units":"0","nanos":0}`:              nil,
		`{"currencyCode":"EUR","nanos":0}`:                          nil,
		`{"currencyCode":"EUR","units":"5","formatted":"5.00 EUR"}`: nil,
		`{"currencyCode":"EUR","units":"0","scale":null}`:           nil,
		`{}`:                                                ErrNone,
		`{"currencyCode":"EUR"}`:                            ErrUnclear,
		`{"value":"5"}`:                                     ErrUnclear,
		`{"currencyCode":"EUR","value":"5"}`:                ErrUnclear,
		`{"currencyCode":"EUR","amount":5}`:                 ErrUnclear,
		`{"currencyCode":"EUR","value":"5.123"}`:            ErrUnclear,
		`{"currencyCode":"EUR","units":"0","value":"5.12"}`: ErrUnclear,
		`{"currencyCode":"EUR","value":"5.12","micros":5}`:  ErrUnclear,
		`"5.00 EUR"`:                                        ErrUnclear,
		`5.00`:                                              ErrUnclear,
		`[5,0]`:                                             ErrUnclear,
		`true`:                                              ErrUnclear,
		`null`:                                              ErrNone,
		`{"currencyCode":"EUR","units":null,"nanos":null}`:   ErrUnclear,
		`{"currencyCode":"EUR","units":"0","micros":500000}`: ErrUnclear,
	} {
		o, err := ReadOperation([]byte(`{"opid":"o","sourceAmount":{"sum":` + in + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		var a Account
		if err := json.Unmarshal([]byte(`{"id":"a","balance":`+in+`}`), &a); err != nil {
			t.Fatal(err)
		}
		for _, m := range []Money{o.SourceAmount.Sum, a.Balance.Value()} {
			if _, err := m.Decimal(); !errors.Is(err, want) || m.Empty() != (want == ErrNone) {
				t.Errorf("%s: %v, want %v", in, err, want)
			}
		}
	}
}

// Amounts of other shapes with a clear value are read, also without an object of their own.
func TestAmountOfAnotherShapeIsRead(t *testing.T) {
	for in, want := range map[string]string{
		`{"currencyCode":"EUR","value":"12.50"}`:            "EUR 12.5",
		`{"currency":"EUR","amount":"-0.05"}`:               "EUR -0.05",
		`{"currencyCode":"EUR","amount":1250,"scale":2}`:    "EUR 12.5",
		`{"currencyCode":"EUR","amount":"-5","decimals":2}`: "EUR -0.05",
		`{"currency":"BTC","amount":1,"scale":8}`:           "BTC 0.00000001",
		`{"currencyCode":"JPY","amount":1250,"scale":0}`:    "JPY 1250",
		`{"currency_code":"EUR","units":"12","nanos":1}`:    "EUR 12.000000001",
	} {
		for _, amount := range []string{`{"sum":` + in + `}`, in} {
			o, err := ReadOperation([]byte(`{"opid":"o","sourceAmount":` + amount + `}`))
			if got := o.SourceAmount.Sum.String(); err != nil || got != want {
				t.Errorf("%s is %s, %v; want %s", amount, got, err, want)
			}
		}
	}
	for _, amount := range []string{`"12.50 EUR"`, `12.5`, `[1]`, `{"total":5}`} {
		o, err := ReadOperation([]byte(`{"opid":"o","sourceAmount":` + amount + `}`))
		if m := o.SourceAmount.Sum; err != nil || m.Empty() || !m.Unclear {
			t.Errorf("%s: %+v, %v", amount, m, err)
		}
	}
}
