package opindex

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/store"
)

// known is the stored state of an operation.
type known struct {
	n, updated, updatedNs                 int64
	seen, changed, doubt, doubtAt, digest int64
	origin                                index.Origin
}

// batch is a Put in progress.
type batch struct {
	x       *Store
	tx      *store.Tx
	now     int64 // the store's time in µs
	known   map[string]*known
	absent  map[string]*absent
	back    map[string]*absent // those that return to the list
	write   map[string]*opRow  // by opid: the new row
	confirm []*opRow           // unchanged, only read again
	doubt   map[string]*opRow  // kept, but a read is due
	parties map[string]int64   // by key
	merged  index.Merged
	derives bool // the rows are derived again: no state is replaced
}

// Put merges a batch in one transaction.
func (x *Store) Put(ctx context.Context, in index.Batch) (index.Merged, error) {
	rows, err := newRows(in.Entries)
	if err != nil {
		return index.Merged{}, err
	}
	refused := len(in.Entries) - len(rows)
	var b *batch
	err = x.db.Write(ctx, func(tx *store.Tx) error {
		b = newBatch(x, tx)
		return b.run(ctx, rows, in)
	})
	if err != nil {
		return index.Merged{}, err
	}
	b.merged.Refused = refused
	return b.merged, nil
}

func newBatch(x *Store, tx *store.Tx) *batch {
	return &batch{x: x, tx: tx, known: map[string]*known{}, absent: map[string]*absent{}, back: map[string]*absent{},
		write: map[string]*opRow{}, doubt: map[string]*opRow{}, parties: map[string]int64{}}
}

