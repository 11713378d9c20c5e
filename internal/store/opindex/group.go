package opindex

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/apd/v3"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/internal/store"
)

// Groups counts and sums by a value; the largest first, days the newest first.
func (x *Index) Groups(ctx context.Context, f filter.OperationExpr, by index.By, limit int, now time.Time) ([]index.Group, error) {
	p, err := x.plan(ctx, f, now)
	if err != nil || p.none() {
		return nil, err
	}
	var t tally
	switch by {
	case index.ByCustomer:
		t, err = p.tallyBy(ctx, "customer", "o.customer")
	case index.ByDay:
		t, err = p.tallyBy(ctx, "day", dayExpr(x))
	default:
		get, ok := codes[string(by)]
		if !ok {
			return nil, fmt.Errorf("index: rows cannot be grouped by %q", by)
		}
		t, err = p.tally(ctx, get)
	}
	if err != nil {
		return nil, err
	}
	groups := t.groups()
	switch by {
	case index.ByDay:
		slices.SortFunc(groups, func(a, b index.Group) int { return cmp.Compare(itemNumber(b.Key), itemNumber(a.Key)) })
	case index.ByCustomer:
		if groups, err = x.customers(ctx, groups); err != nil {
			return nil, err
		}
	}
	if limit > 0 && len(groups) > limit {
		groups = groups[:limit]
	}
	if by == index.ByDay {
		for i := range groups {
			groups[i].Key = untrusted.Text(time.Unix(itemNumber(groups[i].Key)*86400, 0).UTC().Format(time.DateOnly))
		}
	}
	return groups, nil
}

func itemNumber(s untrusted.Text) int64 {
	n, _ := strconv.ParseInt(string(s), 10, 64) // made by tallyBy
	return n
}

// dayExpr is dayOf in SQL: both engines cut integer division towards zero.
func dayExpr(x *Index) string {
	const us = "86400000000"
	return "(o.created_us - ((o.created_us % " + us + ") + " + us + ") % " + us + ") / " + us
}

// tallyBy sums by a number: from the kept sums when nothing is filtered.
func (p *opPlan) tallyBy(ctx context.Context, dim, expr string) (tally, error) {
	t := tally{}
	key := func(n int64) string { return strconv.FormatInt(n, 10) }
	if p.pure && p.all && !p.flagged(flagBad) {
		if err := p.kept(ctx, dim, func(item int64, currency string, s sums) { t.at(key(item), currency).add(s, 0) }); err != nil {
			return nil, err
		}
	} else if err := p.tallyKinds(ctx, expr, key, t); err != nil {
		return nil, err
	}
	return t, p.bigOnes(ctx, func(_ kind, customer, created int64) string {
		if dim == "day" {
			return key(dayOf(created))
		}
		return key(customer)
	}, t)
}

func (p *opPlan) flagged(bit int64) bool {
	return slices.ContainsFunc(p.kinds, func(k kind) bool { return k.key.flags&bit != 0 })
}

func (p *opPlan) kept(ctx context.Context, dim string, f func(item int64, currency string, s sums)) error {
	return store.Each(ctx, p.x.q, func(scan store.Scan) error {
		var item int64
		var currency string
		var s sums
		err := scan(&item, &currency, &s.ops, &s.hi, &s.lo, &s.nanos)
		if err == nil {
			f(item, currency, s)
		}
		return err
	}, "SELECT item, currency, ops, hi, lo, nanos FROM index_sum WHERE scope = ? AND dim = ? AND ops > 0", p.x.scope, dim)
}

// tallyKinds sums rows by the number and their kind, which has the currency.
func (p *opPlan) tallyKinds(ctx context.Context, expr string, key func(int64) string, t tally) error {
	byN := map[int64]kind{}
	for _, k := range p.kinds {
		byN[k.n] = k
	}
	const shift = 1 << 24 // more kinds than that there are not
	c := p.where()
	return p.sums(ctx, "("+expr+") * "+strconv.Itoa(shift)+" + o.kind", c, func(item int64, s sums) {
		kn := ((item % shift) + shift) % shift
		if k, ok := byN[kn]; ok {
			t.at(key((item-kn)/shift), k.key.currency).add(s, k.key.flags)
		}
	})
}

// customers names the groups and joins those with the same identifier.
func (x *Index) customers(ctx context.Context, groups []index.Group) ([]index.Group, error) {
	type who struct{ id, name string }
	names := map[string]who{}
	ns := make([]int64, len(groups))
	for i, g := range groups {
		ns[i] = itemNumber(g.Key)
	}
	err := store.EachIn(ctx, x.q, ns, func(scan store.Scan) error {
		var n int64
		var w who
		err := scan(&n, &w.id, &w.name)
		names[strconv.FormatInt(n, 10)] = w
		return err
	}, "SELECT n, id, name FROM index_party WHERE n IN")
	if err != nil {
		return nil, err
	}
	at := map[who]int{}
	var out []index.Group
	for _, g := range groups {
		w := names[string(g.Key)]
		same := w
		if w.id != "" {
			same.name = ""
		}
		g.Key, g.Name = untrusted.Text(w.id), untrusted.Text(w.name)
		if i, ok := at[same]; ok {
			out[i] = joinGroups(out[i], g)
			continue
		}
		at[same] = len(out)
		out = append(out, g)
	}
	slices.SortStableFunc(out, func(a, b index.Group) int { return cmp.Compare(b.Count, a.Count) })
	return out, nil
}

