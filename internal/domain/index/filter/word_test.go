package filter

import (
	"slices"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
)

// shown is an operation as a list of a person in Paris shows it.
func shown() api.Operation {
	o := sample()
	o.OPID = "237f91d0-aaaa-4bbb-8ccc-1234568bf1b4"
	o.SourceAmount = money("1682", "0")
	o.DestinationAmount = money("-1250000", "-500000000")
	o.Customer.Name = "José Łukasz & Zażółć"
	o.CreatedAt = api.At(time.Date(2026, 3, 6, 23, 44, 10, 0, time.UTC)) // the 7th in Paris
	o.UpdatedAt = api.At(now.Add(-50 * time.Hour))
	o.Reference = "Re: order 12"
	return o
}

// TestWordsMeanWhatListsShow: what a list shows, and what people say for it, matches the row; its neighbours do not.
func TestWordsMeanWhatListsShow(t *testing.T) {
	paris, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]bool{
		"1,682.00": true, "1682": true, "1.682,00": true, "1'682.00": true, "1682,00": true, "1,682": true, "1,682.00 EUR": true, "1682.01": false, "€1,682": true, "€ 1 682,00": true, "$1,682": false, "1 682.00": true, "1\u202f682,00": true, "1 682,01": false, "1682 €": true, "-€1,250,000.50": true, "−1 250 000,50": true, "1.682": false,
		"16,820": false, "-1,250,000.50": true, "1,250,000.50": false, "-1,250,…": true, "1,6…": true, "1,7…": false, "1,682.0… EUR": true, "NOT 1682": false,
		"PENDING": true, "pend": true, "◌ PENDING": true, "FAILED": false, "swift": true, "eur": true, "withdraw swift pending": true, "pending success": false,
		"2026-03-07": true, "2026-03-06": false, "7 Mar": true, "7 march 2026": true, "Mar 7": true, "8 Mar": false, "2026-03": true, "2026-03-07 00:44": true, "2026-03-07 00:45": false,
		"2026-03-06 23:44 UTC": true, "2026-03-06T23:44:10Z": true, "7 Mar 00:44": true, "07.03.2026": true, "yesterday": false, "2d ago": true, "3d ago": false, "in 3m": false, "now": true, // "rush (say: now)"
		"237f91d": true, "237F91": true, "237f91d…8bf1b4": true, "237f91d...8bf1b4": true, "237f91d…8bf1b5": false, "237f91d0…": true, "237f92": false,
		"jose": true, "JOSÉ": true, "lukasz zazolc": true, "zażółć": true, "Jos…": true, "joze": false, "mo…sohne": true, `"josé łukasz"`: true, `"1,682.00"`: false,
		"Re: order 12": true, "order": true, "rush (say: now)": true, "-1682": false, "-pending": false, "-failed": true, "pending, swift": true,
		"Operation: 237f91d0-aaaa-4bbb-8ccc-1234568bf1b4": true, "Operation ID: 237f91d0-aaaa-4bbb-8ccc-1234568bf1b4": true, "<237f91d0-aaaa-4bbb-8ccc-1234568bf1b4>": true,
		"https://pay.example/operations/237f91d0-aaaa-4bbb-8ccc-1234568bf1b4?tab=documents": true, "“237f91d0-aaaa-4bbb-8ccc-1234568bf1b4”,": true, "237f91d0‑aaaa‑4bbb‑8ccc‑1234568bf1b4": true,
		"zebra 237f91d0-aaaa-4bbb-8ccc-1234568bf1b4": false, "jose 237f91d0-aaaa-4bbb-8ccc-1234568bf1b4.": true, "Operation: 237f91d0-aaaa-4bbb-8ccc-1234568bf1b5": false,
		"237f91d0-aaaa-4bbb-8ccc-1234568bf1b4, 00000000-0000-4000-8000-000000000000": true,
		"00000000-0000-4000-8000-000000000000\n237f91d…8bf1b4":                       true,
		"00000000-0000-4000-8000-000000000000 00000000-0000-4000-8000-000000000001":  false,
		"id:237f91d…8bf1b4": true, "id:237f91d...8bf1b4": true, "id:237f91d…8bf1b5": false, "(jose OR Łuk…)": true,
		"amount:1,682.00": true, "amount:1682,00": true, "amount>1,681.99": true, "amount:1,000..2,000": true, "amount:5|1,682": true, "amount:1,5": false, "amount:1,682,000": false, "amount:1 682": true, "amount:1 682,00 PENDING": true, `amount:"$1,682"`: false, `amount:"€ 1,682"`: true, "amount:€ 1,682": true, "amount:1682€|5": true,
		"amount!=€1682": false, "amount>=1.6k": true, "amount:1.7k": true, "amount:2k": true, "amount:1.6k": false, "2k": true, "amount:1 000..2 000": true,
		"amount:1682,5": false, "documents:1": true, "1": true, "12 237": false, "12 237 EUR": false,
		"Sat 7 Mar": true, "Saturday 7 March 2026": true, "Sat, 7 Mar 2026 00:44": true, "Sun 8 Mar": false, "7. Mar": true, "Mar 7th": true, "7 Mar 1:44am": false, "7 Mar 12:44am": true, "2 days ago": true,
		"2026-03-07 00:44+01:00": true, "2026-03-06 23:44Z": true, "2026-03-06 23:44:10 +00:00": true, "2026-03-06 22:44Z": false,
		"237f91d0 11111111": false, "237f91d0 5b55db86": true, "status:NEW|PENDING": true, "status:NEW|FAILED": false, "new|pending": true, "new|pending zebra": false, "status:NEW|status:PENDING": true,
		"currency:USD|EUR status:NEW": false, "amount:5|currency:EUR": true, "-status:NEW|PENDING": false, "customer:zebra|jose": true, "documents:1|2": true, "payee:••••GB29": true, "••••GB29": true,
		`created:"6 Mar 2026".."8 Mar 2026"`: true, `created:2026-03-06.."8 Mar 2026"`: true, `created:"last month"..today`: true, `created:"last month".."6 Mar 2026"`: false,
	} {
		e, err := Parse(in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if got := e.In(paris).Match(shown(), now); got != want {
			t.Errorf("%q = %v, want %v", in, got, want)
		}
		again, err := Parse(e.String())
		if err != nil || again.String() != e.String() || again.In(paris).Match(shown(), now) != want {
			t.Errorf("%q prints as %q: %v", in, e.String(), err)
		}
		if opposite, err := Parse("-(" + in + ")"); err != nil || opposite.In(paris).Match(shown(), now) == want {
			t.Errorf("%q and its opposite have the same answer, %v", in, err)
		}
	}
}

