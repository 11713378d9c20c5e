package opindex_test

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"opdeck/api"
	"opdeck/api/redact"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/index/indextest"
	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/store"
	"opdeck/internal/store/opindex"
	"opdeck/internal/store/storetest"
)

var now = indextest.Now

func openIndex(t testing.TB, s *store.Store) *opindex.Store {
	t.Helper()
	x, err := opindex.New(context.Background(), s.Bulk, "https://a.test", "m@a.test")
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func put(t testing.TB, x *opindex.Store, from index.Origin, seen time.Time, ops ...api.Operation) index.Merged {
	t.Helper()
	var list []index.Entry
	for _, o := range ops {
		list = append(list, index.Entry{Op: o, Origin: from, Seen: seen})
	}
	m, err := x.Put(context.Background(), index.Batch{Entries: list})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func parse(t testing.TB, s string) filter.OperationExpr {
	t.Helper()
	e, err := filter.Parse(s)
	if err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	return e
}

func sampleOps(n int) []api.Operation {
	o := indextest.Options{Odd: true, Customers: 7, Parties: 20}
	var ops []api.Operation
	for i := range n {
		op := o.Make(i)
		if i%9 == 4 { // documents that the answer did not report
			op.Documents, op.Raw = nil, nil
		}
		ops = append(ops, op)
	}
	return ops
}

// TestSamplesDiffer: a field with one value in all samples is not tested by the orders and filters.
func TestSamplesDiffer(t *testing.T) {
	ops := sampleOps(200)
	for _, column := range field.Operations.Sheet() {
		cell := column.Cell
		if slices.Contains(field.Operations.Sortable(), strings.TrimSuffix(column.Head, " (UTC)")) &&
			!slices.ContainsFunc(ops, func(o api.Operation) bool { return cell(o) != cell(ops[0]) }) {
			t.Errorf("indextest makes each operation with the %s %q", column.Head, cell(ops[0]))
		}
	}
}

// TestIndexAnswersLikeThePredicate holds the condition, the counts, the windows and the
// sums against the Go predicate and plain arithmetic.
func TestIndexAnswersLikeThePredicate(t *testing.T) {
	racedetector.Skip(t)
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		x, ops := openIndex(t, s), sampleOps(400)
		put(t, x, index.List, now, ops...)
		other, err := opindex.New(ctx, s.Bulk, "https://b.test", "m@a.test") // another scope is never seen
		if err != nil {
			t.Fatal(err)
		}
		put(t, other, index.List, now, indextest.Options{Seed: 9}.Make(1))
		for seed := range checks(s.Bulk.Engine()) {
			c := questionGen(ops).Example(seed)
			e, asker := parse(t, c.filter), api.WithActor(ctx, api.Actor{Role: api.Admin})
			if seed%2 == 1 {
				e, asker = e.Masked(), api.WithActor(ctx, api.Actor{Role: api.Viewer})
			}
			var want []api.Operation
			for _, o := range ops {
				if e.Match(o, now) {
					want = append(want, o)
				}
			}
			n, err := x.Count(ctx, e, now)
			if err != nil || n != int64(len(want)) {
				t.Fatalf("%q counts %d, want %d, %v", e, n, len(want), err)
			}
			all, err := x.Window(ctx, index.Query{Filter: e, Sort: c.sort, Limit: 1000}, now)
			if err != nil || len(all.Rows) != len(want) || all.More {
				t.Fatalf("%q by %s gives %d rows, want %d, %v", e, c.sort, len(all.Rows), len(want), err)
			}
			checkOrder(t, operations(all.Rows), c.sort)
			page, err := new(index.Index).Arrange(asker, ops, e, c.sort, now)
			if err != nil {
				t.Fatal(err)
			}
			if checkOrder(t, page, c.sort); len(page) != len(want) {
				t.Fatalf("%q by %s leaves %d of a page, want %d", e, c.sort, len(page), len(want))
			}
			checkWindow(t, x, e, c, all.Rows)
			checkTotals(t, x, e, want, c.by)
		}
	})
}

// checks is how many random questions are asked; OPDECK_TEST_LONG=1 asks more.
func checks(e store.Engine) int {
	switch {
	case os.Getenv("OPDECK_TEST_LONG") == "1":
		return 60
	case e == store.Postgres:
		return 15
	}
	return 25
}

// question is one random thing to ask.
type question struct {
	filter string
	sort   index.Sort
	by     index.By
	at     int // of 1000: where in the list
	limit  int
}

func questionGen(ops []api.Operation) *rapid.Generator[question] {
	return rapid.Custom(func(t *rapid.T) question {
		return question{filter: drawFilter(t, ops),
			sort: index.Sort{Field: rapid.SampledFrom(index.SortFields).Draw(t, "sort"), Desc: rapid.Bool().Draw(t, "desc")},
			by:   rapid.SampledFrom(index.Groupings()).Draw(t, "by"),
			at:   rapid.IntRange(0, 999).Draw(t, "at"), limit: rapid.IntRange(0, 10).Draw(t, "limit")}
	})
}

