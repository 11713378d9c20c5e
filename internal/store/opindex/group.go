package opindex

import (
	"cmp"
	"context"
	"math/big"
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

// grouping divides rows by a word of their kind, or by a number of their own.
type grouping struct {
	by    index.By
	word  func(kindKey) string // nil: by number
	expr  string               // the number, of index_op o
	kept  string               // the kept sums in index_sum by that number; empty: none
	name  func(int64) string   // of a number as a key
	party bool                 // the number refers to index_party
}

// key is the group of a row that has this kind and number.
func (g grouping) key(k kindKey, n int64) string {
	if g.word != nil {
		return g.word(k)
	}
	return g.name(n)
}

func (x *Store) groupings(by []index.By) ([]grouping, error) {
	if err := index.CheckBy(by); err != nil {
		return nil, err
	}
	var out []grouping
	for _, b := range by {
		g := grouping{by: b, word: codes[string(b)], name: number}
		switch b {
		case index.ByCustomer:
			g.expr, g.kept, g.party = "o.customer", dimCustomer, true
		case index.ByCounterparty:
			g.expr, g.party = "o.destination", true
		case index.ByDay, index.ByWeek, index.ByMonth:
			g.expr, g.kept, g.name = x.every(24*time.Hour), dimDay, timeKeys[b]
		}
		out = append(out, g)
	}
	return out, nil
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// timeKeys maps a number to the key of its day, week or month; a row without a time has the first day.
var timeKeys = map[index.By]func(int64) string{
	index.ByDay:   func(n int64) string { return dated(n, time.DateOnly) },
	index.ByWeek:  func(n int64) string { return dated(dayOf(index.Monday(dayTime(n)).UnixMicro()), time.DateOnly) },
	index.ByMonth: func(n int64) string { return dated(n, "2006-01") },
}

func dayTime(n int64) time.Time { return time.Unix(n*86400, 0).UTC() }

// undated is the day of an operation without a time.
var undated = dayOf(time.Time{}.UnixMicro())

func dated(n int64, layout string) string {
	if n <= undated {
		return ""
	}
	return dayTime(n).Format(layout)
}

// every is the SQL for the number of the period of a row's creation, since 1970: both engines truncate integer
// division towards zero.
func (x terms) every(period time.Duration) string {
	us := strconv.FormatInt(period.Microseconds(), 10)
	return "(o.created_us - ((o.created_us % " + us + ") + " + us + ") % " + us + ") / " + us
}

// Totals sums and counts all matching rows, divided by the groupings.
func (x *Store) Totals(ctx context.Context, f filter.OperationExpr, by []index.By, limit int,
	now time.Time) (index.Group, error) {
	groups, err := x.groupings(by)
	if err != nil {
		return index.Group{}, err
	}
	p, err := x.plan(ctx, f, now)
	if err != nil || p.none() {
		return index.Group{}, err
	}
	t, err := p.tally(ctx, groups)
	if err != nil {
		return index.Group{}, err
	}
	names := map[string]partyName{}
	for i, g := range groups {
		if g.party {
			if t, err = x.joinParties(ctx, t, i, names); err != nil {
				return index.Group{}, err
			}
		}
	}
	return t.divide(groups, 0, names, limit), nil
}

// tally sums by group and currency, from kept sums if they suffice.
func (p *opPlan) tally(ctx context.Context, groups []grouping) (tally, error) {
	t := tally{}
	numbers := slices.DeleteFunc(slices.Clone(groups), func(g grouping) bool { return g.word != nil })
	var err error
	switch {
	case len(numbers) == 0 && p.pure:
		for _, k := range p.kinds {
			t.at(groups, k.key, nil).add(k.sum, k.key.flags)
		}
	case len(groups) == 1 && len(numbers) == 1 && numbers[0].kept != "" && p.pure && p.all && !p.flagged(flagUnusable):
		err = p.kept(ctx, numbers[0].kept, func(item int64, currency string, s sums) {
			t.at(groups, kindKey{currency: currency}, []int64{item}).add(s, 0)
		})
	default:
		known := false
		if len(numbers) == 1 && numbers[0].kept != "" && p.pure {
			known, err = p.tallyShares(ctx, groups, t)
		}
		if err == nil && !known {
			err = p.tallyRows(ctx, groups, numbers, t)
		}
	}
	if err != nil {
		return nil, err
	}
	return t, p.bigOnes(ctx, groups, numbers, t)
}

// tallyRows sums rows by their numbers and by their kind, which has the currency.
func (p *opPlan) tallyRows(ctx context.Context, groups, numbers []grouping, t tally) error {
	byN := map[int64]kind{}
	for _, k := range p.kinds {
		byN[k.n] = k
	}
	const shift = 1 << 24 // more than there are kinds
	var exprs []string
	for i, g := range numbers {
		if i < len(numbers)-1 {
			exprs = append(exprs, g.expr)
		} else {
			exprs = append(exprs, "("+g.expr+") * "+strconv.Itoa(shift)+" + o.kind")
		}
	}
	if len(exprs) == 0 {
		exprs = []string{"o.kind"}
	}
	return p.sums(ctx, exprs, p.where(), func(items []int64, s sums) {
		kn := ((items[len(items)-1] % shift) + shift) % shift
		items[len(items)-1] = (items[len(items)-1] - kn) / shift
		if k, ok := byN[kn]; ok {
			t.at(groups, k.key, items).add(s, k.key.flags)
		}
	})
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

// partyName is the display name of a party.
type partyName struct{ id, name string }

// joinParties replaces the numbers of grouping i by identifiers: parties with one identifier are one group, whatever
// their names. names maps the keys to parties.
func (x *Store) joinParties(ctx context.Context, t tally, i int, names map[string]partyName) (tally, error) {
	numbers := map[int64]bool{}
	for k := range t {
		n, _ := strconv.ParseInt(k.groups[i], 10, 64) // groups by number have numeric keys
		numbers[n] = true
	}
	ns := make([]int64, 0, len(numbers))
	for n := range numbers {
		ns = append(ns, n)
	}
	slices.Sort(ns) // of several names of one identifier the latest is shown
	keys, last := map[string]string{}, map[string]int64{}
	err := store.EachIn(ctx, x.q, ns, func(scan store.Scan) error {
		var n int64
		var w partyName
		err := scan(&n, &w.id, &w.name)
		key := "id " + w.id
		if w.id == "" {
			key = "name " + w.name
		}
		keys[number(n)] = key
		if prev, ok := names[key]; !ok || w.name != "" && (n >= last[key] || prev.name == "") {
			names[key], last[key] = w, n
		}
		return err
	}, "SELECT n, id, name FROM index_party WHERE n IN")
	if err != nil {
		return nil, err
	}
	out := tally{}
	for k, v := range t {
		k.groups[i] = keys[k.groups[i]]
		out.sum(k).join(v)
	}
	return out, nil
}

// divide makes one group of the tally, divided by the groupings from depth on.
func (t tally) divide(groups []grouping, depth int, names map[string]partyName, limit int) index.Group {
	whole := map[string]*total{}
	parts := map[string]tally{}
	for k, v := range t {
		if v.count == 0 {
			continue
		}
		if whole[k.currency] == nil {
			whole[k.currency] = &total{}
		}
		whole[k.currency].join(v)
		if depth < len(groups) {
			key := k.groups[depth]
			if parts[key] == nil {
				parts[key] = tally{}
			}
			parts[key][k] = v
		}
	}
	var out index.Group
	for currency, v := range whole {
		out.Count += v.count
		out.Sums = append(out.Sums, v.sum(currency))
	}
	slices.SortFunc(out.Sums, func(a, b index.Sum) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Currency, b.Currency))
	})
	for key, part := range parts {
		g := part.divide(groups, depth+1, names, limit)
		g.Key = untrusted.Text(key)
		if groups[depth].party {
			g.Key, g.Name = untrusted.Text(names[key].id), untrusted.Text(names[key].name)
		}
		out.Parts = append(out.Parts, g)
	}
	if depth < len(groups) {
		sortGroups(out.Parts, groups[depth].by)
	}
	if limit > 0 && len(out.Parts) > limit {
		out.More = len(out.Parts) - limit
		out.Parts = out.Parts[:limit]
	}
	return out
}

