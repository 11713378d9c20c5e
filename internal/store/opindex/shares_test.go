package opindex

import (
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/index/indextest"
	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

// scanned sums all rows by day and by customer, each by currency and kind.
func scanned(t *testing.T, x *Store) map[sumKey]shares {
	t.Helper()
	out := map[sumKey]shares{}
	err := store.Each(t.Context(), x.q, func(scan store.Scan) error {
		var kind, customer, created int64
		var currency string
		s := sums{ops: 1}
		err := scan(&kind, &currency, &customer, &created, &s.hi, &s.lo, &s.nanos)
		for _, k := range []sumKey{{dimDay, currency, dayOf(created)}, {dimCustomer, currency, customer}} {
			if out[k] == nil {
				out[k] = shares{}
			}
			out[k].add(kind, s, 1)
		}
		return err
	}, `SELECT o.kind, k.currency, o.customer, o.created_us, o.hi, o.lo, o.nanos
		FROM index_op o JOIN index_kind k ON k.n = o.kind WHERE o.scope = ?`, x.scope)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// checkKept compares the kept sums and their shares with the rows.
func checkKept(t *testing.T, x *Store) {
	t.Helper()
	want := scanned(t, x)
	err := store.Each(t.Context(), x.q, func(scan store.Scan) error {
		var k sumKey
		var whole sums
		var packed []byte
		if err := scan(&k.dim, &k.item, &k.currency, &whole.ops, &whole.hi, &whole.lo, &whole.nanos, &packed); err != nil {
			return err
		}
		got := shares{}
		if !eachShare(packed, whole, func(kind int64, v sums) { got[kind] = v }) || !maps.Equal(got, want[k]) {
			t.Fatalf("%v: %v of %v, want %v", k, got, whole, want[k])
		}
		delete(want, k)
		return nil
	}, "SELECT dim, item, currency, ops, hi, lo, nanos, shares FROM index_sum WHERE scope = ?", x.scope)
	if err != nil {
		t.Fatal(err)
	}
	if len(want) > 0 {
		t.Fatalf("no kept sum: %v", want)
	}
}

// checkSameTotals compares the totals of a filter with those of its rows.
func checkSameTotals(t *testing.T, x *Store, f filter.OperationExpr) {
	t.Helper()
	for _, by := range [][]index.By{{index.ByCustomer, index.ByStatus}, {index.ByType, index.ByCustomer},
		{index.ByDay, index.ByCurrency}, {index.ByPayment, index.ByWeek}, {index.ByMonth, index.ByStatus},
		{index.ByCustomer}, {index.ByDay}} {
		groups, err := x.groupings(by)
		if err != nil {
			t.Fatal(err)
		}
		p, err := x.plan(t.Context(), f, indextest.Now)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.tally(t.Context(), groups)
		if err != nil {
			t.Fatal(err)
		}
		numbers := slices.DeleteFunc(slices.Clone(groups), func(g grouping) bool { return g.word != nil })
		want := tally{}
		if err := p.tallyRows(t.Context(), groups, numbers, want); err != nil {
			t.Fatal(err)
		}
		if err := p.bigOnes(t.Context(), groups, numbers, want); err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Fatalf("%q by %v: %d groups, want %d", f, by, len(got), len(want))
		}
		for k, w := range want {
			if g := got[k]; g == nil || g.count != w.count || g.bad != w.bad || g.nanos.Cmp(&w.nanos) != 0 {
				t.Fatalf("%q by %v: %v is %+v, want %+v", f, by, k, g, w)
			}
		}
	}
}

// later is a random later state of an operation.
func later(r *rand.Rand, o api.Operation, step int) api.Operation {
	o.Raw = nil
	o.UpdatedAt = api.At(indextest.Now.Add(time.Duration(100+step) * time.Hour))
	o.Status = untrusted.Text("STEP" + strconv.Itoa(r.IntN(3)))
	switch r.IntN(4) {
	case 0:
		o.SourceAmount.Sum = api.Money{CurrencyCode: "EUR", Units: api.Number(strconv.Itoa(r.IntN(5000) - 100))}
	case 1:
		o.Customer = api.CustomerRef{CUID: untrusted.Text("C" + strconv.Itoa(r.IntN(4))), Name: "Other"}
	case 2:
		o.CreatedAt = api.At(indextest.Now.AddDate(0, 0, -r.IntN(40)))
	}
	return o
}

// TestKeptSumsEqualTheirRows: after any history of new, changed, gone, returning and pruned operations, of rows that
// are derived again and of kept sums of an earlier build, kept sums and shares are those of the rows, and totals are
// the same from either.
func TestKeptSumsEqualTheirRows(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx, r := t.Context(), rand.New(rand.NewPCG(28, 11))
		x, err := New(ctx, s.Bulk, "https://a.test", "m@a.test")
		if err != nil {
			t.Fatal(err)
		}
		other, err := New(ctx, s.Bulk, "https://b.test", "m@b.test")
		if err != nil {
			t.Fatal(err)
		}
		some := indextest.Options{Odd: true, Customers: 6, Parties: 9}
		var ops []api.Operation
		put := func(x *Store, in index.Batch) {
			if _, err := x.Put(ctx, in); err != nil {
				t.Fatal(err)
			}
		}
		seen := indextest.Now
		steps := 12
		if os.Getenv("OPDECK_TEST_LONG") == "1" {
			steps = 24
		}
		for step := range steps {
			seen = seen.Add(time.Minute)
			var in index.Batch
			for range r.IntN(40) {
				if len(ops) == 0 || r.IntN(3) == 0 {
					ops = append(ops, some.Make(len(ops)*500))
				} else if n := r.IntN(len(ops)); r.IntN(5) == 0 {
					in.Gone = append(in.Gone, index.Gone{OPID: string(ops[n].OPID), At: seen})
					continue
				} else {
					ops[n] = later(r, ops[n], step)
					in.Entries = append(in.Entries, index.Entry{Op: ops[n], Origin: index.Read, Seen: seen})
					continue
				}
				in.Entries = append(in.Entries, index.Entry{Op: ops[len(ops)-1], Origin: index.List, Seen: seen})
			}
			put(x, in)
			put(other, index.Batch{Entries: in.Entries})
			switch r.IntN(6) {
			case 0:
				if _, err := PruneGone(ctx, s.Bulk, seen.Add(time.Hour), 5); err != nil {
					t.Fatal(err)
				}
			case 1: // an earlier build's
				deriveAll(t, x, "UPDATE index_sum SET shares = '' WHERE item % 2 = 0")
			case 2:
				deriveAll(t, x, "UPDATE index_sum SET shares = '' WHERE dim = 'customer'")
			case 3:
				if err := other.Reset(ctx); err != nil {
					t.Fatal(err)
				}
			}
			checkKept(t, x)
			for _, text := range []string{"", "status:SUCCESS", "currency:EUR -type:DEPOSIT", "has:doc"} {
				f, err := filter.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				checkSameTotals(t, x, f)
			}
		}
	})
}

