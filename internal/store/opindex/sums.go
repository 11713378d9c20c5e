package opindex

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"opdeck/internal/store"
)

// sumKey is a kept sum.
type sumKey struct {
	dim      string // dimKind, or a dim of index_sum
	currency string
	item     int64 // number of the kind, day or party
}

// The dims.
const (
	dimKind     = "kind" // kept in index_kind
	dimDay      = "day"
	dimCustomer = "customer"
)

// change is what a batch adds to a kept sum and to its shares.
type change struct {
	sums
	shares shares // none of a kind
}

// count adds a row to the changes (sign 1), or removes it (-1).
func (b *batch) count(kind int64, currency string, customer, created int64, s sums, sign int64) {
	keys := [...]sumKey{{dimKind, "", kind}, {dimDay, currency, dayOf(created)}, {dimCustomer, currency, customer}}
	for _, k := range keys {
		c := b.sums[k]
		if c == nil {
			c = &change{shares: shares{}}
			b.sums[k] = c
		}
		c.add(s, sign)
		if k.dim != dimKind {
			c.shares.add(kind, s, sign)
		}
	}
}

const (
	addKind = "UPDATE index_kind SET ops = ops + ?, hi = hi + ?, lo = lo + ?, nanos = nanos + ? WHERE n = ?"
	setSum  = `INSERT INTO index_sum (scope, dim, item, currency, ops, hi, lo, nanos, shares)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (scope, dim, item, currency) DO UPDATE SET ops = excluded.ops, hi = excluded.hi, lo = excluded.lo,
		nanos = excluded.nanos, shares = excluded.shares`
)

// saveSums adds the batch's changes to the kept sums.
func (b *batch) saveSums(ctx context.Context, _ []*opRow) error {
	keys := slices.SortedFunc(maps.Keys(b.sums), func(a, c sumKey) int {
		return cmp.Or(cmp.Compare(a.dim, c.dim), cmp.Compare(a.currency, c.currency), cmp.Compare(a.item, c.item))
	})
	keys = slices.DeleteFunc(keys, func(k sumKey) bool { return b.sums[k].sums == sums{} && b.sums[k].shares.none() })
	for len(keys) > 0 {
		n := slices.IndexFunc(keys, func(k sumKey) bool { return k.dim != keys[0].dim || k.currency != keys[0].currency })
		if n < 0 {
			n = len(keys)
		}
		save := b.saveKept
		if keys[0].dim == dimKind {
			save = b.saveKinds
		}
		if err := save(ctx, keys[:n]); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

func (b *batch) saveKinds(ctx context.Context, keys []sumKey) error {
	st, err := b.tx.Prepare(ctx, addKind)
	if err != nil {
		return err
	}
	defer st.Close()
	for _, k := range keys {
		s := b.sums[k]
		if err := st.Exec(ctx, s.ops, s.hi, s.lo, s.nanos, k.item); err != nil {
			return err
		}
	}
	return nil
}

// saveKept reads the kept sums of one dim and currency and writes them with their changes.
func (b *batch) saveKept(ctx context.Context, keys []sumKey) error {
	items := make([]int64, len(keys))
	for i, k := range keys {
		items[i] = k.item
	}
	dim, currency := keys[0].dim, keys[0].currency
	type stored struct {
		sums
		shares []byte
	}
	have := map[int64]stored{}
	err := store.EachIn(ctx, b.tx, items, func(scan store.Scan) error {
		var item int64
		var s stored
		err := scan(&item, &s.ops, &s.hi, &s.lo, &s.nanos, &s.shares)
		have[item] = s
		return err
	}, "SELECT item, ops, hi, lo, nanos, shares FROM index_sum WHERE scope = ? AND dim = ? AND currency = ? AND item IN",
		b.x.scope, dim, currency)
	if err != nil {
		return err
	}
	st, err := b.tx.Prepare(ctx, setSum)
	if err != nil {
		return err
	}
	defer st.Close()
	for _, k := range keys {
		s, c := have[k.item], b.sums[k]
		packed := c.shares.onto(s.shares, s.sums)
		s.add(c.sums, 1)
		if err := st.Exec(ctx, b.x.scope, dim, k.item, currency, s.ops, s.hi, s.lo, s.nanos, packed); err != nil {
			return err
		}
	}
	return nil
}