func drawFilter(rt *rapid.T, ops []api.Operation) string {
	leaf := rapid.Custom(func(rt *rapid.T) string {
		o := rapid.SampledFrom(ops).Draw(rt, "op")
		sub := func(s untrusted.Text) string {
			r := []rune(string(s))
			if len(r) == 0 {
				return `"x"`
			}
			i := rapid.IntRange(0, len(r)-1).Draw(rt, "i")
			j := rapid.IntRange(i+1, len(r)).Draw(rt, "j")
			return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(string(r[i:j])) + `"`
		}
		quoted := func(s untrusted.Text) string {
			if s == "" {
				return "x"
			}
			return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(string(s)) + `"`
		}
		op := rapid.SampledFrom([]string{":", ">", ">=", "<", "<="}).Draw(rt, "op")
		number := o.Destination.CounterpartyAccount.Number
		amount, _ := filter.KeyDecimal(filter.MoneyKey(o.SourceAmount.Sum))
		day := cmp.Or(o.CreatedAt.Time, now).Format(rapid.SampledFrom([]string{"2006-01-02", "2006-01", "2006-01-02T15:04:05Z"}).Draw(rt, "layout"))
		terms := []string{
			"status:" + quoted(o.Status) + ",PENDING", "phase:open", "type!=" + quoted(o.Type), "currency:" + quoted(o.SourceAmount.Sum.CurrencyCode),
			"tocurrency:EUR", "amount" + op + cmp.Or(amount, "0"), "amount:-5..100", "fee" + op + "20.5", "received" + op + cmp.Or(amount, "7"), "docs" + op + "1", "docs" + op + "0", "docs:..1",
			"created" + op + day, "created:.." + day, "updated" + op + "3h", "updated:6h..1h", "customer:" + sub(o.Customer.Name), "customer=" + quoted(o.Customer.Name),
			"customer:" + quoted(o.Customer.CUID), "party:" + sub(o.Destination.Name()), "to:" + sub(o.Destination.Name()) + ",bank", "from:DE0",
			"ref:" + sub(o.Reference), "ref=" + quoted(o.Reference), "comment:" + sub(o.Comment), "doc:invoice", `doc="invoice.pdf"`, "doc:g,voice",
			"has:locked", "is:hidden,parent", "has:badamount", "has:comment", "id:" + quoted(o.OPID[:3]), quoted(o.OPID), sub(o.Destination.Name()), sub(o.Reference),
			"to:" + sub(number), "party=" + quoted(number), sub(number), "to:" + sub(redact.LastFour(number)), "doc:DE8937", "comment:0400440532", sub(o.Comment), `"DE89370400440532013000"`,
		}
		shownAs := []string{ // as a list shows them
			format.Money(o.SourceAmount.Sum), format.Money(o.CommissionAmount.Sum), amount, string(o.Status), "pend", "EUR", "wArp", format.Minute(o.CreatedAt.Time, time.UTC),
			cmp.Or(o.CreatedAt.Time, now).Format("2 Jan"), "yesterday", "now", string(o.OPID[:6]), string(o.OPID[:6]) + "…" + string(o.OPID[31:]), string(o.OPID[:8]) + "…", "société", "societe",
			"moller maschinenbau", "Möll…", "2d ago", "1", "1,2…", string(o.OPID) + " " + string(ops[0].OPID), "NOT 5", "sev…лес",
		}
		terms = append(terms, rapid.SampledFrom(shownAs).Draw(rt, "shown"), rapid.SampledFrom(shownAs).Draw(rt, "other"))
		for _, f := range field.Operations.All() { // whatever the catalogue has, the store answers as the filter means it
			if f.Example != "" {
				terms = append(terms, f.Example)
			}
		}
		return rapid.SampledFrom(terms).Draw(rt, "leaf")
	})
	l := func(name string) string {
		return rapid.SampledFrom([]string{"", "", "-"}).Draw(rt, "not") + leaf.Draw(rt, name)
	}
	switch rapid.IntRange(0, 5).Draw(rt, "shape") {
	case 0:
		return ""
	case 1:
		return l("a")
	case 2:
		return l("a") + " " + l("b")
	case 3:
		return l("a") + " OR " + l("b")
	case 4:
		return "(" + l("a") + " OR " + l("b") + ") " + l("c")
	}
	return "-(" + l("a") + " " + l("b") + ") OR " + l("c") + " " + l("d")
}

