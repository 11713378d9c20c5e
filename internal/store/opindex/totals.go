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

// grouping divides rows by an expression of index_op o.
type grouping struct {
	by    index.By
	expr  string
	name  func(day int64) string // of a day as a key; nil: the value is the key
	party bool                   // the value is the number of a party
}

func groupings(by []index.By) ([]grouping, error) {
	if err := index.CheckBy(by); err != nil {
		return nil, err
	}
	var out []grouping
	for _, b := range by {
		g := grouping{by: b}
		switch b {
		case index.ByCustomer:
			g.expr, g.party = "o.customer", true
		case index.ByCounterparty:
			g.expr, g.party = "o.destination", true
		case index.ByDay, index.ByWeek, index.ByMonth:
			g.expr, g.name = every(24*time.Hour), timeKeys[b]
		default:
			g.expr = "o." + codes[string(b)].column
		}
		out = append(out, g)
	}
	return out, nil
}

// timeKeys maps a day to the key of its day, week or month; a row without a time has the first day.
var timeKeys = map[index.By]func(int64) string{
	index.ByDay:   func(n int64) string { return dated(n, time.DateOnly) },
	index.ByWeek:  func(n int64) string { return dated(dayOf(index.Monday(dayTime(n)).UnixMicro()), time.DateOnly) },
	index.ByMonth: func(n int64) string { return dated(n, "2006-01") },
}

func dayTime(n int64) time.Time { return time.Unix(n*86400, 0).UTC() }

func dayOf(us int64) int64 {
	const dayUs = int64(24 * time.Hour / time.Microsecond)
	d := us / dayUs
	if us%dayUs < 0 {
		d--
	}
	return d
}

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
func every(period time.Duration) string {
	us := strconv.FormatInt(period.Microseconds(), 10)
	return "(o.created_us - ((o.created_us % " + us + ") + " + us + ") % " + us + ") / " + us
}

