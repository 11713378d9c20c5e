package filter

import (
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"opdeck/api"
)

var now = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

func money(units, nanos string) api.Amount {
	return api.Amount{Sum: api.Money{CurrencyCode: "EUR", Units: api.Number(units), Nanos: api.Number(nanos)}}
}

func sample() api.Operation {
	return api.Operation{OPID: "5b55DB86-17e5", Status: "PENDING", Type: "WITHDRAW", PaymentType: "SWIFT", IsVisible: true,
		CreatedAt: api.At(now.Add(-72 * time.Hour)), UpdatedAt: api.At(now.Add(-time.Hour)),
		Source: api.Party{Account: &api.PartyAccount{ID: "U1", Name: "Treasury", Number: "DE89 3704"}},
		Destination: api.Party{CounterpartyAccount: &api.CounterpartyAccount{ID: "U9", Name: "Main", Number: "GB29",
			Counterparty: api.CounterpartyRef{SUID: "S7", Name: "Möller & Söhne", BankName: "First Bank"}}},
		SourceAmount: money("1000", "500000000"), CommissionAmount: money("", ""),
		Comment: "rush (say: now)", Reference: "INV-2026-17", Customer: api.CustomerRef{CUID: "D7k3xbc", Name: "ACME Trading"},
		Documents: []api.Document{{GUID: "g1", FileName: "Invoice 7.pdf", DocType: "OPERATION_DOCUMENT", Lock: api.Locked}}}
}