// sortKey gives a field's value for plain comparison.
func sortKey(o api.Operation, field string) string {
	us := func(t api.Time) string { return fmt.Sprintf("%020d", t.UnixMicro()+1<<60) }
	cut := func(s string, n int) string { r := []rune(s); return string(r[:min(len(r), n)]) }
	switch field {
	case "created":
		return us(o.CreatedAt)
	case "updated":
		return us(o.UpdatedAt)
	case "amount":
		return filter.MoneyKey(o.SourceAmount.Sum)
	case "received":
		return filter.MoneyKey(o.DestinationAmount.Sum)
	case "commission":
		return filter.MoneyKey(o.CommissionAmount.Sum)
	case "id":
		return filter.Fold(string(o.OPID))
	case "reference":
		return cut(filter.Fold(string(o.Reference)), 100)
	case "documents":
		if !o.DocumentsReported() {
			return "-"
		}
		return fmt.Sprintf("%06d", len(o.Documents))
	case "status":
		return filter.Clean(string(o.Status))
	case "type":
		return filter.Clean(string(o.Type))
	case "payment":
		return filter.Clean(string(o.PaymentType))
	case "currency":
		return filter.Clean(string(o.SourceAmount.Sum.CurrencyCode))
	case "customer":
		return cut(filter.Fold(string(o.Customer.Name)), 60)
	case "source":
		return cut(filter.Fold(string(o.Source.Name())), 60)
	}
	return cut(filter.Fold(string(o.Destination.Name())), 60)
}

func operations(rows []index.Record) (out []api.Operation) {
	for _, r := range rows {
		out = append(out, r.Op)
	}
	return out
}

func checkOrder(rt testing.TB, ops []api.Operation, s index.Sort) {
	for i := 1; i < len(ops); i++ {
		c := strings.Compare(sortKey(ops[i-1], s.Field), sortKey(ops[i], s.Field))
		if c > 0 && !s.Desc || c < 0 && s.Desc {
			rt.Fatalf("row %d is out of order by %s: %q, %q", i, s, sortKey(ops[i-1], s.Field), sortKey(ops[i], s.Field))
		}
	}
}

func ids(rows []index.Record) []string {
	var out []string
	for _, r := range rows {
		out = append(out, string(r.Op.OPID))
	}
	return out
}

func checkWindow(rt testing.TB, x *opindex.Store, e filter.OperationExpr, c question, all []index.Record) {
	if len(all) == 0 {
		return
	}
	ctx := context.Background()
	s, i, n := c.sort, c.at*len(all)/1000, c.limit
	w, err := x.Window(ctx, index.Query{Filter: e, Sort: s, Skip: i, Limit: n}, now)
	to := min(len(all), i+n)
	if err != nil || !slices.Equal(ids(w.Rows), ids(all[i:to])) || w.More != (to < len(all)) {
		rt.Fatalf("%q by %s from %d: %v, want %v; more %v, %v", e, s, i, ids(w.Rows), ids(all[i:to]), w.More, err)
	}
	p, err := x.Place(ctx, e, s, string(all[i].Op.OPID), now)
	if err != nil || p.Before != int64(i) || p.Total != int64(len(all)) || !p.In {
		rt.Fatalf("%q by %s: place %+v of row %d, %v", e, s, p, i, err)
	}
}

func checkTotals(rt testing.TB, x *opindex.Store, e filter.OperationExpr, want []api.Operation, groupings ...index.By) {
	ctx := context.Background()
	checkParts(rt, x, e, want)
	for _, by := range groupings {
		checkParts(rt, x, e, want, by)
		for _, within := range index.Groupings() {
			if within != by {
				checkParts(rt, x, e, want, by, within)
			}
		}
	}
	line, err := x.Timeline(ctx, e, now)
	if err != nil {
		rt.Fatal(err)
	}
	checkPeriods(rt, e, want, line.Days, 24*time.Hour)
	if n := len(line.Days); n > 0 && line.Days[n-1].Date.Sub(line.Days[0].Date) <= index.ShortSpan*24*time.Hour {
		checkPeriods(rt, e, want, line.Hours, time.Hour)
	} else if len(line.Hours) > 0 {
		rt.Fatalf("%q: hours of a long span", e)
	}
}

func checkPeriods(rt testing.TB, e filter.OperationExpr, want []api.Operation, got []index.Day, period time.Duration) {
	counts := map[int64]int64{}
	for _, o := range want {
		if !o.CreatedAt.IsZero() {
			counts[o.CreatedAt.UTC().Truncate(period).Unix()]++
		}
	}
	for i, d := range got {
		if d.Count != counts[d.Date.Unix()] || i > 0 && !got[i-1].Date.Before(d.Date) {
			rt.Fatalf("%q: %s has %d, want %d; %v", e, d.Date, d.Count, counts[d.Date.Unix()], got)
		}
		delete(counts, d.Date.Unix())
	}
	if len(counts) > 0 {
		rt.Fatalf("%q: times are missing: %v", e, counts)
	}
}

