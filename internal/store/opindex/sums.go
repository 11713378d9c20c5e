package opindex

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"time"

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

// shares divide a kept sum of a day or a customer by kind, so that a sum over any kinds needs no row.
//
// They are stored packed: for each kind in order, as varints, how much its number exceeds the last one, then count
// and sums. They are known if they add up to the kept sum; those of earlier builds are empty.
type shares map[int64]sums

func (s shares) add(kind int64, v sums, sign int64) {
	have := s[kind]
	have.add(v, sign)
	s[kind] = have
}

// none reports whether no share differs from zero.
func (s shares) none() bool {
	for _, v := range s {
		if v != (sums{}) {
			return false
		}
	}
	return true
}

// onto adds s to the packed shares of a kept sum. Unknown ones become empty: they stay unknown while the sum has rows.
func (s shares) onto(packed []byte, whole sums) []byte {
	more := slices.Sorted(maps.Keys(s))
	out := packer{buf: make([]byte, 0, len(packed)+16*len(more))}
	known := eachShare(packed, whole, func(kind int64, v sums) {
		for ; len(more) > 0 && more[0] < kind; more = more[1:] {
			out.put(more[0], s[more[0]])
		}
		if len(more) > 0 && more[0] == kind {
			v.add(s[kind], 1)
			more = more[1:]
		}
		out.put(kind, v)
	})
	if !known {
		return []byte{}
	}
	for _, kind := range more {
		out.put(kind, s[kind])
	}
	return out.buf
}

// packer packs shares in the order of kinds.
type packer struct {
	buf  []byte
	last int64
}

func (p *packer) put(kind int64, v sums) {
	if v == (sums{}) {
		return
	}
	p.buf = binary.AppendUvarint(p.buf, uint64(kind-p.last))
	for _, part := range [...]int64{v.ops, v.hi, v.lo, v.nanos} {
		p.buf = binary.AppendVarint(p.buf, part)
	}
	p.last = kind
}

// eachShare calls fn for each packed share, in the order of kinds, and reports whether they add up to whole.
func eachShare(packed []byte, whole sums, fn func(kind int64, v sums)) (known bool) {
	kind := int64(0)
	for len(packed) > 0 {
		more, n := binary.Uvarint(packed)
		if n <= 0 {
			return false
		}
		packed, kind = packed[n:], kind+int64(more)
		var v [4]int64
		for i := range v {
			if v[i], n = binary.Varint(packed); n <= 0 {
				return false
			}
			packed = packed[n:]
		}
		share := sums{v[0], v[1], v[2], v[3]}
		whole.add(share, -1)
		fn(kind, share)
	}
	return whole == sums{}
}

// errUnknown ends a query: the shares of a kept sum are not known.
var errUnknown = errors.New("index: unknown shares")

// slot is what the kind decides of a group.
type slot struct {
	key   tallyKey
	flags int64
}

// slots divides the plan's kinds: the slots, and the one of each kind.
func (p *opPlan) slots(groups []grouping) (list []slot, of map[int64]int) {
	of = make(map[int64]int, len(p.kinds))
	at := map[slot]int{}
	for _, k := range p.kinds {
		s := slot{key: tallyKey{currency: k.key.currency}, flags: k.key.flags & flagUnusable}
		for i, g := range groups {
			if g.word != nil {
				s.key.groups[i] = g.word(k.key)
			}
		}
		n, ok := at[s]
		if !ok {
			n = len(list)
			at[s] = n
			list = append(list, s)
		}
		of[k.n] = n
	}
	return list, of
}

// tallyShares sums from the shares of kept sums, by day or customer and by codes; known is false if those of a sum are
// not known. Nothing but kinds may be filtered.
func (p *opPlan) tallyShares(ctx context.Context, groups []grouping, t tally) (known bool, err error) {
	number := slices.IndexFunc(groups, func(g grouping) bool { return g.word == nil })
	slots, of := p.slots(groups)
	parts, used := make([]sums, len(slots)), make([]int, 0, len(slots))
	err = store.Each(ctx, p.x.q, func(scan store.Scan) error {
		var item int64
		var whole sums
		var packed []byte
		if err := scan(&item, &whole.ops, &whole.hi, &whole.lo, &whole.nanos, &packed); err != nil {
			return err
		}
		if !eachShare(packed, whole, func(kind int64, v sums) {
			n, ok := of[kind]
			if !ok {
				return
			}
			if parts[n] == (sums{}) {
				used = append(used, n)
			}
			parts[n].add(v, 1)
		}) {
			return errUnknown
		}
		name := groups[number].name(item)
		for _, n := range used {
			key := slots[n].key
			key.groups[number] = name
			t.sum(key).add(parts[n], slots[n].flags)
			parts[n] = sums{}
		}
		used = used[:0]
		return nil
	}, "SELECT item, ops, hi, lo, nanos, shares FROM index_sum WHERE scope = ? AND dim = ? AND ops > 0", p.x.scope,
		groups[number].kept)
	if errors.Is(err, errUnknown) {
		clear(t)
		return false, nil
	}
	return true, err
}

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
