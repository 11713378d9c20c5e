package opindex

import (
	"cmp"
	"context"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/apd/v3"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/internal/store"
)

// Count counts the rows that the filter lets through.
func (x *Index) Count(ctx context.Context, f filter.OperationExpr, now time.Time) (int64, error) {
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

// tally collects sums by group and currency.
type tally map[[2]string]*total

type total struct {
	count, bad int64
	nanos      big.Int // of a unit
}

func (t tally) at(group, currency string) *total {
	k := [2]string{group, currency}
	if t[k] == nil {
		t[k] = &total{}
	}
	return t[k]
}

var bigBillion = big.NewInt(billion)

func (t *total) add(s sums, flags int64) {
	t.count += s.ops
	if flags&flagBad != 0 {
		t.bad += s.ops
	}
	v := new(big.Int).Mul(big.NewInt(s.hi), bigBillion)
	v.Add(v, big.NewInt(s.lo)).Mul(v, bigBillion).Add(v, big.NewInt(s.nanos))
	t.nanos.Add(&t.nanos, v)
}

// addKey adds an amount from its sortable key.
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

// Totals sums the amounts that the filter lets through, by currency.
func (x *Index) Totals(ctx context.Context, f filter.OperationExpr, now time.Time) ([]index.Sum, error) {
	p, err := x.plan(ctx, f, now)
	if err != nil || p.none() {
		return nil, err
	}
	t, err := p.tally(ctx, func(k kindKey) string { return "" })
	if err != nil {
		return nil, err
	}
	groups := t.groups()
	if len(groups) == 0 {
		return nil, nil
	}
	return groups[0].Sums, nil
}

// tally sums by kind: from the kept sums when codes decide alone.
func (p *opPlan) tally(ctx context.Context, group func(kindKey) string) (tally, error) {
	t := tally{}
	byN := map[int64]kind{}
	for _, k := range p.kinds {
		byN[k.n] = k
		if p.pure {
			t.at(group(k.key), k.key.currency).add(k.sum, k.key.flags)
		}
	}
	if !p.pure {
		c := p.where()
		err := p.sums(ctx, "o.kind", c, func(item int64, s sums) {
			if k, ok := byN[item]; ok {
				t.at(group(k.key), k.key.currency).add(s, k.key.flags)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return t, p.bigOnes(ctx, func(k kind, _, _ int64) string { return group(k.key) }, t)
}

// summing is the index that has all that sums by kind ask for, when nothing but
// codes and amounts is filtered; else none.
func (p *opPlan) summing(by string) string {
	if by != "o.kind" {
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

func (p *opPlan) sums(ctx context.Context, by string, c filter.Cond, f func(item int64, s sums)) error {
	q := p.queryWhere(by+", count(*), CAST(sum(o.hi) AS BIGINT), CAST(sum(o.lo) AS BIGINT), CAST(sum(o.nanos) AS BIGINT)", p.summing(by), c)
	return store.Each(ctx, p.x.q, func(scan store.Scan) error {
		var item int64
		var s sums
		err := scan(&item, &s.ops, &s.hi, &s.lo, &s.nanos)
		if err == nil {
			f(item, s)
		}
		return err
	}, q.SQL+" GROUP BY 1", q.Args...)
}

// bigOnes adds amounts of 10^18 units and more, which the parts do not hold.
func (p *opPlan) bigOnes(ctx context.Context, group func(k kind, customer, created int64) string, t tally) error {
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
	b := p.with(list)
	c := filter.All(p.x.kindIn("o.kind", list), p.rest)
	return store.Each(ctx, p.x.q, func(scan store.Scan) error {
		var kn, customer, created int64
		var key string
		err := scan(&kn, &customer, &created, &key)
		if err == nil {
			k := byN[kn]
			t.at(group(k, customer, created), k.key.currency).addKey(key)
		}
		return err
	}, "SELECT o.kind, o.customer, o.created_us, o.amount_key FROM index_op o "+b.x.by("index_op_kind")+"WHERE "+c.SQL, c.Args...)
}

// groups turns the tally into groups, the largest first.
func (t tally) groups() []index.Group {
	by := map[string]*index.Group{}
	for k, v := range t {
		if v.count == 0 {
			continue
		}
		g := by[k[0]]
		if g == nil {
			g = &index.Group{Key: untrusted.Text(k[0])}
			by[k[0]] = g
		}
		g.Count += v.count
		g.Sums = append(g.Sums, v.sum(k[1]))
	}
	var out []index.Group
	for _, g := range by {
		slices.SortFunc(g.Sums, func(a, b index.Sum) int { return cmp.Compare(a.Currency, b.Currency) })
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b index.Group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Key, b.Key))
	})
	return out
}