func TestMatch(t *testing.T) {
	for in, want := range map[string]bool{
		"": true, "status:pending": true, "status:NEW,PENDING": true, "status:PEND": false, "status!=PENDING": false,
		"status:PENDING type:WITHDRAW amount>=1000.50 currency:EUR customer:acme has:locked doc:invoice -comment:test": true,
		"amount>1000.50": false, "amount>1000.499999999999999999999999": true, "amount:1000.5": true, "amount:1000..1001": true,
		"amount:..999": false, "amount:1000.6..": false, "amount<-5": false, "fee:0": true, "received:0": false, "received<5": false, "-received<5": false,
		"created>2026-03-07": false, "created>=2026-03-07": true, "created:2026-03-07": true, "created:2026-03": true, "created<2026": false,
		"created<=2026": true, "created:2026-03-06..2026-03-07": true, "created>2d": true, "created<2d": false, "updated<2h": true, "updated>2h": false,
		"updated:2h": true, "updated:today": true, "updated:yesterday": false, "created:4d..2d": true, "created>2026-03-07T11:59Z": true,
		"customer:D7K3XBC": true, "customer:D7": false, `customer="acme trading"`: true, "customer=acme": false, "customer!=acme": true,
		"id:5B55db": true, "id:b55": false, "party:söhne": true, "to:GB29": true, "from:GB29": false, "from:u1": true, "party:first": true,
		"doc:g1": true, "has:doc": true, "has:docs": true, "docs>=1": true, "docs:2": false, "docs:0..1": true, "is:parent": false, "has:comment,parent": true, "phase:open": true, "phase:completed": false,
		`"(say: now)"`: true, "inv-2026": true, "zebra": false, "zebra OR rush": true, "zebra rush": false, "-zebra -(status:NEW OR has:parent)": true,
		"(status:NEW OR status:PENDING) currency:EUR": true, "NOT zebra AND rush": true, "--rush": true, "zebra | rush": true, "5b55db86-17E5": true, "5b55": true, "b55": false,
	} {
		e, err := Parse(in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if got := e.Match(sample(), now); got != want {
			t.Errorf("%q = %v, want %v", in, got, want)
		}
		again, err := Parse(e.String())
		if err != nil || again.String() != e.String() || again.Match(sample(), now) != want {
			t.Errorf("%q prints as %q: %v", in, e.String(), err)
		}
	}
}

// TestDocumentsNotTold: an unreported number is not a number, not even zero, nor another one than any.
func TestDocumentsNotTold(t *testing.T) {
	untold, none := sample(), sample()
	untold.Documents, none.Documents = nil, []api.Document{}
	for in, want := range map[string][2]bool{"docs:0": {false, true}, "docs<5": {false, true}, "docs<=0": {false, true}, "docs:..3": {false, true}, "docs>=0": {false, true}, "-docs>=0": {}, "-docs:3": {false, true}, "docs:0 OR -docs:0": {false, true}, "docs>0": {}} {
		e, err := Parse(in)
		if got := [2]bool{e.Match(untold, now), e.Match(none, now)}; err != nil || got != want {
			t.Errorf("%q finds %v, want %v, %v", in, got, want, err)
		}
	}
}

func TestErrorsPointAtTheColumn(t *testing.T) {
	for in, want := range map[string]struct {
		col  int
		says string
	}{
		"statsu:X": {1, `Did you mean "status"`}, "status:PENDING é colour:red": {18, "There is no field"}, "amount>=1|5": {10, "Only one value"}, "amount:5,1,682": {8, "amounts has bars"},
		"amount>=abc": {9, "Write digits with a point"}, "amount:1e5": {8, "is not an amount"}, "created>soon": {9, "is not a time"}, "docs>x": {6, "whole number"},
		"has:wings": {5, "Known are locked"}, "status>5": {7, "cannot be compared"}, "(a": {1, "not closed"}, "a)": {2, "no opening bracket"},
		`"abc`: {1, "quote is not closed"}, "a OR": {5, "missing at the end"}, "OR a": {1, "before it"}, "a AND": {3, "AND needs"}, "- a": {1, "minus has no term"},
		"status:": {8, "value for status is missing"}, "amount>1..2": {8, "range cannot follow"}, "amount:..": {8, "no start and no end"}, "a , b": {3, "comma"},
		"()": {2, "nothing before"}, ":x": {1, "name is missing"}, `""`: {1, "empty"}, "status:A,": {10, "missing"}, "amount:1..x": {11, "not an amount"},
		"status!PENDING": {7, "no comparison"}, "customer!:jose": {9, "no comparison"}, "amount:500..100": {13, "ends before"}, "created:2026-11-02..2026-11-01": {21, "ends before"}, "created:2d..4d": {13, "ends before"}, "created:today..yesterday": {16, "ends before"}, "docs:3..1": {9, "ends before"}, "eur|": {5, "missing at the end"},
		`created:"Tue 2 Nov 2026"`: {9, "is a Monday"}, "payee:••••": {7, "missing"},
		strings.Repeat("(", 60) + "a": {51, "deeper"}, strings.Repeat("a ", 201): {401, "More than 200"},
	} {
		_, err := Parse(in)
		var e *Error
		if !errors.As(err, &e) || e.Column != want.col || !strings.Contains(err.Error(), want.says) {
			t.Errorf("%.40q: %v, want column %d and %q", in, err, want.col, want.says)
		}
	}
}

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		" STATUS:A   opid:b ": "status:A id:b", "(a)": "a", "((a b) c)": "a b c", "a OR (b OR c)": "a OR b OR c", "(a OR b) c": "(a OR b) c",
		"-(a b)": "-(a b)", "-(-(a))": "a", "amount=5": "amount:5", "ref!=x": "-reference=x", `"a b"`: `"a b"`, `"a"`: `"a"`, "amount:0,5": "amount:0,5", "amount:1,682.00|5": "amount:1,682.00|5", "amount:1 682": `amount:"1 682"`, "-5 NOT 5": "-5 NOT 5", "22 Nov, x": "22 Nov x", `"OR"`: `"OR"`, `"-x"`: `"-x"`,
		`customer:"a\"b\\"`: `customer:"a\"b\\"`, "a b OR c": "a b OR c", "a (b OR c d)": "a (b OR c d)", "status:A,B": "status:A,B", "amount:1..": "amount:1..", "status:A|B": "status:A,B", "a|b c": "(a OR b) c", `customer:"a|b"`: `customer:"a|b"`, `created:"last week"..today`: `created:"last week..today"`,
	} {
		e, err := Parse(in)
		if err != nil || e.String() != want {
			t.Errorf("%q prints as %q (%v), want %q", in, e.String(), err, want)
		}
	}
}

func TestKeysSortLikeNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		num := rapid.StringMatching(`-?[0-9]{1,25}(\.[0-9]{1,12})?`)
		a, b := num.Draw(t, "a"), num.Draw(t, "b")
		ka, ok1 := decimalKey(a)
		kb, ok2 := decimalKey(b)
		ra, _ := new(big.Rat).SetString(a)
		rb, _ := new(big.Rat).SetString(b)
		if !ok1 || !ok2 || strings.Compare(ka, kb) != ra.Cmp(rb) {
			t.Fatalf("%s %s: keys %q %q", a, b, ka, kb)
		}
		back, ok := KeyDecimal(ka)
		rback, ok2 := new(big.Rat).SetString(back)
		if !ok || !ok2 || rback.Cmp(ra) != 0 {
			t.Fatalf("%s came back as %s", a, back)
		}
	})
	for _, bad := range []string{"", ".5", "5.", "1e3", "+1", "1,0", "--1", "٣", " 1"} {
		if k, ok := decimalKey(bad); ok {
			t.Errorf("%q has key %q", bad, k)
		}
	}
	if MoneyKey(api.Money{}) != KeyNone || MoneyKey(api.Money{Units: "x"}) != KeyBad {
		t.Error("keys of what is no number")
	}
}

func TestMoneyKeysAgreeWithDecimals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := api.Money{CurrencyCode: "EUR", Units: api.Number(rapid.StringMatching(`-?[0-9]{0,22}|[0-9]x`).Draw(t, "units")), Nanos: api.Number(rapid.StringMatching(`-?[0-9]{0,10}`).Draw(t, "nanos"))}
		want := KeyBad
		if d, err := m.Decimal(); err == nil {
			want, _ = decimalKey(d.Text('f'))
		}
		if got := MoneyKey(m); got != want {
			t.Fatalf("%s: %q, want %q", m, got, want)
		}
	})
}

func TestComplete(t *testing.T) {
	seen := func(field, typed string) []string {
		if field == "status" {
			return []string{"PENDING", "SUCCESS", "PAID BACK"}
		}
		return nil
	}
	for _, c := range []struct{ in, want string }{
		{"sta", "status:"}, {"status:p", `PENDING "PAID BACK"`}, {"status:NEW,s", "SUCCESS"}, {"a -(has:lo", "locked"}, {"amo", "amount>="},
		{"created>to", "today"}, {"nope:x", ""}, {"status:cce", "SUCCESS"}, {"opi", "id:"}, {`"sta`, ""},
	} {
		var got []string
		for _, s := range Operations().Complete(c.in, len(c.in), seen) {
			got = append(got, s.Text)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
	if s := Operations().Complete("x status:p y", 10, seen)[0]; s.From != 9 || s.To != 10 {
		t.Errorf("%+v", s)
	}
	if n := len(Operations().Complete("", 0, nil)); n != len(Operations().Fields()) {
		t.Errorf("an empty filter suggests %d fields", n)
	}
}

func TestHelpNamesEveryField(t *testing.T) {
	h := Operations().Help()
	for _, f := range Operations().Fields() {
		if !strings.Contains(h, f.Example) {
			t.Errorf("%s is missing", f.Name)
		}
		if _, err := Parse(f.Example); err != nil {
			t.Errorf("the example of %s: %v", f.Name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"status:PENDING amount>=1.5 OR -(a \"b c\")", "created:2026-01..3d", "a\x00:=\"", "-!=<>:,,|()", "has:locked,doc", "amount:€ 1 682,00|137k “a b” –x status：A≥5 26/11 last week", "created:\"2 Jan..\"NOT 05/06 US$5 …"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		e, err := Parse(in)
		Operations().Complete(in, len(in)/2, nil)
		if err != nil {
			var fe *Error
			if !errors.As(err, &fe) || fe.Column < 1 || fe.Column > len([]rune(in))+1 {
				t.Fatalf("%q: %v", in, err)
			}
			return
		}
		s := e.String()
		again, err := Parse(s)
		if err != nil && len(s) <= maxInput || err == nil && again.String() != s {
			t.Fatalf("%q prints as %q, then %q, %v", in, s, again.String(), err)
		}
		e.Match(sample(), now)
		e.SQL(func(l *Leaf) Cond { return l.Column(SQLite, "c", now) })
	})
}
