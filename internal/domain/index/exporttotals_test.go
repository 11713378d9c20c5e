package index_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
)

// mark begins a file in UTF-8.
const mark = "\ufeff"

const formula = `=cmd|'/C calc'!A0`
const odd = "two\nlines, \"quoted\" \x1b[2J \u202e"

// summed is an operation with an amount as the service may write it.
func summed(id, status, customer, currency, units string, nanos int) api.Operation {
	name, _ := json.Marshal(customer)
	to := ""
	if currency == "USD" {
		to = `"destination":{"counterpartyAccount":{"id":"7","counterparty":{"name":"Acme"}}},`
	}
	raw := fmt.Sprintf(`{"opid":%q,"status":%q,"type":"WITHDRAW","createdAt":"2026-06-01T10:00:00Z","updatedAt":"2026-06-02T10:00:00Z",%s"customer":{"cuid":"c-%d","name":%s},`+
		`"sourceAmount":{"sum":{"currencyCode":%q,"units":%q,"nanos":%d}},"documents":[{"guid":"g-%s","docType":"DEED"}]}`, id, status, to, len(customer), name, currency, units, nanos, id)
	var o api.Operation
	if err := o.UnmarshalJSON([]byte(raw)); err != nil {
		panic(err)
	}
	return o
}

// TestExportedTotals: the files hold the exact sums, a line for each group and currency,
// and text of the service can neither begin a formula nor break a line.
func TestExportedTotals(t *testing.T) {
	x, stop := open(t, fixed)
	defer stop()
	ctx := context.Background()
	_, err := x.Page(ctx, []api.Operation{
		summed("1", "PENDING", formula, "EUR", "0", 100_000_000), summed("2", "PENDING", formula, "EUR", "0", 200_000_000),
		summed("3", "PENDING", odd, "EUR", "123456789012345678", 123_456_789), summed("4", "SUCCESS", odd, "USD", "-5", -500_000_000),
		summed("5", "SUCCESS", odd, "USD", "nothing", 0), summed("6", "", odd, "CHF", "nothing", 0),
	}, now)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		by    []index.By
		q     string
		csv   string
		lines int
	}{
		"all": {nil, "", mark + "currency,operations,unusable,sum\nEUR,3,0,123456789012345678.423456789\nUSD,2,1,-5.50\nCHF,1,1,?\n", 3},
		"by status": {[]index.By{index.ByStatus}, "", mark + "status,currency,operations,unusable,sum\n" +
			"PENDING,EUR,3,0,123456789012345678.423456789\nSUCCESS,USD,2,1,-5.50\n?,CHF,1,1,?\n", 3},
		"by customer": {[]index.By{index.ByCustomer}, "amount<1", mark + "customer,customer_name,currency,operations,unusable,sum\n" +
			"c-17,'=cmd|'/C calc'!A0,EUR,2,0,0.30\nc-28,\"two lines, \"\"quoted\"\" ·[2J ·\",USD,1,0,-5.50\n", 2},
		// A counterparty is known by its name alone.
		"by counterparty": {[]index.By{index.ByCounterparty}, "", mark + "counterparty,counterparty_name,currency,operations,unusable,sum\n" +
			"?,?,EUR,3,0,123456789012345678.423456789\n?,?,CHF,1,1,?\n,Acme,USD,2,1,-5.50\n", 3},
		"of nothing": {[]index.By{index.ByStatus}, "status:NOBODY", mark + "status,currency,operations,unusable,sum\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := filter.Parse(c.q)
			if err != nil {
				t.Fatal(err)
			}
			export := func(format index.Format) string {
				var b bytes.Buffer
				n, err := x.Export(ctx, &b, index.Sheet{Filter: f, Totals: true, By: c.by, Format: format}, nil)
				if err != nil || n != c.lines {
					t.Fatalf("%d lines, %v", n, err)
				}
				return b.String()
			}
			table := export(index.CSV)
			if table != c.csv {
				t.Errorf("csv holds\n%q\nnot\n%q", table, c.csv)
			}
			rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
			if err != nil || len(rows) != c.lines+1 {
				t.Fatalf("%d rows, %v", len(rows), err)
			}
			objects := export(index.JSONL)
			if n := strings.Count(objects, "\n"); n != c.lines || strings.ContainsAny(objects, "\x1b\r") {
				t.Errorf("%d lines in\n%q", n, objects)
			}
			for i, text := range slices.Collect(strings.Lines(objects)) {
				var l index.TotalsLine
				if strings.Contains(text, `"value":""}`) {
					t.Errorf("a group of nothing: %s", text)
				}
				if err := json.Unmarshal([]byte(text), &l); err != nil {
					t.Fatal(err)
				}
				sum := rows[i+1][len(rows[i+1])-1]
				if unknown := l.Sum == nil; unknown != (sum == "?") || !unknown && *l.Sum != strings.TrimRight(sum, "0") || len(l.Groups) != len(c.by) {
					t.Errorf("%s is %q in csv", text, sum)
				}
				if name == "by customer" && l.Groups[0].Name != []string{formula, odd}[i] {
					t.Errorf("another name: %q", l.Groups[0].Name)
				}
			}
		})
	}
	if _, err := x.Export(ctx, &bytes.Buffer{}, index.Sheet{Totals: true, Format: "xml"}, nil); err == nil {
		t.Error("totals as xml")
	}
}

