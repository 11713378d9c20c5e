package index

import (
	"context"
	"maps"
	"slices"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/index/filter"
)

// typesFrom is the number of operations that DocumentTypes reads.
const typesFrom = 500

// DocumentTypes lists the document types of the newest operations with documents, sorted, without a call.
func (x *Index) DocumentTypes(ctx context.Context) ([]untrusted.Text, error) {
	q, err := filter.Parse("docs>=1")
	if err != nil {
		return nil, err
	}
	w, err := x.Window(ctx, Query{Filter: q, Sort: Sort{Field: "created", Desc: true}, After: typesFrom}, x.now())
	if err != nil {
		return nil, err
	}
	seen := map[untrusted.Text]bool{}
	for _, r := range w.Rows {
		for _, d := range r.Op.Documents {
			seen[d.DocType] = true
		}
	}
	delete(seen, "")
	return slices.Sorted(maps.Keys(seen)), nil
}
