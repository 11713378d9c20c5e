package opindex_test

import (
	"context"
	"fmt"
	"testing"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/indextest"
	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

// TestIndexFindsTwoLetters asks for two letters at the beginning, in the middle and
// at the end of texts, for ones that are nowhere, and for such as the query language
// of the word index has a use for. All of them are few among the rows, so that the
// word index is asked.
func TestIndexFindsTwoLetters(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		x := openIndex(t, s)
		var ops []api.Operation
		for i := range 2600 { // more than are looked at one by one
			op := indextest.Options{}.Make(i)
			op.Reference, op.Comment = "", ""
			ops = append(ops, op)
		}
		for i, c := range []string{`zq`, `zqx`, `xzq`, `a zq b`, `q"z`, `"`, `*w`, `юж`, `漢字`, `x`, `end ю`, "zQ"} {
			ops[i].Comment = untrusted.Text(c)
		}
		ops[20].Reference = "zq-1"
		ops[21].Customer.Name = "Firma Äöqv"
		put(t, x, index.List, now, ops...)
		for _, q := range []string{"comment:zq", "comment:xz", "comment:qx", "comment:jj", `comment:"q\""`, `comment:"*w"`, "comment:юж", "comment:漢字", "comment:字", "comment:\" ю\"", "comment:jj,zq", "comment:jj,zqx", "zq", "reference:zq", "customer:qv", "qv", "customer:äö", "customer:jj"} {
			e := parse(t, q)
			want := map[string]bool{}
			for _, o := range ops {
				if e.Match(o, now) {
					want[string(o.OPID)] = true
				}
			}
			w, err := x.Window(context.Background(), index.Query{Filter: e, Sort: index.Sort{Field: "created", Desc: true}, After: 100}, now)
			if err != nil {
				t.Fatalf("%s: %v", q, err)
			}
			got := map[string]bool{}
			for _, id := range ids(w.Rows) {
				got[id] = true
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %v, want %v", q, got, want)
			}
			if n, err := x.Count(context.Background(), e, now); err != nil || int(n) != len(want) {
				t.Errorf("%s: counted %d, %v, want %d", q, n, err, len(want))
			}
		}
		ops[0].Comment = "jj" // newer words take the place of the old
		ops[0].UpdatedAt.Time = ops[0].UpdatedAt.Add(1e9)
		put(t, x, index.Read, now, ops[0])
		for q, want := range map[string]int64{"comment:jj": 1, "comment:zq": 4} {
			if n, err := x.Count(context.Background(), parse(t, q), now); err != nil || n != want {
				t.Errorf("%s: counted %d, %v, want %d", q, n, err, want)
			}
		}
	})
}
