package opindex

import (
	"cmp"
	"context"
	"maps"
	"slices"
)

const (
	addKind = "UPDATE index_kind SET ops = ops + ?, hi = hi + ?, lo = lo + ?, nanos = nanos + ? WHERE n = ?"
	addSum  = `INSERT INTO index_sum (scope, dim, item, currency, ops, hi, lo, nanos) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (scope, dim, item, currency) DO UPDATE
		SET ops = index_sum.ops + excluded.ops, hi = index_sum.hi + excluded.hi,
		lo = index_sum.lo + excluded.lo, nanos = index_sum.nanos + excluded.nanos`
)

// saveSums adds the batch's changes to the kept sums.
func (b *batch) saveSums(ctx context.Context, _ []*opRow) error {
	keys := slices.SortedFunc(maps.Keys(b.sums), func(a, c sumKey) int {
		return cmp.Or(cmp.Compare(a.dim, c.dim), cmp.Compare(a.item, c.item), cmp.Compare(a.currency, c.currency))
	})
	kinds, err := b.tx.Prepare(ctx, addKind)
	if err != nil {
		return err
	}
	defer kinds.Close()
	others, err := b.tx.Prepare(ctx, addSum)
	if err != nil {
		return err
	}
	defer others.Close()
	for _, k := range keys {
		s := *b.sums[k]
		if s == (sums{}) {
			continue
		}
		if k.dim == dimKind {
			err = kinds.Exec(ctx, s.ops, s.hi, s.lo, s.nanos, k.item)
		} else {
			err = others.Exec(ctx, b.x.scope, k.dim, k.item, k.currency, s.ops, s.hi, s.lo, s.nanos)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
