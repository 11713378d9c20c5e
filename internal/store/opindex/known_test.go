package opindex_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

// byHook is an operation that only a webhook told: identifiers, no names.
func byHook(id string, age time.Duration) index.Event {
	return index.Event{OPID: id, CUID: "C1", Created: now.Add(-age), Updated: now.Add(-age), Seen: now,
		From: api.Party{Account: &api.PartyAccount{ID: "A1"}},
		To:   api.Party{CounterpartyAccount: &api.CounterpartyAccount{ID: "K1"}}}
}

const inFull = `{"opid":"full","createdAt":"2026-01-02T00:00:00Z","updatedAt":"2026-01-02T00:00:00Z",
	"customer":{"cuid":"C1","name":"Ahrend Ltd"},
	"source":{"account":{"id":"A1","name":"Main","number":"DE11","customer":{"cuid":"C1","name":"Ahrend Ltd"}}},
	"destination":{"counterpartyAccount":{"id":"K1","name":"Settlement","number":"GB22",
		"counterparty":{"suid":"S1","name":"Brume SA","bankName":"Bank of Paper"}}},
	"sourceAmount":{"sum":{"currencyCode":"EUR","units":"5","nanos":0}}}`

// nameFilters are filters on names that "full" matches, and with it every operation with its identifiers.
var nameFilters = []string{"customer:ahrend", `customer="ahrend ltd"`, "ahrend", "brume", "to:brume", `to="brume sa"`,
	"from:ahrend", "party:brume", "to:bank", "from:main", "-customer:zzz", "-zzz", "-party:zzz"}

func wants(t *testing.T, x *index.Index, text string, want ...string) {
	t.Helper()
	f := parse(t, text)
	w, err := x.Window(context.Background(), index.Query{Filter: f, Limit: 100}, now)
	got := ids(w.Rows)
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v, %v", text, got, want, err)
	}
	n, err := x.Count(context.Background(), f, now)
	if err != nil || int(n) != len(want) {
		t.Errorf("%s counts %d, want %d, %v", text, n, len(want), err)
	}
}

// TestNamesAreKnownByTheirIdentifiers: an operation that only a webhook told has the names that its identifiers have
// elsewhere, whether they were told before it or after it: in filters, orders, totals, the record, CSV and JSON, on the
// list and in history. Until somebody tells them the filter does not know the row, neither for a term nor for its negation.
func TestNamesAreKnownByTheirIdentifiers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		x := index.New(openIndex(t, s), index.Shared, func() time.Time { return now })
		hook := func(e index.Event) {
			t.Helper()
			if _, err := x.Event(ctx, e); err != nil {
				t.Fatal(err)
			}
		}
		hook(byHook("before", 2*time.Hour))
		for _, text := range nameFilters {
			wants(t, x, text)
			u, err := x.Unreported(ctx, parse(t, text), now)
			if err != nil || u.Rows != 1 {
				t.Errorf("%s, when nobody knows the names: %+v, %v", text, u, err)
			}
		}
		wants(t, x, "customer:C1", "before")
		var full api.Operation
		if err := json.Unmarshal([]byte(inFull), &full); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Page(ctx, []api.Operation{full}, now); err != nil {
			t.Fatal(err)
		}
		hook(byHook("after", time.Hour))
		for _, text := range nameFilters {
			wants(t, x, text, "after", "before", "full")
			if u, err := x.Unreported(ctx, parse(t, text), now); err != nil || u.Rows != 0 {
				t.Errorf("%s: %+v, %v", text, u, err)
			}
		}
		wants(t, x, "customer:zzz")
		for _, id := range []string{"before", "after"} {
			r, err := x.Get(ctx, id)
			if o := r.Op; err != nil || o.Customer.Name != "Ahrend Ltd" || o.Source.Name() != "Ahrend Ltd" ||
				o.Source.Account.Name != "Main" || o.Destination.Name() != "Brume SA" {
				t.Errorf("%s: %+v, %v", id, r.Op, err)
			}
			for _, want := range []string{`"customer":{"cuid":"C1","name":"Ahrend Ltd"}`, `"name":"Brume SA"`, `"name":"Main"`} {
				if !strings.Contains(string(r.Op.Raw), want) {
					t.Errorf("%s as JSON: %s", id, r.Op.Raw)
				}
			}
			states, err := x.History(ctx, id)
			if err != nil || len(states) != 1 || states[0].Op.Customer.Name != "Ahrend Ltd" {
				t.Errorf("%s: %+v, %v", id, states, err)
			}
		}
		var csv bytes.Buffer
		if _, err := x.Export(ctx, &csv, index.Sheet{Format: index.CSV}, nil); err != nil ||
			strings.Count(csv.String(), "Ahrend Ltd") != 6 || strings.Count(csv.String(), "Brume SA") != 3 {
			t.Errorf("%v\n%s", err, csv.String())
		}
		for _, by := range []index.By{index.ByCustomer, index.ByCounterparty} {
			g, err := x.Totals(ctx, filter.OperationExpr{}, []index.By{by}, 0, now)
			if err != nil || len(g.Parts) != 1 || g.Parts[0].Count != 3 || g.Parts[0].Name == "" {
				t.Errorf("by %s: %+v, %v", by, g.Parts, err)
			}
		}
		for _, query := range []string{"DELETE FROM index_name", "UPDATE index_party SET name = '', sort = '', body = '' " +
			"WHERE n IN (SELECT customer FROM index_op WHERE opid <> 'full')", "DELETE FROM index_meta WHERE name = 'derived'"} {
			if err := s.Bulk.Exec(ctx, query); err != nil { // as an earlier build stored them
				t.Fatal(err)
			}
		}
		for done, rows := false, openIndex(t, s); !done; {
			err := rows.Derive(ctx)
			if done, _ = rows.Derived(ctx); err != nil {
				t.Fatal(err)
			}
		}
		wants(t, x, "customer:ahrend", "after", "before", "full")
		w, err := x.Window(ctx, index.Query{Filter: parse(t, "ahrend"), Sort: index.Sort{Field: "customer"},
			Limit: 9}, now)
		if err != nil || len(w.Rows) != 3 {
			t.Errorf("by customer: %v, %v", ids(w.Rows), err)
		}
	})
}

// TestNamesOfOtherLists: the names of customers and accounts that a list tells are those of operations from then on,
// and a name that nobody knows leaves its group of totals the name that others have.
func TestNamesOfOtherLists(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		x := index.New(openIndex(t, s), index.Shared, func() time.Time { return now })
		if _, err := x.Event(ctx, byHook("one", time.Hour)); err != nil {
			t.Fatal(err)
		}
		changes, stop := x.Changes()
		defer stop()
		for range 2 { // the second time it is known
			if err := x.Named(ctx, []api.CustomerRef{{CUID: "C1", Name: "Ahrend Ltd"}, {CUID: "C2", Name: "Zzz"}},
				[]api.Party{{Account: &api.PartyAccount{ID: "A1", Name: "Main"}}}); err != nil {
				t.Fatal(err)
			}
		}
		if len(changes) != 1 {
			t.Error("nobody is told of a name")
		}
		wants(t, x, "ahrend", "one")
		wants(t, x, "from:main", "one")
		wants(t, x, "-customer:zzz", "one")
		if u, err := x.Unreported(ctx, parse(t, "to:brume"), now); err != nil || u.Rows != 1 {
			t.Errorf("%+v, %v", u, err)
		}
	})
}
