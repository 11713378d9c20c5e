package opindex

import (
	"context"
	"time"

	"opdeck/internal/store"
)

// resharedRows is the number of rows after which one step of reshare ends.
const resharedRows = 20_000

// reshare sums kept sums whose shares are not known again from their rows; done reports that there are none. One step
// takes some of them.
func (b *batch) reshare(ctx context.Context) (done bool, err error) {
	type item struct {
		dim string
		n   int64
	}
	list, err := store.List(ctx, b.tx, func(scan store.Scan) (i item, err error) { return i, scan(&i.dim, &i.n) },
		"SELECT DISTINCT dim, item FROM index_sum WHERE scope = ? AND ops > 0 AND length(shares) = 0 LIMIT 200", b.x.scope)
	if err != nil || len(list) == 0 {
		return err == nil, err
	}
	currencies := map[int64]string{}
	err = store.Each(ctx, b.tx, func(scan store.Scan) error {
		var kind int64
		var currency string
		err := scan(&kind, &currency)
		currencies[kind] = currency
		return err
	}, "SELECT n, currency FROM index_kind WHERE scope = ?", b.x.scope)
	if err != nil {
		return false, err
	}
	var rows int64
	for _, i := range list {
		n, err := b.reshareItem(ctx, i.dim, i.n, currencies)
		if err != nil {
			return false, err
		}
		if rows += n; rows > resharedRows {
			break
		}
	}
	return false, nil
}

// reshareItem replaces the kept sums of one day or customer, and returns how many rows they have.
func (b *batch) reshareItem(ctx context.Context, dim string, item int64, currencies map[int64]string) (int64, error) {
	const dayUs = int64(24 * time.Hour / time.Microsecond)
	where, args := "scope = ? AND created_us >= ? AND created_us < ?", []any{b.x.scope, item * dayUs, (item + 1) * dayUs}
	if dim == dimCustomer {
		where, args = "customer = ?", []any{item}
	}
	whole := map[string]*change{}
	var rows int64
	err := store.Each(ctx, b.tx, func(scan store.Scan) error {
		var kind int64
		var s sums
		err := scan(&kind, &s.ops, &s.hi, &s.lo, &s.nanos)
		c := whole[currencies[kind]]
		if c == nil {
			c = &change{shares: shares{}}
			whole[currencies[kind]] = c
		}
		c.add(s, 1)
		c.shares.add(kind, s, 1)
		rows += s.ops
		return err
	}, "SELECT kind, "+summed+" FROM index_op WHERE "+where+" GROUP BY kind", args...)
	if err != nil {
		return 0, err
	}
	if err := b.tx.Exec(ctx, "DELETE FROM index_sum WHERE scope = ? AND dim = ? AND item = ?", b.x.scope, dim,
		item); err != nil {
		return 0, err
	}
	for currency, c := range whole {
		if err := b.tx.Exec(ctx, setSum, b.x.scope, dim, item, currency, c.ops, c.hi, c.lo, c.nanos,
			c.shares.onto(nil, sums{})); err != nil {
			return 0, err
		}
	}
	return rows, nil
}