// sortGroups sorts the largest groups first, times newest first.
func sortGroups(list []index.Group, by index.By) {
	slices.SortFunc(list, func(a, b index.Group) int {
		same := cmp.Or(strings.Compare(string(a.Key), string(b.Key)), strings.Compare(string(a.Name), string(b.Name)))
		if by.NewestFirst() {
			return -same
		}
		return cmp.Or(cmp.Compare(b.Count, a.Count), same)
	})
}

// Timeline counts by time of creation.
func (x *Store) Timeline(ctx context.Context, f filter.OperationExpr, now time.Time) (index.Timeline, error) {
	var out index.Timeline
	p, err := x.plan(ctx, f, now)
	if err != nil || p.none() {
		return out, err
	}
	counts := map[int64]int64{}
	add := func(item, ops int64) { counts[item] += ops }
	if p.pure && p.all {
		err = p.kept(ctx, dimDay, func(item int64, _ string, s sums) { add(item, s.ops) })
	} else {
		err = p.countEvery(ctx, 24*time.Hour, add)
	}
	if err != nil {
		return out, err
	}
	out.Undated = counts[undated]
	delete(counts, undated)
	out.Days = periods(counts, 24*time.Hour)
	if n := len(out.Days); n == 0 || out.Days[n-1].Date.Sub(out.Days[0].Date) > index.ShortSpan*24*time.Hour {
		return out, nil
	}
	counts = map[int64]int64{}
	err = p.countEvery(ctx, time.Hour, add)
	first := out.Days[0].Date.Unix() / 3600
	for item := range counts {
		if item < first {
			delete(counts, item)
		}
	}
	out.Hours = periods(counts, time.Hour)
	return out, err
}

