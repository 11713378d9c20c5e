package opindex

import (
	"context"
	"errors"
	"slices"

	"opdeck/internal/store"
)

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