// TestATextCutAfterABracket: a list cut the closing bracket off.
func TestATextCutAfterABracket(t *testing.T) {
	for in, want := range map[string]bool{"José (Łuk…": true, "(Łuk… pending": true, "José (Łux…": false, "José (…": true} {
		if e, err := Parse(in); err != nil || e.Match(shown(), now) != want {
			t.Errorf("%q: %v, want %v", in, err, want)
		}
	}
	if _, err := Parse("(josé"); err == nil {
		t.Error("an open bracket is no mistake")
	}
}

// TestAWordIsUnknownForANameOnly: a row that lacks a value does not show it; one with an identifier has a name.
func TestAWordIsUnknownForANameOnly(t *testing.T) {
	e, err := Parse("NOT 1682")
	if err != nil || !e.Match(api.Operation{OPID: "x", Status: "NEW"}, now) {
		t.Fatalf("NOT 1682 does not match an operation without an amount: %v", err)
	}
	e, err = Parse("NOT 1682 NOT 2026-01-01 NOT pending")
	if err != nil || !e.Match(api.Operation{OPID: "x"}, now) ||
		e.Match(api.Operation{OPID: "x", Customer: api.CustomerRef{CUID: "C"}}, now) {
		t.Errorf("needs %v, %v", e.Needs(), err)
	}
}

func TestAmountsAsPeopleWriteThem(t *testing.T) {
	for in, want := range map[string]string{
		"1682": "1682", "1,682": "1682", "1,682.00": "1682.00", "1.682,00": "1682.00", "1.682.000": "1682000", "1'682.5": "1682.5", "0,50": "0.50", "12,5": "12.5",
		"-1,682": "-1682", "+5": "5", "1,682,000.123456789": "1682000.123456789", "0,001": "0.001", "1.682": "1.682",
		"137 240,75": "137240.75", "1\u00a0682\u202f000.5": "1682000.5", "1 682": "1682", "16 82": "", "1’682.50": "1682.50", "$137,240.75": "137240.75", "€ 12.50": "12.50",
		"12.50 €": "12.50", "USD 1,682": "1682", "1,682 USD": "1682", "EUR12.5": "12.5", "US$5": "5", "-$5": "-5", "$-5": "-5", "5MXN": "5", "ABCD5": "", "xyz5": "", "INV 5": "",
		"137k": "137000", "1.5M": "1500000", "€2k": "2000", "1.2345k": "", "-137k": "-137000",
		"": "", "1,6822": "1.6822", "1,68,2": "", "1.68.2": "", "1,682.": "", ",5": "", "5,": "", "1e5": "", "1,682,00": "", "--5": "", "٣": "",
	} {
		got, ok := readAmount(in)
		if got.digits != want || ok != (want != "") {
			t.Errorf("%q is %q (%v), want %q", in, got.digits, ok, want)
		}
	}
}

