package opindex_test

import (
	"cmp"
	"context"
	"slices"
	"testing"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/indextest"
	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

// TestIndexLooksFurther asks for more rows than the nearest 2,000 hold, though
// not many more: the list must be the same as that of a search through all.
func TestIndexLooksFurther(t *testing.T) {
	const rows, want = 3000, 200
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		x := openIndex(t, s)
		var ops []api.Operation
		for i := range rows {
			ops = append(ops, indextest.Options{}.Make(i))
		}
		put(t, x, index.List, now, ops...)
		slices.SortFunc(ops, func(a, b api.Operation) int { return cmp.Compare(b.CreatedAt.UnixMicro(), a.CreatedAt.UnixMicro()) })
		for _, text := range []string{"customer:acme", "customer:acme status:SUCCESS", "party:acme status:SUCCESS"} {
			e := parse(t, text)
			var all, near []string
			for i, o := range ops {
				if e.Match(o, now) {
					all = append(all, string(o.OPID))
					if i < 2000 {
						near = append(near, string(o.OPID))
					}
				}
			}
			if len(near) >= want || len(near) < want/8 {
				t.Fatalf("%s: %d of %d rows are near, so nothing is tried", text, len(near), len(all))
			}
			w, err := x.Window(context.Background(), index.Query{Filter: e, Sort: index.Sort{Field: "created", Desc: true}, After: want}, now)
			if err != nil {
				t.Fatal(err)
			}
			if got, all := ids(w.Rows), all[:min(want, len(all))]; !slices.Equal(got, all) {
				t.Errorf("%s: %d rows, want %d", text, len(got), len(all))
			}
		}
	})
}