// deriveAll changes the tables and derives all rows again.
func deriveAll(t *testing.T, x *Store, change string) {
	t.Helper()
	ctx := context.Background()
	for _, query := range []string{change, "DELETE FROM index_meta WHERE name LIKE 'deriv%'"} {
		if err := x.db.Exec(ctx, query); err != nil {
			t.Fatal(err)
		}
	}
	for done := false; !done; {
		checkSameTotals(t, x, filter.OperationExpr{}) // whatever is not known yet
		if err := x.Derive(ctx); err != nil {
			t.Fatal(err)
		}
		var err error
		if done, err = x.Derived(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDamagedShares: shares that do not add up to their sum are not used, and become empty with the next change.
func TestDamagedShares(t *testing.T) {
	s := shares{3: {ops: 2, hi: 1, lo: -5, nanos: 7}, 900: {ops: 1, lo: 4}}
	whole := sums{ops: 3, hi: 1, lo: -1, nanos: 7}
	packed := s.onto(nil, sums{})
	none := func(int64, sums) {}
	if !eachShare(packed, whole, none) {
		t.Fatal("not known")
	}
	for n := range packed {
		if eachShare(packed[:n], whole, none) {
			t.Errorf("%d bytes", n)
		}
	}
	more := whole
	more.ops++
	if eachShare(packed, more, none) {
		t.Error("a sum that was changed without its shares")
	}
	if got := s.onto(packed, more); len(got) != 0 {
		t.Errorf("%x", got)
	}
	minus := shares{}
	for kind, v := range s {
		minus.add(kind, v, -1)
	}
	if got := minus.onto(packed, whole); len(got) != 0 {
		t.Errorf("nothing is left: %x", got)
	}
}