func (b *batch) run(ctx context.Context, rows []*opRow, in index.Batch) error {
	if err := b.tx.Lock(ctx, writeLock); err != nil {
		return err
	}
	now, err := b.tx.Now(ctx)
	if err != nil {
		return err
	}
	b.now = now.UnixMicro()
	if err := b.load(ctx, rows); err != nil {
		return err
	}
	if err := b.loadAbsent(ctx, rows); err != nil {
		return err
	}
	for _, r := range rows {
		r.seen = min(r.seen, b.now)
		b.decide(r)
	}
	for _, step := range []func(context.Context) error{b.confirmSeen, b.markDoubt, b.comeBack,
		func(ctx context.Context) error { return b.remove(ctx, in.Gone) },
		func(ctx context.Context) error { return b.noteAsked(ctx, in.Asked) },
		func(ctx context.Context) error { return b.swap(ctx, in.Swap) }, b.merge} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// merge writes new and changed rows.
func (b *batch) merge(ctx context.Context) error {
	if len(b.write) == 0 && b.merged.Gone == 0 {
		return nil
	}
	// in a fixed order, so that neighbours stay together
	list := slices.SortedFunc(maps.Values(b.write), func(a, c *opRow) int {
		return cmp.Or(cmp.Compare(c.created, a.created), cmp.Compare(a.opid, c.opid))
	})
	for _, step := range []func(context.Context, []*opRow) error{b.number, b.replaceOld, b.nameParties, b.insert} {
		if err := step(ctx, list); err != nil {
			return err
		}
	}
	return b.x.bump(ctx, b.tx)
}

func (b *batch) load(ctx context.Context, rows []*opRow) error {
	folded := make([]string, len(rows))
	for i, r := range rows {
		folded[i] = filter.FoldID(r.opid)
	}
	return store.EachIn(ctx, b.tx, folded, func(scan store.Scan) error {
		var opid string
		k := &known{}
		err := scan(&opid, &k.n, &k.updated, &k.updatedNs, &k.seen, &k.changed, &k.doubt, &k.doubtAt, &k.digest, &k.origin)
		b.known[opid] = k
		return err
	}, `SELECT o.opid, o.n, o.updated_us, o.updated_ns, s.seen_us, o.changed_us, o.doubt, o.doubt_us, o.digest, o.origin
		FROM index_op o JOIN index_sight s ON s.n = o.n WHERE o.scope = ? AND o.opid_fold IN`, b.x.scope)
}

// confirmSeen records that the service still reports the same; a due read is done thereby. It writes only the changed
// ones of the wide rows.
func (b *batch) confirmSeen(ctx context.Context) error {
	bySight, byState := map[int64][]int64{}, map[[3]int64][]int64{}
	for _, r := range b.confirm {
		k := b.known[r.opid]
		if r.seen != k.seen {
			bySight[r.seen] = append(bySight[r.seen], k.n)
		}
		if at := r.doubtAt * min(r.doubt, 1); r.origin != k.origin || r.doubt != k.doubt || at != k.doubtAt {
			state := [3]int64{int64(r.origin), r.doubt, at}
			byState[state] = append(byState[state], k.n)
		}
	}
	for seen, ns := range bySight {
		if err := store.ExecIn(ctx, b.tx, ns, "UPDATE index_sight SET seen_us = ? WHERE n IN", seen); err != nil {
			return err
		}
	}
	for k, ns := range byState {
		if err := store.ExecIn(ctx, b.tx, ns, "UPDATE index_op SET origin = ?, doubt = ?, doubt_us = ? WHERE n IN", k[0],
			k[1], k[2]); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) markDoubt(ctx context.Context) error {
	for opid, r := range b.doubt {
		k := b.known[opid]
		if k == nil {
			if err := b.x.announce(ctx, b.tx, opid, r.changed); err != nil {
				return err
			}
			continue
		}
		if err := b.tx.Exec(ctx, "UPDATE index_op SET doubt = ?, doubt_us = ? WHERE n = ?",
			r.doubt, r.doubtAt, k.n); err != nil {
			return err
		}
	}
	return nil
}

// replaceOld moves the replaced states from the tables to the history.
func (b *batch) replaceOld(ctx context.Context, list []*opRow) error {
	var ns []int64
	var opids []string
	for _, r := range list {
		k := b.known[r.opid]
		if k == nil {
			continue
		}
		ns, opids = append(ns, k.n), append(opids, r.opid)
	}
	if len(ns) == 0 {
		return nil
	}
	if !b.derives {
		if err := b.keepHistory(ctx, ns, opids); err != nil {
			return err
		}
	}
	return b.drop(ctx, ns)
}

// drop removes rows from the tables.
func (b *batch) drop(ctx context.Context, ns []int64) error {
	for _, table := range []string{"index_op", "index_raw", "index_sight"} {
		if err := store.ExecIn(ctx, b.tx, ns, "DELETE FROM "+table+" WHERE n IN"); err != nil {
			return err
		}
	}
	return nil
}

// number assigns numbers to new operations, in the order of the list, before the replaced rows leave the table: those
// keep theirs.
func (b *batch) number(ctx context.Context, list []*opRow) error {
	next, err := b.next(ctx, "index_op")
	if err != nil {
		return err
	}
	for _, r := range list {
		if k := b.known[r.opid]; k != nil {
			r.n = k.n
			continue
		}
		r.n = next
		next++
	}
	return nil
}

func (b *batch) next(ctx context.Context, table string) (n int64, err error) {
	err = b.tx.QueryRow(ctx, "SELECT COALESCE(MAX(n), 0) + 1 FROM "+table).Scan(&n)
	return n, err
}

func (b *batch) insert(ctx context.Context, list []*opRow) error {
	for _, table := range []struct {
		into  string
		width int
		row   func(r *opRow) []any
	}{
		{"INSERT INTO index_op (" + opColumns + ")", opWidth, func(r *opRow) []any { return r.values(b.x.scope) }},
		{"INSERT INTO index_raw (n, body)", 2, func(r *opRow) []any { return []any{r.n, r.raw} }},
		{"INSERT INTO index_sight (n, scope, seen_us)", 3, func(r *opRow) []any { return []any{r.n, b.x.scope, r.seen} }},
	} {
		rows := b.tx.NewInserter(table.into, table.width)
		for _, r := range list {
			if err := rows.Add(ctx, table.row(r)...); err != nil {
				return err
			}
		}
		if err := rows.Flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// trust is how many reads may step backwards before the older state is accepted.
const trust = 5

// decide chooses the current state: the newest by updatedAt. If that is ambiguous (a tie with other content, a step
// backwards, an answer that overtook a later one), a single read becomes due.
func (b *batch) decide(r *opRow) {
	now := *r // the state before r: the batch's own row, or the stored one
	prev, has := b.write[r.opid]
	if has {
		now = *prev
	} else if k := b.known[r.opid]; k != nil {
		now = opRow{updated: k.updated, updatedNs: k.updatedNs, digest: k.digest, doubt: k.doubt, origin: k.origin,
			seen: k.seen, changed: k.changed}
		has = true
	}
	if r.owed {
		r.doubt, r.doubtAt = 1, r.changed
	}
	if !has {
		b.arrive(r)
		return
	}
	order := cmp.Or(cmp.Compare(r.updated, now.updated), cmp.Compare(r.updatedNs, now.updatedNs))
	if r.origin == index.Hook {
		r.seen = now.seen // what it does not report keeps its age
	}
	switch {
	case r.digest == now.digest && order == 0:
		b.merged.Same++
		switch {
		case prev == nil && r.seen >= now.seen:
			b.confirm = append(b.confirm, r)
		case prev != nil:
			prev.seen = max(prev.seen, r.seen)
		}
	case order > 0, order == 0 && r.origin == index.Read && r.seen >= now.seen,
		order == 0 && now.origin == index.Hook && r.origin != index.Hook:
		b.replace(r)
	case order == 0 && r.origin == index.List && r.seen >= now.seen:
		r.doubt, r.doubtAt = max(r.doubt, 1), r.seen
		b.replace(r)
	case order < 0 && r.origin == index.Read && now.doubt > trust && r.seen >= now.seen:
		b.replace(r)
	default:
		b.older(r, prev, now.doubt)
	}
}

func (b *batch) replace(r *opRow) {
	if _, mine := b.write[r.opid]; !mine {
		b.merged.Changed++
		b.touch(r.opid)
	}
	b.write[r.opid] = r
	delete(b.doubt, r.opid)
}

// older keeps the current state and makes a read due: at once, or later each time that a read stepped backwards.
func (b *batch) older(r, prev *opRow, doubt int64) {
	b.merged.Older++
	at := r.changed
	doubt = max(doubt, 1)
	if r.origin == index.Read {
		at += int64(10*time.Second/time.Microsecond) << min(doubt, 8)
		doubt++
	}
	if prev != nil {
		prev.doubt, prev.doubtAt = doubt, at
		return
	}
	r.doubt, r.doubtAt = doubt, at
	b.doubt[r.opid] = r
}

func (b *batch) touch(opid string) {
	if len(b.merged.Touched) < 1000 {
		b.merged.Touched = append(b.merged.Touched, opid)
	}
}
