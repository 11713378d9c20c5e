package index_test

import (
	"encoding/json"
	"testing"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
)

// What a record does not say is not counted as none: a filter names how many rows it cannot judge, for each field that
// they lack. A row that another term decides is judged.
func TestUnreportedRowsAreCounted(t *testing.T) {
	x, done := open(t, fixed)
	defer done()
	var ops []api.Operation
	for _, raw := range []string{`{"opid":"a","isVisible":true,"documents":[],"commissionAmount":{"sum":{"currencyCode":"EUR","units":"1","nanos":0}}}`,
		`{"opid":"b","documents":null,"isVisible":null,"isParent":true}`, `{"opid":"c","documents":[{"guid":"g"}],"commissionAmount":{"sum":{"currencyCode":"EUR","value":5}}}`, `{"opid":"d","isVisible":false}`} {
		var op api.Operation
		if err := json.Unmarshal([]byte(raw), &op); err != nil {
			t.Fatal(err)
		}
		ops = append(ops, op)
	}
	if _, err := x.Page(t.Context(), ops, now); err != nil {
		t.Fatal(err)
	}
	for typed, want := range map[string]int64{"documents>0": 2, "commission>0": 3, "-documents:0": 2, "status:NEW": 4,
		"has:doc": 2, "is:locked documents>0": 3, "is:locked": 3, "-is:locked": 3, "is:parent": 3, "has:hidden": 2,
		"-has:visible": 2, "has:comment": 4, "comment:rush": 4, "-reference:A": 4, "documents>0 is:parent": 3, "documents:0 OR is:parent": 2, "-(documents>0 is:parent)": 3,
		"has:comment documents>0": 3, "-has:comment OR documents>0": 3, "doc:g": 2, "created>2020": 4,
		"customer:x": 4, "-customer:x": 4, "x": 0, "-party:x documents>0": 3, "x has:comment": 0} {
		f, err := filter.Parse(typed)
		if err != nil {
			t.Fatal(err)
		}
		got, err := x.Unreported(t.Context(), f, now)
		if err != nil || got.Rows != want {
			t.Errorf("%s: %+v, %v; want %d", typed, got, err, want)
		}
		if u := index.UnreportedOn(ops, f, now); u.Rows != want {
			t.Errorf("%s on a page: %+v, want %d", typed, u, want)
		}
	}
	for typed, want := range map[string]int64{"has:hidden": 1, "has:visible": 1, "is:parent": 1} {
		f, _ := filter.Parse(typed)
		if n, err := x.Count(t.Context(), f, now); n != want || err != nil {
			t.Errorf("%s: %d rows, %v; want %d", typed, n, err, want)
		}
		page, err := x.Arrange(t.Context(), ops, f, index.Sort{}, now)
		if int64(len(page)) != want || err != nil {
			t.Errorf("%s: %d rows on a page, want %d, %v", typed, len(page), want, err)
		}
	}
}
