package opindex_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/indextest"
	"opdeck/internal/store"
	"opdeck/internal/store/opindex"
	"opdeck/internal/store/storetest"
)

// changed is a later state of an operation.
func changed(o api.Operation, step int) api.Operation {
	o.UpdatedAt = api.At(now.Add(time.Duration(100+step) * time.Hour))
	o.Status = untrusted.Text("STEP" + strconv.Itoa(step%3))
	o.Reference = untrusted.Text(fmt.Sprintf("step-%d-%s", step, o.OPID[:6]))
	o.SourceAmount.Sum.CurrencyCode = "EUR"
	o.SourceAmount.Sum.Units, o.SourceAmount.Sum.Nanos = api.Number(strconv.Itoa(step*1000)), "1"
	o.Customer = api.CustomerRef{CUID: "C" + untrusted.Text(strconv.Itoa(step%5)), Name: "Changed"}
	return o
}

func TestIndexSumsStayExactThroughChanges(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		x, ops := openIndex(t, s), sampleOps(150)
		put(t, x, index.List, now, ops...)
		for step := 1; step <= 4; step++ {
			var batch []api.Operation
			for i := step; i < len(ops); i += 1 + step%3 {
				ops[i] = changed(ops[i], step)
				batch = append(batch, ops[i])
			}
			if m := put(t, x, index.List, now.Add(time.Duration(step)*time.Minute), batch...); m.Changed != len(batch) || m.New != 0 {
				t.Fatalf("%+v of %d", m, len(batch))
			}
		}
		checkTotals(t, x, parse(t, ""), ops, index.ByStatus, index.ByCurrency, index.ByCustomer, index.ByDay)
		id := ops[5].OPID
		for in, want := range map[string]int64{"ref:step-4-" + string(id[:6]): 0, "ref:" + string(ops[7].Reference[:9]): -1, "customer=changed": -1} {
			e := parse(t, in)
			if want < 0 {
				want = 0
				for _, o := range ops {
					if e.Match(o, now) {
						want++
					}
				}
			}
			if n, err := x.Count(ctx, e, now); err != nil || n != want && in[:4] != "ref:" || n == 0 && want > 0 {
				t.Errorf("%s: %d, want %d, %v", in, n, want, err)
			}
		}
		states, err := x.History(ctx, string(ops[12].OPID))
		if err != nil || len(states) < 3 || !states[len(states)-1].Current {
			t.Errorf("%d states, %v", len(states), err)
		}
		for _, field := range []string{"status", "customer", "id", "reference", "tocurrency"} {
			if v, err := x.Values(ctx, field, "", 5); err != nil || len(v) == 0 {
				t.Errorf("values of %s: %v, %v", field, v, err)
			}
		}
	})
}

func TestIndexHistoryIsBounded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		x := openIndex(t, s)
		o := indextest.Options{}.Make(1)
		put(t, x, index.List, now, o)
		for step := 1; step <= 60; step++ {
			put(t, x, index.Read, now.Add(time.Duration(step)*time.Second), changed(o, step))
		}
		states, err := x.History(context.Background(), string(o.OPID))
		if err != nil || len(states) != 52 || states[0].Op.Status != o.Status || states[51].Op.SourceAmount.Sum.Units != "60000" {
			t.Errorf("%d states, %v", len(states), err)
		}
	})
}

func TestIndexTakesWritersAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		x, y := openIndex(t, s), openIndex(t, s) // two handles: nothing is remembered in common
		ops := sampleOps(120)
		var wg sync.WaitGroup
		for w := range 6 {
			wg.Go(func() {
				for part := range slices.Chunk(ops, 20) { // all put the same, in other pieces
					list := slices.Clone(part)
					if w%2 == 1 {
						slices.Reverse(list)
					}
					put(t, []*opindex.Store{x, y}[w%2], index.List, now, list...)
				}
			})
		}
		wg.Wait()
		checkTotals(t, y, parse(t, ""), ops, index.ByStatus, index.ByCurrency, index.ByCustomer, index.ByDay)
		if n, err := x.Count(ctx, parse(t, ""), now); err != nil || n != 120 {
			t.Errorf("%d, %v", n, err)
		}
		before, _ := x.Version(ctx)
		if m := put(t, x, index.List, now.Add(time.Minute), ops...); m.Same != 120 {
			t.Errorf("%+v", m)
		}
		if after, _ := x.Version(ctx); after != before {
			t.Error("seeing the same again counts as a change")
		}
		r, err := x.Get(ctx, string(ops[3].OPID))
		if err != nil || !r.Seen.Equal(now.Add(time.Minute)) {
			t.Errorf("%v, %v", r.Seen, err)
		}
	})
}

func TestIndexIsReadFrozenInOrder(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		x, ops := openIndex(t, s), sampleOps(60)
		put(t, x, index.List, now, ops...)
		n := 0
		order := index.Sort{Field: "updated", Desc: true}
		var ids []string
		err := x.Each(ctx, parse(t, "-comment:zebra"), order, now, func(_ int, r index.Record) error {
			ids = append(ids, string(r.Op.OPID))
			return nil
		})
		if err != nil || len(ids) != 60 {
			t.Fatal(len(ids), err)
		}
		err = x.Each(ctx, parse(t, ""), order, now, func(total int, r index.Record) error {
			if total != 60 || string(r.Op.OPID) != ids[n] {
				t.Errorf("row %d of %d is %s", n, total, r.Op.OPID)
			}
			n++
			if n == 1 { // the list has moved since: nothing comes twice
				put(t, x, index.List, now.Add(time.Hour), changed(r.Op, 9))
			}
			return nil
		})
		if err != nil || n != 60 {
			t.Errorf("%d rows, %v", n, err)
		}
	})
}