func TestWhatWasUnderstood(t *testing.T) {
	for in, want := range map[string]string{
		"amount:100,200": "100,200 is the amount 100200; a list is amount:100|200", "1,682.00 eur": "1,682.00 is the amount 1682.00", "1682": "", "22 Nov": "22 Nov is Sat 22 November 2025",
		"137k": "137k is the amount 136500 up to 137500", "$1,000": "$1,000 is the amount 1000 USD, AUD, CAD, HKD, MXN, NZD, SGD", "last week": "last week is Mon 2 March 2026 to Sun 8 March 2026",
		`created:"last month"`: "last month is Sun 1 February 2026 to Sat 28 February 2026", "yesterday 26/11": "yesterday is Mon 9 March 2026; 26/11 is Wed 26 November 2025", "Wed 26/11": "Wed 26/11 is Wed 26 November 2025",
		"Tue 22 Nov 2025": "Tue 22 Nov 2025 is searched as a text: as a day it is a Saturday",
		"05/06":           "05/06 is searched as a text: as a day it can be 5 June or 6 May", "10:44": "10:44 is 2026-03-10 10:44", "2d ago": "", "updated<2d": "", "created:2026-03-07": "",
		"pending": "", "amount:100|200": "",
	} {
		e, err := Parse(in)
		if got := strings.Join(e.In(time.UTC).Understood(now), "; "); err != nil || got != want {
			t.Errorf("%q is understood as %q, want %q", in, got, want)
		}
	}
}

// TestFoldIsWhatListsDraw: texts are equal if lists draw them alike, whatever they hold.
func TestFoldIsWhatListsDraw(t *testing.T) {
	for _, s := range []string{"José", "Zażółć Gęślą", "Har\u200bbour", "a\x00b", "x\x1b[2J", "ΟΔΟΣ", "İstanbul", "ひかり", "한국", "Straße", "\xff"} {
		drawn := untrusted.Text(s).Line(0)
		if Fold(s) != Fold(drawn) || Fold(s) != Fold(strings.ToUpper(s)) && s != "Straße" || Fold(Fold(s)) != Fold(s) {
			t.Errorf("%q folds to %q, as drawn to %q", s, Fold(s), Fold(drawn))
		}
	}
	if !slices.Equal([]string{Fold("José"), Fold("ŁÓDŹ"), Fold("Søren"), Fold("Straße")}, []string{"jose", "lodz", "soren", "strasse"}) {
		t.Error("accents are kept")
	}
}

// TestACutBracketIsText: a text that a list cut behind an opening bracket finds what the list showed.
func TestACutBracketIsText(t *testing.T) {
	for in, want := range map[string]bool{"rush (say…": true, "rush (…": true, "rush (sag…": false,
		"(pending OR failed) rush (s…": true} {
		if e, err := Parse(in); err != nil || e.Match(sample(), now) != want {
			t.Errorf("%q: matches %v, %v", in, !want, err)
		}
	}
}

// TestACutAmount: an amount that a list cut matches what it may have been, and no neighbour.
func TestACutAmount(t *testing.T) {
	for in, want := range map[string][2]string{
		"0.123…": {"0.123 0.1231 0.123999", "0.122 0.124 1.123"}, "0.0000…": {"0.00001 0.000000001", "0.0001 0.5 -0.00001"}, "-0.12…": {"-0.12 -0.125", "-0.13 0.12 -0.119"},
		"1,682.0…": {"1682 1682.009 1682.05", "1682.1 1681.99"}, "1,682.00…": {"1682.009 1682", "1682.01"}, "1,682.…": {"1682 1682.99", "1683"},
		"-1,682.0…": {"-1682 -1682.01", "-1682.1 1682 -1683"}, "1,6…": {"1600 1699.99 16000", "1700 1599"},
	} {
		e, err := Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		for i, list := range want {
			for _, n := range strings.Fields(list) {
				digits, negative := strings.CutPrefix(n, "-")
				units, nanos, _ := strings.Cut(digits, ".")
				nanos += strings.Repeat("0", 9-len(nanos))
				if negative {
					units, nanos = "-"+units, "-"+nanos
				}
				o := api.Operation{SourceAmount: money(units, nanos)}
				if e.Match(o, now) != (i == 0) {
					t.Errorf("%s matches %s: %v", in, n, i > 0)
				}
			}
		}
	}
}
