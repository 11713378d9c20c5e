package cli_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/surface/cli"
)

const (
	saidQueries = 400 // at least so many, derived from rows
	saidSigns   = 60  // at least so many of them with typographic signs, spaces, currency signs, other widths
	saidNothing = 40  // and so many that match nothing
)

// wide is s in letters, digits and signs of full width.
func wide(s string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r <= '~' && r != '(' && r != ')' && r != '"' {
			return r + 0xfee0
		}
		return r
	}, s)
}

var (
	dashes  = strings.NewReplacer("-", "\u2011")
	symbols = map[string]string{"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "INR": "₹", "CAD": "$"}
)

// digitsOf is an amount as lists draw it, without its currency.
func digitsOf(m api.Money) string {
	s, _ := format.Amount(m)
	return strings.TrimSuffix(s, " "+string(m.CurrencyCode))
}

// saidAmounts are the ways to write an amount, and those with other signs.
func saidAmounts(o api.Operation) (plain, signs []string) {
	sum := o.SourceAmount.Sum
	shown := digitsOf(sum)
	code := string(sum.CurrencyCode)
	european := strings.NewReplacer(",", ".", ".", ",").Replace(shown)
	plain = []string{shown, strings.ReplaceAll(shown, ",", ""), shown + " " + code, code + " " + shown}
	if strings.Count(shown, ",") == 1 && strings.Contains(shown, ".") {
		plain = append(plain, european, strings.ReplaceAll(shown, ",", "'"))
		signs = append(signs, strings.ReplaceAll(european, ".", " "), strings.ReplaceAll(european, ".", "\u202f"))
	}
	signs = append(signs, wide(shown), shown+"\u00a0"+code)
	if sign := symbols[code]; sign != "" {
		signs = append(signs, sign+shown, shown+" "+sign)
	}
	return plain, signs
}

// saidOf are the ways to ask for a row, and those with other signs.
func saidOf(o api.Operation, now time.Time) (plain, signs []string) {
	id, name, status := string(o.OPID), string(o.Customer.Name), string(o.Status)
	code, day := string(o.SourceAmount.Sum.CurrencyCode), o.CreatedAt.UTC()
	plain, signs = saidAmounts(o)
	add := func(to *[]string, all ...string) { *to = append(*to, all...) }
	add(&plain, id, id[:8], id[:7]+"…"+id[30:], "Operation: "+id, "<"+id+">", "https://pay.example/op/"+id+"?a=b")
	add(&signs, dashes.Replace(id), "“"+id+"”,", "\ufeff"+id)
	add(&plain, status+" "+name, filter.Fold(name), strings.ToUpper(name), day.Format("2 Jan ")+code, day.Format("2006-01-02 15:04"))
	words := strings.Fields(name)
	add(&plain, words[0], words[len(words)-1]+" "+status)
	add(&signs, wide(name), "customer:“"+name+"”", "status："+status+" "+words[0], "–status:NOPE "+id[:9], strings.Join(words, "\u00a0"))
	if o.Reference != "" {
		add(&plain, string(o.Reference))
		add(&signs, dashes.Replace(string(o.Reference)), wide(string(o.Reference)))
	}
	exact := strings.ReplaceAll(digitsOf(o.SourceAmount.Sum), ",", "")
	add(&signs, "amount≥"+exact+" amount≤"+exact, "amount:“"+exact+"” status≠NOPE")
	switch ago := now.Sub(day); {
	case day.YearDay() == now.YearDay():
		add(&plain, "today "+words[0])
	case ago < 6*24*time.Hour:
		add(&plain, strings.ToLower(day.Weekday().String())+" "+code, "created:"+day.Weekday().String()+" "+words[0])
	}
	if day.Day() > 12 {
		add(&plain, day.Format("2/1 ")+code, day.Format("2.1. ")+words[0])
	}
	if day.Month() == now.Month()-1 {
		add(&plain, "last month "+exact, `created:"last month" `+code+" "+words[0])
	}
	return plain, signs
}

// TestWhatPeopleSayIsFound: queries as screens show rows of the built-in service and as people say them, mail them and
// paste them find the row among the first three. Where others fit as well, its amount and its minute are added. What
// differs in a digit or a letter finds nothing, and nothing else is offered.
func TestWhatPeopleSayIsFound(t *testing.T) {
	racedetector.Skip(t)
	now := time.Date(2026, 11, 28, 15, 14, 0, 0, time.UTC)
	a, err := app.Open(t.Context(), app.Options{StateFlag: filepath.Join(t.TempDir(), "state"),
		Getenv: func(string) string { return "" }, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	var said bytes.Buffer
	if code := cli.Run(t.Context(), cli.Env{Args: []string{"index", "sync"}, Out: &said, Err: &said, App: a,
		Getenv: func(string) string { return "" }, Actor: api.Actor{Name: "ana", Role: api.Admin, Via: "command"}}); code != 0 {
		t.Fatal(said.String())
	}
	rows := func(f filter.OperationExpr, n int) []index.Record {
		w, err := a.Index.Window(t.Context(), index.Query{Filter: f, Sort: index.Sort{Field: field.OpCreated, Desc: true}, Limit: n}, now)
		if err != nil {
			t.Fatal(err)
		}
		return w.Rows
	}
	all := rows(filter.OperationExpr{}, 1000)
	if len(all) != 500 {
		t.Fatalf("%d operations: %s", len(all), said.String())
	}
	found := func(query string, o api.Operation) bool {
		is := func(r index.Record) bool { return r.Op.OPID == o.OPID }
		for _, more := range []string{"", " " + digitsOf(o.SourceAmount.Sum), " " + o.CreatedAt.UTC().Format("2006-01-02 15:04")} {
			query += more
			f, err := filter.Parse(query)
			if err != nil {
				t.Errorf("%q: %v", query, err)
				return false
			}
			got := rows(f, 3)
			if slices.ContainsFunc(got, is) {
				return true
			}
			if len(got) < 3 {
				break
			}
		}
		t.Errorf("%q does not find %s: %s, %s, %s", query, o.OPID, o.Customer.Name, digitsOf(o.SourceAmount.Sum), o.CreatedAt.UTC())
		return false
	}
	plain, signs := 0, 0
	for i := 0; i < len(all); i += 45 {
		usual, other := saidOf(all[i].Op, now)
		for _, query := range usual {
			found(query, all[i].Op)
		}
		for _, query := range other {
			found(query, all[i].Op)
		}
		plain, signs = plain+len(usual), signs+len(other)
	}
	if plain+signs < saidQueries || signs < saidSigns {
		t.Errorf("%d queries, %d of them with other signs", plain+signs, signs)
	}
	nothing := 0
	for i := 3; i < len(all) && nothing < saidNothing; i += 37 {
		o := all[i].Op
		o.SourceAmount.Sum.Units += "7"
		amounts, others := saidAmounts(o)
		id := strings.Replace(string(o.OPID), string(o.OPID)[9:13], "zzzz", 1)
		for _, query := range append(append(amounts[:2], others[:2]...), id, "Operation: "+id, "customer:“"+string(o.Customer.Name)+"x”", "zebra "+string(o.Status)) {
			l, err := a.Index.Find(t.Context(), query, time.UTC, 10, now)
			if err != nil || len(l.Beginning)+len(l.Others) > 0 {
				t.Errorf("%q finds %d operations, %v", query, len(l.Beginning)+len(l.Others), err)
			}
			if other := digitsOf(all[i].Op.SourceAmount.Sum); strings.Contains(l.Missing, other) {
				t.Errorf("%q offers %s", query, l.Missing)
			}
			nothing++
		}
	}
	if nothing < saidNothing {
		t.Errorf("only %d queries that match nothing", nothing)
	}
	t.Logf("%d queries, %d with other signs, %d that match nothing", plain+signs, signs, nothing)
}