// Totals sums and counts all matching rows, divided by the groupings.
func (x *Store) Totals(ctx context.Context, f filter.OperationExpr, by []index.By, limit int,
	now time.Time) (index.Group, error) {
	groups, err := groupings(by)
	if err != nil {
		return index.Group{}, err
	}
	q, err := x.ask(ctx, f, now)
	if err != nil {
		return index.Group{}, err
	}
	t, err := q.tally(ctx, groups)
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

// tallyKey is a group of each grouping, and a currency.
type tallyKey struct {
	groups   [2]string
	currency string
}

// tally holds sums by group and currency.
type tally map[tallyKey]*total

// total is a sum in parts that do not overflow, and of large amounts in nanos of a unit.
type total struct {
	count, bad, hi, lo, nanos int64
	large                     *big.Int // nil: none
}

func (t tally) sum(k tallyKey) *total {
	if t[k] == nil {
		t[k] = &total{}
	}
	return t[k]
}

// join adds another sum.
func (t *total) join(o *total) {
	t.count, t.bad, t.hi, t.lo, t.nanos = t.count+o.count, t.bad+o.bad, t.hi+o.hi, t.lo+o.lo, t.nanos+o.nanos
	if o.large != nil {
		t.large = new(big.Int).Add(cmp.Or(t.large, new(big.Int)), o.large)
	}
}

// Amounts that are not summed in parts are grouped: those that are none together, large ones by their keys.
var amountGroup = "CASE WHEN (o.flags & " + strconv.Itoa(flagUnusable|flagBig) + ") = 0 THEN '' WHEN (o.flags & " +
	strconv.Itoa(flagBig) + ") = 0 THEN '" + filter.KeyBad + "' ELSE o.amount_key END"

// tally sums by group and currency.
func (q *question) tally(ctx context.Context, groups []grouping) (tally, error) {
	what, by := "", ""
	for i, g := range groups {
		what, by = what+g.expr+", ", by+strconv.Itoa(i+1)+", "
	}
	n := len(groups)
	c := q.selects(what+"o.currency, "+amountGroup+", count(*), CAST(sum(o.hi) AS BIGINT), CAST(sum(o.lo) AS BIGINT), "+
		"CAST(sum(o.nanos) AS BIGINT)", q.x.scan, "")
	t := tally{}
	return t, store.Each(ctx, q.x.q, func(scan store.Scan) error {
		var k tallyKey
		var amount string
		var s total
		to := append([]any{&k.groups[0], &k.groups[1]}[:n:n], &k.currency, &amount, &s.count, &s.hi, &s.lo, &s.nanos)
		if err := scan(to...); err != nil {
			return err
		}
		for i, g := range groups {
			if g.name != nil {
				day, err := strconv.ParseInt(k.groups[i], 10, 64)
				if err != nil {
					return err
				}
				k.groups[i] = g.name(day)
			}
		}
		if amount == filter.KeyBad {
			s.bad = s.count
		}
		if large, ok := keyNanos(amount); ok {
			s.large = large.Mul(large, big.NewInt(s.count))
		}
		t.sum(k).join(&s)
		return nil
	}, c.SQL+" GROUP BY "+by+strconv.Itoa(n+1)+", "+strconv.Itoa(n+2), c.Args...)
}

var bigBillion = big.NewInt(billion)

// keyNanos is the amount of a sort key in nanos.
func keyNanos(key string) (*big.Int, bool) {
	s, ok := filter.KeyDecimal(key)
	if !ok {
		return nil, false
	}
	whole, frac, _ := strings.Cut(s, ".")
	return new(big.Int).SetString(whole+frac+strings.Repeat("0", 9-len(frac)), 10)
}

func (t *total) sum(currency string) index.Sum {
	out := index.Sum{Currency: untrusted.Text(currency), Count: t.count, Bad: t.bad}
	if t.bad == t.count {
		return out
	}
	v := new(big.Int).Mul(big.NewInt(t.hi), bigBillion)
	v.Add(v, big.NewInt(t.lo)).Mul(v, bigBillion).Add(v, big.NewInt(t.nanos))
	if t.large != nil {
		v.Add(v, t.large)
	}
	d := apd.NewWithBigInt(new(apd.BigInt).SetMathBigInt(v), -9)
	d.Reduce(d)
	if d.Exponent > 0 {
		digits := d.NumDigits() + int64(d.Exponent)
		_, _ = apd.BaseContext.WithPrecision(uint32(digits)+1).Quantize(d, d, 0) // fits by construction
	}
	out.Amount = d
	return out
}

// partyName is the display name of a party.
type partyName struct{ id, name string }

// joinParties replaces the numbers of grouping i by identifiers: parties with one identifier are one group, whatever
// their names. names maps the keys to parties.
func (x *Store) joinParties(ctx context.Context, t tally, i int, names map[string]partyName) (tally, error) {
	numbers := map[int64]bool{}
	for k := range t {
		n, err := strconv.ParseInt(k.groups[i], 10, 64)
		if err != nil {
			return nil, err
		}
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
		keys[strconv.FormatInt(n, 10)] = key
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
	q, err := x.ask(ctx, f, now)
	if err != nil {
		return out, err
	}
	counts, err := q.countEvery(ctx, 24*time.Hour)
	if err != nil {
		return out, err
	}
	out.Undated = counts[undated]
	delete(counts, undated)
	out.Days = periods(counts, 24*time.Hour)
	if n := len(out.Days); n == 0 || out.Days[n-1].Date.Sub(out.Days[0].Date) > index.ShortSpan*24*time.Hour {
		return out, nil
	}
	if counts, err = q.countEvery(ctx, time.Hour); err != nil {
		return out, err
	}
	first := out.Days[0].Date.Unix() / 3600
	for item := range counts {
		if item < first {
			delete(counts, item)
		}
	}
	out.Hours = periods(counts, time.Hour)
	return out, nil
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

func (q *question) countEvery(ctx context.Context, period time.Duration) (map[int64]int64, error) {
	counts := map[int64]int64{}
	c := q.selects(every(period)+", count(*)", q.x.scan, "")
	return counts, store.Each(ctx, q.x.q, func(scan store.Scan) error {
		var item, n int64
		err := scan(&item, &n)
		counts[item] = n
		return err
	}, c.SQL+" GROUP BY 1", c.Args...)
}

// Values lists values of a field that contain what was typed, codes by frequency, names alphabetically.
func (x *Store) Values(ctx context.Context, of, typed string, limit int) ([]string, error) {
	want := filter.Fold(typed)
	if c, ok := codes[of]; ok {
		all, err := store.List(ctx, x.q, store.Value[string], "SELECT "+c.column+" FROM index_op WHERE scope = ? AND "+
			c.column+" <> '' GROUP BY 1 ORDER BY count(*) DESC, 1", x.scope)
		all = slices.DeleteFunc(all, func(v string) bool { return !strings.Contains(filter.Fold(v), want) })
		return all[:min(len(all), limit)], err
	}
	switch of {
	case field.OpCustomer, field.OpSource, field.OpDestination, filter.FieldParty:
		more := ""
		if of == field.OpCustomer {
			more = " AND id <> ''"
		}
		return store.List(ctx, x.q, store.Value[string], "SELECT DISTINCT name FROM index_party"+x.scan+
			" WHERE scope = ? AND name <> '' AND "+x.Instr+"(sort, ?) > 0"+more+" ORDER BY 1 LIMIT ?", x.scope, want, limit)
	case field.OpID:
		c := filter.Prefix("opid_fold", want)
		return store.List(ctx, x.q, store.Value[string], "SELECT opid FROM index_op WHERE scope = ? AND "+c.SQL+
			" ORDER BY opid_fold LIMIT ?", append(append([]any{x.scope}, c.Args...), limit)...)
	case field.OpCUID:
		c := filter.Prefix("id", strings.TrimSpace(typed))
		return store.List(ctx, x.q, store.Value[string], "SELECT DISTINCT id FROM index_party WHERE scope = ? AND "+
			c.SQL+" AND id <> '' ORDER BY 1 LIMIT ?", append(append([]any{x.scope}, c.Args...), limit)...)
	case field.OpReference:
		c := filter.Prefix("substr(reference, 1, 100)", want)
		return store.List(ctx, x.q, store.Value[string], "SELECT DISTINCT substr(reference, 1, 100) FROM index_op "+
			"WHERE scope = ? AND reference <> '' AND "+c.SQL+" ORDER BY 1 LIMIT ?",
			append(append([]any{x.scope}, c.Args...), limit)...)
	}
	return nil, nil
}
