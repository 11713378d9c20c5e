package store

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"
)

const (
	addKind = "UPDATE index_kind SET ops = ops + ?, hi = hi + ?, lo = lo + ?, nanos = nanos + ? WHERE n = ?"
	addSum  = `INSERT INTO index_sum (scope, dim, item, currency, ops, hi, lo, nanos) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (scope, dim, item, currency) DO UPDATE SET ops = index_sum.ops + excluded.ops, hi = index_sum.hi + excluded.hi,
		lo = index_sum.lo + excluded.lo, nanos = index_sum.nanos + excluded.nanos`
)

// saveSums adds what the batch changed to the kept sums.
func (b *batch) saveSums(ctx context.Context, _ []*opRow) error {
	keys := slices.SortedFunc(maps.Keys(b.sums), func(a, c sumKey) int {
		return cmp.Or(cmp.Compare(a.dim, c.dim), cmp.Compare(a.item, c.item), cmp.Compare(a.currency, c.currency))
	})
	kinds, err := b.prepare(ctx, addKind)
	if err != nil {
		return err
	}
	defer kinds.Close()
	others, err := b.prepare(ctx, addSum)
	if err != nil {
		return err
	}
	defer others.Close()
	sure := context.WithoutCancel(ctx) // a context that can end costs a goroutine a statement
	for _, k := range keys {
		s := *b.sums[k]
		if s == (sums{}) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if k.dim == dimKind {
			_, err = kinds.ExecContext(sure, s.ops, s.hi, s.lo, s.nanos, k.item)
		} else {
			_, err = others.ExecContext(sure, b.x.scope, k.dim, k.item, k.currency, s.ops, s.hi, s.lo, s.nanos)
		}
		if err != nil {
			return b.tx.db.explain(err)
		}
	}
	return nil
}

func (b *batch) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	st, err := b.tx.tx.PrepareContext(ctx, b.tx.db.bind(query))
	return st, b.tx.db.explain(err)
}