// groupOf is the key of an operation's group, and for parties without one the name.
func groupOf(o api.Operation, by index.By) string {
	day := func(t time.Time, layout string) string {
		if o.CreatedAt.IsZero() {
			return ""
		}
		return t.Format(layout)
	}
	switch by {
	case index.ByStatus:
		return filter.Clean(string(o.Status))
	case index.ByType:
		return filter.Clean(string(o.Type))
	case index.ByPayment:
		return filter.Clean(string(o.PaymentType))
	case index.ByCurrency:
		return string(o.SourceAmount.Sum.CurrencyCode)
	case index.ByCustomer:
		if id := filter.Clean(string(o.Customer.CUID)); id != "" {
			return id
		}
		return " " + filter.Clean(string(o.Customer.Name))
	case index.ByCounterparty:
		return " " + filter.Clean(string(o.Destination.Name()))
	case index.ByWeek:
		return day(index.Monday(o.CreatedAt.Time), time.DateOnly)
	case index.ByMonth:
		return day(o.CreatedAt.UTC(), "2006-01")
	}
	return day(o.CreatedAt.UTC(), time.DateOnly)
}

func checkParts(rt testing.TB, x *opindex.Store, e filter.OperationExpr, want []api.Operation, by ...index.By) {
	all, err := x.Totals(context.Background(), e, by, 0, now)
	if err != nil {
		rt.Fatal(err)
	}
	checkGroup(rt, e, all, want, by)
}

func checkGroup(rt testing.TB, e filter.OperationExpr, g index.Group, want []api.Operation, by []index.By) {
	if g.Count != int64(len(want)) {
		rt.Fatalf("%q by %s: %q has %d, want %d", e, by, g.Label(), g.Count, len(want))
	}
	checkSums(rt, e.String()+" "+g.Label(), g.Sums, want)
	if len(by) == 0 {
		return
	}
	parts := map[string][]api.Operation{}
	for _, o := range want {
		k := groupOf(o, by[0])
		parts[k] = append(parts[k], o)
	}
	for _, part := range g.Parts {
		k := string(part.Key)
		if (by[0] == index.ByCustomer || by[0] == index.ByCounterparty) && k == "" {
			k = " " + string(part.Name)
		}
		checkGroup(rt, e, part, parts[k], by[1:])
		if len(parts[k]) > 0 {
			checkTerm(rt, e, part, parts[k], want, by[0])
		}
		delete(parts, k)
	}
	if len(parts) > 0 {
		rt.Fatalf("%q by %s: missing %d groups of %d", e, by, len(parts), len(g.Parts))
	}
}

// checkTerm holds that the filter of a group lets through all that is in it, and of
// words and times nothing else.
func checkTerm(rt testing.TB, e filter.OperationExpr, g index.Group, in, all []api.Operation, by index.By) {
	term := by.Term(g)
	if term == "" {
		return
	}
	only := parse(rt, term)
	n := 0
	for _, o := range all {
		if only.Match(o, now) {
			n++
		}
	}
	exact := by != index.ByCustomer && by != index.ByCounterparty // one name may have several parties
	if n < len(in) || exact && n != len(in) {
		rt.Fatalf("%q: %s lets %d through, want %d", e, term, n, len(in))
	}
}

func checkSums(rt testing.TB, what string, sums []index.Sum, want []api.Operation) {
	exact, counts, bad := map[string]*big.Rat{}, map[string]int64{}, map[string]int64{}
	for _, o := range want {
		c := string(o.SourceAmount.Sum.CurrencyCode)
		if exact[c] == nil {
			exact[c] = new(big.Rat)
		}
		counts[c]++
		d, err := o.SourceAmount.Sum.Decimal()
		if err != nil {
			bad[c]++
			continue
		}
		v, _ := new(big.Rat).SetString(d.Text('f'))
		exact[c].Add(exact[c], v)
	}
	for _, s := range sums {
		c := string(s.Currency)
		if s.Amount == nil && s.Count == bad[c] && counts[c] == bad[c] { // not known
			delete(exact, c)
			continue
		}
		got, ok := new(big.Rat).SetString(s.Amount.Text('f'))
		if !ok || exact[c] == nil || got.Cmp(exact[c]) != 0 || s.Count != counts[c] || s.Bad != bad[c] {
			rt.Fatalf("%q: %s %s (%d, bad %d), want %v (%d, bad %d)", what, c, s.Amount.Text('f'), s.Count, s.Bad, exact[c], counts[c], bad[c])
		}
		delete(exact, c)
	}
	if len(exact) > 0 {
		rt.Fatalf("%q: missing currencies %v", what, exact)
	}
}
