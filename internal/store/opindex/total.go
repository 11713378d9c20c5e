package opindex

import (
	"context"
	"math/big"
	"strings"
	"time"

	"github.com/cockroachdb/apd/v3"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/internal/store"
)

// Count counts the rows that match the filter.
func (x *Store) Count(ctx context.Context, f filter.OperationExpr, now time.Time) (int64, error) {
	if f.Empty() {
		return countRows(ctx, x)
	}
	p, err := x.plan(ctx, f, now)
	if err != nil {
		return 0, err
	}
	return p.count(ctx)
}

func (p *opPlan) count(ctx context.Context) (int64, error) {
	if p.none() || p.pure {
		return p.rows, nil
	}
	return p.countFrom(ctx, "", filter.True)
}

// countRows counts all rows of the scope: from the kinds, of which there are thousands, once for each version of the
// index.
func countRows(ctx context.Context, x *Store) (n int64, err error) {
	v, err := x.Version(ctx)
	if err != nil {
		return 0, err
	}
	x.mu.Lock()
	n, known := x.rows, x.rowsAt == v
	x.mu.Unlock()
	if known {
		return n, nil
	}
	err = x.q.QueryRow(ctx, "SELECT CAST(COALESCE(SUM(ops), 0) AS BIGINT) FROM index_kind WHERE scope = ?", x.scope).
		Scan(&n)
	if err != nil {
		return 0, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.rows, x.rowsAt = n, v
	return n, nil
}

// tallyKey is a group of each grouping, and a currency.
type tallyKey struct {
	groups   [2]string
	currency string
}

// tally holds sums by group and currency.
type tally map[tallyKey]*total

type total struct {
	count, bad int64
	nanos      big.Int // of a unit
}

// at is the sum for a row of this kind; numbers are those of the numeric groupings, in order.
func (t tally) at(groups []grouping, kind kindKey, numbers []int64) *total {
	k := tallyKey{currency: kind.currency}
	for i, g := range groups {
		var n int64
		if g.word == nil {
			n, numbers = numbers[0], numbers[1:]
		}
		k.groups[i] = g.key(kind, n)
	}
	return t.sum(k)
}

func (t tally) sum(k tallyKey) *total {
	if t[k] == nil {
		t[k] = &total{}
	}
	return t[k]
}

// join adds another sum.
func (t *total) join(o *total) {
	t.count, t.bad = t.count+o.count, t.bad+o.bad
	t.nanos.Add(&t.nanos, &o.nanos)
}

var bigBillion = big.NewInt(billion)

func (t *total) add(s sums, flags int64) {
	t.count += s.ops
	if flags&flagUnusable != 0 {
		t.bad += s.ops
	}
	v := new(big.Int).Mul(big.NewInt(s.hi), bigBillion)
	v.Add(v, big.NewInt(s.lo)).Mul(v, bigBillion).Add(v, big.NewInt(s.nanos))
	t.nanos.Add(&t.nanos, v)
}

// addKey adds an amount by its sort key.
func (t *total) addKey(key string) {
	s, ok := filter.KeyDecimal(key)
	if !ok {
		return
	}
	whole, frac, _ := strings.Cut(s, ".")
	if v, ok := new(big.Int).SetString(whole+frac+strings.Repeat("0", 9-len(frac)), 10); ok {
		t.nanos.Add(&t.nanos, v)
	}
}

func (t *total) sum(currency string) index.Sum {
	d := apd.NewWithBigInt(new(apd.BigInt).SetMathBigInt(&t.nanos), -9)
	d.Reduce(d)
	if d.Exponent > 0 {
		digits := d.NumDigits() + int64(d.Exponent)
		_, _ = apd.BaseContext.WithPrecision(uint32(digits)+1).Quantize(d, d, 0) // fits by construction
	}
	return index.Sum{Currency: untrusted.Text(currency), Count: t.count, Amount: d, Bad: t.bad}
}

// summing is the index that covers sums by kind, if only codes and amounts are filtered; else none.
func (p *opPlan) summing(by []string) string {
	if len(by) != 1 || by[0] != "o.kind" {
		return ""
	}
	only := true
	filter.NodeSQL(p.parts, func(l *filter.Leaf) filter.Cond {
		only = only && l.Field == field.OpAmount
		return filter.True
	})
	if !only {
		return ""
	}
	return "index_op_sums"
}

// summed are the sums of rows of index_op.
const summed = "count(*), CAST(sum(hi) AS BIGINT), CAST(sum(lo) AS BIGINT), CAST(sum(nanos) AS BIGINT)"

// sums groups by expressions of index_op o; f may change items.
func (p *opPlan) sums(ctx context.Context, by []string, c filter.Cond, f func(items []int64, s sums)) error {
	q := p.queryWhere(strings.Join(by, ", ")+", "+summed, p.summing(by), c)
	return store.Each(ctx, p.x.q, func(scan store.Scan) error {
		items := make([]int64, len(by))
		var s sums
		to := make([]any, 0, len(by)+4)
		for i := range items {
			to = append(to, &items[i])
		}
		err := scan(append(to, &s.ops, &s.hi, &s.lo, &s.nanos)...)
		if err == nil {
			f(items, s)
		}
		return err
	}, q.SQL+" GROUP BY "+[]string{"1", "1, 2"}[len(by)-1], q.Args...)
}

// bigOnes adds amounts of 10^18 units and more, which the parts cannot hold.
func (p *opPlan) bigOnes(ctx context.Context, groups, numbers []grouping, t tally) error {
	byN := map[int64]kind{}
	var list []kind
	for _, k := range p.kinds {
		if k.key.flags&flagBig != 0 {
			list = append(list, k)
			byN[k.n] = k
		}
	}
	if len(list) == 0 {
		return nil
	}
	what := "o.kind, o.amount_key"
	for _, g := range numbers {
		what += ", " + g.expr
	}
	b := p.with(list)
	c := filter.All(p.x.kindIn("o.kind", list), p.rest)
	return store.Each(ctx, p.x.q, func(scan store.Scan) error {
		var kn int64
		var key string
		items := make([]int64, len(numbers))
		to := []any{&kn, &key}
		for i := range items {
			to = append(to, &items[i])
		}
		err := scan(to...)
		if err == nil {
			t.at(groups, byN[kn].key, items).addKey(key)
		}
		return err
	}, "SELECT "+what+" FROM index_op o "+b.x.by("index_op_kind")+"WHERE "+c.SQL, c.Args...)
}