// Days counts by day of creation, oldest first, ending with today.
func (x *Index) Days(ctx context.Context, f filter.OperationExpr, n int, now time.Time) ([]index.Day, error) {
	p, err := x.plan(ctx, f, now)
	if err != nil {
		return nil, err
	}
	today := dayOf(now.UnixMicro())
	first := today - int64(n) + 1
	out := make([]index.Day, n)
	for i := range out {
		out[i].Date = time.Unix((first+int64(i))*86400, 0).UTC()
	}
	add := func(item int64, ops int64) {
		if i := item - first; i >= 0 && i < int64(n) {
			out[i].Count += ops
		}
	}
	switch {
	case p.none():
	case p.pure && p.all:
		err = p.kept(ctx, "day", func(item int64, _ string, s sums) { add(item, s.ops) })
	default:
		err = p.countDays(ctx, first, add)
	}
	return out, err
}

func (p *opPlan) countDays(ctx context.Context, first int64, add func(item, ops int64)) error {
	recent := cond("o.created_us >= ?", first*int64(24*time.Hour/time.Microsecond))
	q := p.query(dayExpr(p.x)+", count(*)", "index_op_created", recent)
	if p.driver.SQL == "" && p.pure { // the index of kinds has all that is asked for
		c := filter.All(p.x.kindIn("o.kind", p.kinds), recent)
		q = cond("SELECT "+dayExpr(p.x)+", count(*) FROM index_op o "+p.x.by("index_op_kind")+"WHERE "+c.SQL, c.Args...)
	}
	return store.Each(ctx, p.x.q, func(scan store.Scan) error {
		var item, ops int64
		err := scan(&item, &ops)
		if err == nil {
			add(item, ops)
		}
		return err
	}, q.SQL+" GROUP BY 1", q.Args...)
}

// Values lists values of a field that hold what was typed, most frequent first
// for codes, in their order for names.
func (x *Index) Values(ctx context.Context, of, typed string, limit int) ([]string, error) {
	if get, ok := codes[of]; ok || of == filter.FieldToCurrency {
		if !ok {
			get = func(k kindKey) string { return k.tocurrency }
		}
		kinds, err := x.loadKinds(ctx)
		if err != nil {
			return nil, err
		}
		return frequent(kinds, get, filter.Fold(typed), limit), nil
	}
	want := filter.Fold(typed)
	switch of {
	case field.OpCustomer, field.OpSource, field.OpDestination, filter.FieldParty:
		more := ""
		if of == field.OpCustomer {
			more = " AND id <> ''"
		}
		return store.List(ctx, x.q, store.Value[string], "SELECT DISTINCT name FROM index_party "+x.by("index_party_sort")+"WHERE scope = ? AND name <> '' AND "+x.engine.Instr+"(sort, ?) > 0"+more+" ORDER BY 1 LIMIT ?", x.scope, want, limit)
	case field.OpID:
		c := filter.Prefix("opid_fold", want)
		return store.List(ctx, x.q, store.Value[string], "SELECT opid FROM index_op "+x.by("index_op_id")+"WHERE scope = ? AND "+c.SQL+" ORDER BY opid_fold LIMIT ?", append(append([]any{x.scope}, c.Args...), limit)...)
	case field.OpReference:
		c := filter.Prefix("substr(reference, 1, 100)", want)
		return store.List(ctx, x.q, store.Value[string], "SELECT DISTINCT substr(reference, 1, 100) FROM index_op "+x.by("index_op_reference")+"WHERE scope = ? AND reference <> '' AND "+c.SQL+" ORDER BY 1 LIMIT ?",
			append(append([]any{x.scope}, c.Args...), limit)...)
	}
	return nil, nil
}

func frequent(kinds []kind, get func(kindKey) string, want string, limit int) []string {
	count := map[string]int64{}
	for _, k := range kinds {
		if v := get(k.key); v != "" {
			count[v] += k.sum.ops
		}
	}
	var out []string
	for v := range count {
		if want == "" || containsFold(v, want) {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
	return out[:min(len(out), limit)]
}

func containsFold(v, want string) bool { return strings.Contains(filter.Fold(v), want) }

// joinGroups adds b to a; both are of one customer under two names.
func joinGroups(a, b index.Group) index.Group {
	a.Count += b.Count
	sums := slices.Clone(a.Sums)
	for _, s := range b.Sums {
		i := slices.IndexFunc(sums, func(t index.Sum) bool { return t.Currency == s.Currency })
		if i < 0 {
			sums = append(sums, s)
			continue
		}
		sums[i].Count += s.Count
		sums[i].Bad += s.Bad
		sums[i].Amount = addExact(sums[i].Amount, s.Amount)
	}
	slices.SortFunc(sums, func(a, b index.Sum) int { return cmp.Compare(a.Currency, b.Currency) })
	a.Sums = sums
	return a
}

func addExact(a, b *apd.Decimal) *apd.Decimal {
	out := new(apd.Decimal)
	_, _ = apd.BaseContext.WithPrecision(0).Add(out, a, b) // precision 0 is exact
	return out
}