// periods returns counts by period, oldest first.
func periods(counts map[int64]int64, period time.Duration) []index.Day {
	var out []index.Day
	for item, n := range counts {
		out = append(out, index.Day{Date: time.Unix(item*int64(period/time.Second), 0).UTC(), Count: n})
	}
	slices.SortFunc(out, func(a, b index.Day) int { return a.Date.Compare(b.Date) })
	return out
}

func (p *opPlan) countEvery(ctx context.Context, period time.Duration, add func(item, ops int64)) error {
	q := p.query(p.x.every(period)+", count(*)", "index_op_created")
	if p.driver.SQL == "" && p.pure && !p.all { // the index of kinds has everything needed
		c := p.x.kindIn("o.kind", p.kinds)
		q = cond("SELECT "+p.x.every(period)+", count(*) FROM index_op o "+p.x.by("index_op_kind")+"WHERE "+c.SQL, c.Args...)
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

// Values lists values of a field that contain what was typed, codes by frequency, names alphabetically.
func (x *Store) Values(ctx context.Context, of, typed string, limit int) ([]string, error) {
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
		return store.List(ctx, x.q, store.Value[string],
			"SELECT DISTINCT name FROM index_party "+x.by("index_party_sort")+"WHERE scope = ? AND name <> '' AND "+
				x.engine.Instr+"(sort, ?) > 0"+more+" ORDER BY 1 LIMIT ?", x.scope, want, limit)
	case field.OpID:
		c := filter.Prefix("opid_fold", want)
		return store.List(ctx, x.q, store.Value[string], "SELECT opid FROM index_op "+x.by("index_op_id")+
			"WHERE scope = ? AND "+c.SQL+" ORDER BY opid_fold LIMIT ?", append(append([]any{x.scope}, c.Args...), limit)...)
	case field.OpReference:
		c := filter.Prefix("substr(reference, 1, 100)", want)
		return store.List(ctx, x.q, store.Value[string], "SELECT DISTINCT substr(reference, 1, 100) FROM index_op "+
			x.by("index_op_reference")+"WHERE scope = ? AND reference <> '' AND "+c.SQL+" ORDER BY 1 LIMIT ?",
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
		if want == "" || strings.Contains(filter.Fold(v), want) {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
	return out[:min(len(out), limit)]
}

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
