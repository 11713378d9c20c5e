package opindex_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

// earlierBuild changes the tables to what a build stored that did not know what an answer omits: documents were none,
// and an amount of another shape was zero.
var earlierBuild = []string{
	"UPDATE index_op SET flags = (flags & 127) | CASE WHEN flags & 512 = 0 THEN 128 ELSE 0 END | " +
		"CASE WHEN flags & 1024 = 0 THEN 256 ELSE 0 END",
	"UPDATE index_op SET docs = 0 WHERE docs < 0", "UPDATE index_op SET amount_key = '10000' WHERE amount_key = '!'",
	"DELETE FROM index_meta WHERE name = 'derived'",
}

// TestRowsOfEarlierBuilds: what an earlier build stored is not known where its columns do not say it, and is derived
// again from the records, by any process from where the last one ended. Nothing changes for people: no state is added.
func TestRowsOfEarlierBuilds(t *testing.T) {
	racedetector.Skip(t)
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx, r := context.Background(), rand.New(rand.NewPCG(3, 24))
		x := openIndex(t, s)
		var ops []api.Operation
		var means []map[string]string
		for n := range 1100 {
			op, m := randomRow(t, r, n)
			ops, means = append(ops, op), append(means, m)
		}
		put(t, x, index.List, now, ops...)
		if done, err := x.Derived(ctx); !done || err != nil {
			t.Fatalf("a new index: %v, %v", done, err)
		}
		for _, query := range earlierBuild {
			if err := s.Bulk.Exec(ctx, query); err != nil {
				t.Fatal(err)
			}
		}
		x = openIndex(t, s)
		for _, text := range []string{"has:visible", "has:hidden", "-has:hidden", "-is:parent", "-has:doc", "-is:locked"} {
			e := parse(t, text)
			for _, id := range rowsOf(t, x, e) {
				if op := ops[slices.IndexFunc(ops, func(o api.Operation) bool { return string(o.OPID) == id })]; !e.Match(op, now) {
					t.Fatalf("%s before the columns are derived: %s", text, op.Raw)
				}
			}
		}
		steps := 0
		for done := false; !done; steps++ {
			x = openIndex(t, s) // another process
			if err := x.Derive(ctx); err != nil {
				t.Fatal(err)
			}
			var err error
			if done, err = x.Derived(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if steps != 3 { // two of rows, and one that finds none
			t.Errorf("%d steps", steps)
		}
		ops = named(t, x, ops)
		for _, term := range terms {
			checkAnswers(t, x, single(term), ops, means)
		}
		checkTotals(t, x, filter.OperationExpr{}, ops, index.ByStatus, index.ByDay)
		states, err := x.History(ctx, string(ops[7].OPID))
		if err != nil || len(states) != 1 {
			t.Errorf("%d states, %v", len(states), err)
		}
	})
}