// TestTotalsAreRanked within a currency, never across; names and counts over all lines.
func TestTotalsAreRanked(t *testing.T) {
	x, stop := open(t, fixed)
	defer stop()
	ctx := context.Background()
	if _, err := x.Page(ctx, []api.Operation{summed("1", "PENDING", "a", "EUR", "5", 0), summed("2", "SUCCESS", "a", "EUR", "6", 0),
		summed("3", "PENDING", "bb", "EUR", "12", 0), summed("4", "PENDING", "bb", "USD", "900", 0), summed("5", "PENDING", "Ccc", "USD", "7", 0),
		summed("6", "PENDING", "Ccc", "EUR", "-1", 0)}, now); err != nil {
		t.Fatal(err)
	}
	by := []index.By{index.ByCustomer}
	for sort, want := range map[string]string{
		"-sum":          "bb 12 EUR, a 11 EUR, Ccc -1 EUR, bb 900 USD, Ccc 7 USD",
		"sum":           "Ccc -1 EUR, a 11 EUR, bb 12 EUR, Ccc 7 USD, bb 900 USD",
		"-operations":   "a 11 EUR,",
		"customer_name": "a 11 EUR, bb 12 EUR, bb 900 USD, Ccc ",
		"-currency":     "bb 900 USD, Ccc 7 USD,",
	} {
		all, err := x.Totals(ctx, filter.OperationExpr{}, by, 0, now)
		order, bad := index.ParseTotalsSort(sort, by)
		var got []string
		for _, l := range all.Lines(by, order) {
			got = append(got, l.Groups[0].Name+" "+*l.Sum+" "+*l.Currency)
		}
		if err != nil || bad != nil || !strings.HasPrefix(strings.Join(got, ", "), want) {
			t.Errorf("%s: %v, not %s; %v %v", sort, got, want, err, bad)
		}
		if order.Field == index.TotalsSum {
			all.Arrange(by, index.TotalsOrder{Sort: order, Currency: "USD"}, 2)
			if last := all.Parts[1].Label(); len(all.Parts) != 2 || all.More != 1 || last != []string{"bb", "Ccc"}[strings.Index(sort, "s")] {
				t.Errorf("%s: %v, %d more", sort, all.Parts, all.More)
			}
		}
	}
	if _, err := index.ParseTotalsSort("amount", by); err == nil {
		t.Error("totals have no amount")
	}
}

// TestDocumentTypes: the types that answers showed, without a call.
func TestDocumentTypes(t *testing.T) {
	x, stop := open(t, fixed)
	defer stop()
	ctx := context.Background()
	if got, err := x.DocumentTypes(ctx); err != nil || len(got) != 0 {
		t.Errorf("%q of nothing, %v", got, err)
	}
	if _, err := x.Page(ctx, []api.Operation{summed("1", "PENDING", "a", "EUR", "1", 0), summed("2", "PENDING", "b", "EUR", "1", 0), op("3", "PENDING", "2026-06-02T10:00:00Z")}, now); err != nil {
		t.Fatal(err)
	}
	if got, err := x.DocumentTypes(ctx); err != nil || !slices.Equal(got, []untrusted.Text{"DEED"}) {
		t.Errorf("%q, %v", got, err)
	}
}
