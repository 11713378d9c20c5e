package index_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/index/indextest"
	"opdeck/internal/store"
	"opdeck/internal/store/opindex"
)

var now = indextest.Now

func open(t testing.TB, clock func() time.Time) (*index.Index, func()) {
	t.Helper()
	s, err := store.Open(context.Background(), store.Options{URL: "memory", Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	x, err := opindex.New(context.Background(), s.Bulk, "https://a.test", "m")
	if err != nil {
		t.Fatal(err)
	}
	return index.New(x, index.Memory, clock), func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func fixed() time.Time { return now }

func op(id, status, updated string) api.Operation {
	raw := fmt.Sprintf(`{"opid":%q,"status":%q,"type":"WITHDRAW","paymentType":"SWIFT","isVisible":true,"createdAt":"2026-06-01T10:00:00Z","updatedAt":%q,`+
		`"sourceAmount":{"sum":{"currencyCode":"EUR","units":"10","nanos":500000000}},"documents":[],"scan":7}`, id, status, updated)
	var o api.Operation
	if err := o.UnmarshalJSON([]byte(raw)); err != nil {
		panic(err)
	}
	return o
}

func get(t *testing.T, x *index.Index, id string) index.Record {
	t.Helper()
	r, err := x.Get(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const (
	t1 = "2026-06-02T10:00:00.000000001Z"
	t2 = "2026-06-02T10:00:00.000000002Z"
	t3 = "2026-06-02T10:00:01Z"
)

func TestNewestStateWins(t *testing.T) {
	ctx := context.Background()
	x, done := open(t, fixed)
	defer done()
	step := func(what string, from index.Origin, o api.Operation, at time.Time, status string, owed bool) {
		t.Helper()
		if _, err := x.Put(ctx, []index.Entry{{Op: o, Origin: from, Seen: at}}); err != nil {
			t.Fatal(err)
		}
		if r := get(t, x, "a"); string(r.Op.Status) != status || r.Owed != owed {
			t.Errorf("%s: %s, owed %v; want %s, %v", what, r.Op.Status, r.Owed, status, owed)
		}
	}
	step("first", index.List, op("a", "NEW", t2), now, "NEW", false)
	step("a nanosecond older from a list", index.List, op("a", "OLD", t1), now, "NEW", true)
	step("the same again pays the read", index.Read, op("a", "NEW", t2), now.Add(time.Second), "NEW", false)
	step("a tie in a list", index.List, op("a", "TIE", t2), now.Add(2*time.Second), "TIE", true)
	step("a tie in a read settles", index.Read, op("a", "SETTLED", t2), now.Add(3*time.Second), "SETTLED", false)
	step("newer", index.List, op("a", "SUCCESS", t3), now.Add(4*time.Second), "SUCCESS", false)
	for i := range 7 { // a service that stays behind is believed in the end
		want, owed := "SUCCESS", true
		if i >= 5 {
			want, owed = "BACK", false
		}
		step(fmt.Sprintf("backwards read %d", i), index.Read, op("a", "BACK", t1), now.Add(5*time.Second), want, owed)
	}
	if r := get(t, x, "a"); string(r.Op.Raw) != string(op("a", "BACK", t1).Raw) {
		t.Error("the record did not stay to the letter")
	}
	states, err := x.History(ctx, "a")
	var words []string
	for _, s := range states {
		words = append(words, string(s.Op.Status))
	}
	if err != nil || strings.Join(words, " ") != "NEW TIE SETTLED SUCCESS BACK" || !states[4].Current {
		t.Errorf("history %v, %v", words, err)
	}
}

func TestOwedReadsComeDue(t *testing.T) {
	ctx := context.Background()
	x, done := open(t, fixed)
	defer done()
	for _, o := range []api.Operation{op("a", "NEW", t3), op("a", "OLD", t1)} {
		if _, err := x.Page(ctx, []api.Operation{o}, now); err != nil {
			t.Fatal(err)
		}
	}
	if ids, err := x.Unmasked().Owed(ctx, now, 5); err != nil || len(ids) != 1 || ids[0] != "a" {
		t.Fatalf("owed %v, %v", ids, err)
	}
	if err := x.Unmasked().Postpone(ctx, "a", now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if ids, _ := x.Unmasked().Owed(ctx, now, 5); len(ids) != 0 {
		t.Errorf("owed %v", ids)
	}
	if ids, _ := x.Unmasked().Owed(ctx, now.Add(time.Hour), 5); len(ids) != 1 {
		t.Errorf("owed %v", ids)
	}
}

func TestUnusableIdentifiersAreRefused(t *testing.T) {
	x, done := open(t, fixed)
	defer done()
	m, err := x.Page(context.Background(), []api.Operation{{}, {OPID: "nul\x00"}, {OPID: untrusted.Text(strings.Repeat("x", 513))}, op("ok", "NEW", t1)}, now)
	if err != nil || m.Refused != 3 || m.New != 1 {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestEventChangesTheRowAndOwesARead(t *testing.T) {
	ctx := context.Background()
	x, done := open(t, fixed)
	defer done()
	changes, stop := x.Changes()
	defer stop()
	if _, err := x.Page(ctx, []api.Operation{op("a", "PENDING", t1)}, now); err != nil {
		t.Fatal(err)
	}
	first := <-changes
	later, _ := time.Parse(time.RFC3339, t3)
	e := index.Event{OPID: "a", Updated: later, Seen: now.Add(time.Second), Source: &api.Money{CurrencyCode: "EUR", Units: "11", Nanos: "0"}}
	m, err := x.Event(ctx, e)
	if err != nil || m.Changed != 1 {
		t.Fatalf("%+v, %v", m, err)
	}
	if v := <-changes; v <= first {
		t.Errorf("version %d after %d", v, first)
	}
	r := get(t, x, "a")
	if r.Op.SourceAmount.Sum.String() != "EUR 11" || r.Op.Status != "PENDING" || !r.Owed || r.Origin != index.Hook || !r.Op.UpdatedAt.Equal(later) ||
		!bytes.Contains(r.Op.Raw, []byte(`"scan":7`)) {
		t.Errorf("%+v %s", r, r.Op.Raw)
	}
	if m, err = x.Event(ctx, e); err != nil || m.Same != 1 { // delivered twice
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := x.Read(ctx, op("a", "SUCCESS", t3), now.Add(2*time.Second)); err != nil { // the read that was owed: a tie that settles
		t.Fatal(err)
	}
	if r := get(t, x, "a"); r.Op.Status != "SUCCESS" || r.Owed {
		t.Errorf("%+v", r)
	}
	known := index.Event{OPID: "b", CUID: "D1", Status: "PENDING", Type: "WITHDRAW", PaymentType: "SWIFT", Updated: later, Seen: now}
	if m, err := x.Event(ctx, known); err != nil || m.New != 1 || !get(t, x, "b").Owed || get(t, x, "b").Op.Customer.CUID != "D1" {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := x.Event(ctx, index.Event{}); err == nil {
		t.Error("an event without an operation was taken")
	}
}

func TestSinceLastLook(t *testing.T) {
	ctx := context.Background()
	at := now
	x, done := open(t, func() time.Time { return at })
	defer done()
	read := func(status, updated string, moment time.Time) {
		at = moment
		if _, err := x.Read(ctx, op("a", status, updated), at); err != nil {
			t.Fatal(err)
		}
	}
	read("NEW", t1, now)
	if at, err := x.LastSeen(ctx, "ana", "a"); err != nil || !at.IsZero() {
		t.Errorf("never looked: %v %v", at, err)
	}
	if err := x.MarkSeen(ctx, "ana", "a", now.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	read("PENDING", t2, now.Add(2*time.Minute))
	read("SUCCESS", t3, now.Add(3*time.Minute))
	if at, err := x.LastSeen(ctx, "ana", "a"); err != nil || !at.Equal(now.Add(time.Minute)) {
		t.Errorf("looked at %v, %v", at, err)
	}
	states, err := x.History(ctx, "a")
	if err != nil || len(states) != 3 {
		t.Fatalf("%v, %v", states, err)
	}
	c := index.Diff(states[0].Op, states[2].Op)
	if len(c) != 2 || c[0].Path != "status" || c[0].Before != "NEW" || c[0].After != "SUCCESS" {
		t.Errorf("%v, %v", c, err)
	}
}

func TestDiff(t *testing.T) {
	parse := func(s string) (o api.Operation) {
		if err := o.UnmarshalJSON([]byte(s)); err != nil {
			t.Fatal(err)
		}
		return o
	}
	a := parse(`{"opid":"x","sourceAmount":{"sum":{"currencyCode":"EUR","units":"5","nanos":0}},"fee":{"units":"1","nanos":9},"documents":[{"guid":"g1","isLock":false},{"guid":"g2"}],"tags":[1,2],"gone":"y"}`)
	b := parse(`{"opid":"x","sourceAmount":{"sum":{"currencyCode":"EUR","units":"05"}},"fee":{"units":"1","nanos":10},"documents":[{"guid":"g2"},{"guid":"g1","isLock":true}],"tags":[1,3],"new":null}`)
	var got []string
	for _, c := range index.Diff(a, b) {
		got = append(got, fmt.Sprintf("%s:%s>%s/%v", c.Path, c.Before, c.After, c.Money))
	}
	want := "documents[g1].isLock:false>true/false|fee: 1.000000009> 1.00000001/true|gone:y>/false|tags[1]:2>3/false"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("%s\nwant %s", s, want)
	}
	if d := index.Diff(a, a); len(d) != 0 {
		t.Errorf("%v", d)
	}
}

func TestExport(t *testing.T) {
	ctx := context.Background()
	x, done := open(t, fixed)
	defer done()
	var ops []api.Operation
	for i := range 1200 {
		ops = append(ops, indextest.Options{Raw: true}.Make(i))
	}
	evil := op("evil", "=cmd|' /C calc'!A0", t3)
	evil.Comment, evil.Reference = "@SUM(1+1)", "-2+3"
	evil.SourceAmount.Sum = api.Money{CurrencyCode: "EUR", Units: "-99999999999999999999", Nanos: "-10000000"}
	evil.CreatedAt, evil.Raw = api.At(now.Add(time.Hour)), nil
	if _, err := x.Page(ctx, append(ops, evil), now); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	var reported []int
	n, err := x.Export(ctx, &out, index.Sheet{Format: index.CSV, Sort: index.Sort{Desc: true}}, func(done, total int) {
		if total != 1201 {
			t.Errorf("total %d", total)
		}
		reported = append(reported, done)
	})
	rows, cerr := csv.NewReader(&out).ReadAll()
	if err != nil || cerr != nil || n != 1201 || len(rows) != 1202 || fmt.Sprint(reported) != "[500 1000 1201]" {
		t.Fatalf("%d rows, %d lines, reported %v, %v %v", n, len(rows), reported, err, cerr)
	}
	line := strings.Join(rows[1], ";")
	for _, want := range []string{"'=cmd|' /C calc'!A0", ";-99999999999999999999.01;", "'@SUM(1+1)", "'-2+3"} {
		if !strings.Contains(line, want) {
			t.Errorf("%s lacks %s", line, want)
		}
	}
	out.Reset()
	e, _ := filter.Parse("status:PENDING")
	n, err = x.Export(ctx, &out, index.Sheet{Format: index.JSONL, Filter: e, Sort: index.Sort{Field: "amount"}}, nil)
	if want, _ := x.Count(ctx, e, now); err != nil || int64(n) != want || strings.Count(out.String(), "\n") != n || n == 0 {
		t.Errorf("%d lines, want %d, %v", n, want, err)
	}
	stopped, stop := context.WithCancel(ctx)
	n, err = x.Export(stopped, &out, index.Sheet{Format: index.JSONL}, func(int, int) { stop() })
	if !errors.Is(err, context.Canceled) || n != 500 {
		t.Errorf("stopped after %d: %v", n, err)
	}
	if _, err := x.Export(ctx, &out, index.Sheet{Format: "xls", Filter: e}, nil); !errors.Is(err, index.ErrFormat) {
		t.Error(err)
	}
}

func TestSuggestKnowsValues(t *testing.T) {
	x, done := open(t, fixed)
	defer done()
	if _, err := x.Page(context.Background(), []api.Operation{indextest.Options{}.Make(1), op("a", "ODDWORD", t1)}, now); err != nil {
		t.Fatal(err)
	}
	s := x.Suggest(context.Background(), "status:odd", 10)
	if len(s) != 1 || s[0].Text != "ODDWORD" {
		t.Errorf("%+v", s)
	}
}

func TestParseSort(t *testing.T) {
	for in, want := range map[string]string{"": "-created", "amount": "amount", "-updated": "-updated"} {
		if s, err := index.ParseSort(in); err != nil || s.String() != want {
			t.Errorf("%q: %s %v", in, s, err)
		}
	}
	if _, err := index.ParseSort("colour"); !errors.Is(err, index.ErrSort) {
		t.Error(err)
	}
}
