package opindex

import (
	"bytes"
	"cmp"
	"context"
	_ "embed" // the dictionary
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/s2"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/store"
)

// known is the stored state of an operation.
type known struct {
	n, kind, customer, created, updated, updatedNs int64
	sum                                            sums
	seen, changed, doubt, doubtAt, digest          int64
	origin                                         index.Origin
	words                                          bool
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
	sums    map[sumKey]*change
	kinds   map[kindKey]int64
	parties map[string]int64
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
	x.remember(b)
	b.merged.Refused = refused
	return b.merged, nil
}

func newBatch(x *Store, tx *store.Tx) *batch {
	return &batch{x: x, tx: tx, known: map[string]*known{}, absent: map[string]*absent{}, back: map[string]*absent{},
		write: map[string]*opRow{}, doubt: map[string]*opRow{}, sums: map[sumKey]*change{}, kinds: map[kindKey]int64{},
		parties: map[string]int64{}}
}

// maxParties bounds the cached parties (about 200 bytes each).
const maxParties = 40_000

func (x *Store) remember(b *batch) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.parties)+len(b.parties) > maxParties {
		clear(x.parties)
	}
	maps.Copy(x.parties, b.parties)
	maps.Copy(x.kinds, b.kinds)
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

// merge writes new and changed rows and the sums.
func (b *batch) merge(ctx context.Context) error {
	if len(b.write) == 0 && b.merged.Gone == 0 {
		return nil
	}
	// in a fixed order, so that neighbours stay together
	list := slices.SortedFunc(maps.Values(b.write), func(a, c *opRow) int {
		return cmp.Or(cmp.Compare(c.created, a.created), cmp.Compare(a.opid, c.opid))
	})
	for _, step := range []func(context.Context, []*opRow) error{b.number, b.replaceOld, b.nameKinds, b.nameParties,
		b.insert, b.saveSums} {
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
		k := &known{sum: sums{ops: 1}}
		err := scan(&opid, &k.n, &k.kind, &k.customer, &k.created, &k.updated, &k.updatedNs, &k.sum.hi, &k.sum.lo,
			&k.sum.nanos, &k.seen, &k.changed, &k.doubt, &k.doubtAt, &k.digest, &k.origin, &k.words)
		b.known[opid] = k
		return err
	}, `SELECT o.opid, o.n, o.kind, o.customer, o.created_us, o.updated_us, o.updated_ns, o.hi, o.lo, o.nanos,
		s.seen_us, o.changed_us, o.doubt, o.doubt_us, o.digest, o.origin, `+hasWords+`
		FROM index_op o JOIN index_sight s ON s.n = o.n WHERE o.scope = ? AND o.opid_fold IN`, b.x.scope)
}

// hasWords reports whether a row has words of its own.
const hasWords = "reference <> '' OR comment <> '' OR doc_text <> ''"

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
	var ns, words []int64
	var opids []string
	for _, r := range list {
		k := b.known[r.opid]
		if k == nil {
			continue
		}
		ns, opids = append(ns, k.n), append(opids, r.opid)
		if k.words {
			words = append(words, k.n)
		}
	}
	if len(ns) == 0 {
		return nil
	}
	if !b.derives {
		if err := b.keepHistory(ctx, ns, opids); err != nil {
			return err
		}
	}
	return b.drop(ctx, ns, words)
}

// drop removes rows from the tables and the sums; words are those with words.
func (b *batch) drop(ctx context.Context, ns, words []int64) error {
	if err := b.subtract(ctx, ns); err != nil {
		return err
	}
	if err := store.ExecIn(ctx, b.tx, ns, "DELETE FROM index_op WHERE n IN"); err != nil {
		return err
	}
	if err := store.ExecIn(ctx, b.tx, ns, "DELETE FROM index_raw WHERE n IN"); err != nil || b.x.postgres() {
		return err
	}
	return store.ExecIn(ctx, b.tx, words, "DELETE FROM index_words WHERE rowid IN")
}

// subtract subtracts the old rows from the sums.
func (b *batch) subtract(ctx context.Context, ns []int64) error {
	return store.EachIn(ctx, b.tx, ns, func(scan store.Scan) error {
		var kind, customer, created int64
		var currency string
		s := sums{ops: 1}
		err := scan(&kind, &currency, &customer, &created, &s.hi, &s.lo, &s.nanos)
		if err == nil {
			b.count(kind, currency, customer, created, s, -1)
		}
		return err
	}, "SELECT o.kind, k.currency, o.customer, o.created_us, o.hi, o.lo, o.nanos "+
		"FROM index_op o JOIN index_kind k ON k.n = o.kind WHERE o.n IN")
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
	ops := b.tx.NewInserter("INSERT INTO index_op ("+opColumns+")", opWidth)
	raws := b.tx.NewInserter("INSERT INTO index_raw (n, body)", 2)
	for _, r := range list {
		if err := ops.Add(ctx, r.values(b.x.scope)...); err != nil {
			return err
		}
		b.count(r.kindN, r.kind.currency, r.customerN, r.created, r.sum, 1)
	}
	if err := ops.Flush(ctx); err != nil {
		return err
	}
	for _, r := range list {
		if err := raws.Add(ctx, r.n, r.raw); err != nil {
			return err
		}
	}
	if err := raws.Flush(ctx); err != nil {
		return err
	}
	if err := b.insertFrom(ctx, list, sightsOf); err != nil || b.x.postgres() {
		return err
	}
	return b.insertFrom(ctx, list, wordsOf)
}

// Rows of other tables that are made of those in index_op: when each was seen, and the substring index.
const (
	sightsOf = "INSERT INTO index_sight (n, scope, seen_us) SELECT n, scope, seen_us FROM index_op WHERE "
	wordsOf  = `INSERT INTO index_words (rowid, body) SELECT n, reference || comment || doc_text || char(2, 2)
		FROM index_op WHERE (` + hasWords + ") AND "
)

// insertFrom makes such rows. FTS5 writes a segment for each statement, so new rows, which have the highest numbers,
// are inserted by one.
func (b *batch) insertFrom(ctx context.Context, list []*opRow, from string) error {
	var old []int64
	first := int64(math.MaxInt64)
	for _, r := range list {
		if b.known[r.opid] != nil {
			old = append(old, r.n)
		} else {
			first = min(first, r.n)
		}
	}
	if first < math.MaxInt64 {
		if err := b.tx.Exec(ctx, from+"n >= ?", first); err != nil {
			return err
		}
	}
	return store.ExecIn(ctx, b.tx, old, from+"n IN")
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

// derivation is the version of the rule by which newRow makes columns from a record. Increase it if the meaning of a
// column changes: Derive then derives the rows that an earlier build stored from their records again.
const derivation = 5

const (
	derivedName = "derived"   // the derivation of all rows
	deriving    = "deriving " // and the rule: the number of the last row that Derive has handled
	derivedRows = 1000        // in one transaction
)

// Derived reports whether all rows have the columns that this build makes from their records.
func (x *Store) Derived(ctx context.Context) (bool, error) {
	s, err := x.Meta(ctx, derivedName)
	version, _, _ := strings.Cut(s, " ")
	n, bad := strconv.Atoi(version)
	return bad == nil && (n > derivation || s == rule()), err
}

// rule names the rule by which newRow makes columns: its version, and the members that [service] amount_ignore names.
func rule() string {
	return strings.Join(append([]string{strconv.Itoa(derivation)}, api.IgnoredBesideAmounts()...), " ")
}

// Derive derives some of the rows of earlier builds again, in one transaction: a process that ends loses nothing, and
// the next one continues.
func (x *Store) Derive(ctx context.Context) error {
	var b *batch
	err := x.db.Write(ctx, func(tx *store.Tx) error {
		b = newBatch(x, tx)
		b.derives = true
		return b.derive(ctx)
	})
	if err == nil {
		x.remember(b)
	}
	return err
}

func (b *batch) derive(ctx context.Context) error {
	if err := b.tx.Lock(ctx, writeLock); err != nil {
		return err
	}
	name := deriving + rule()
	from, _, err := store.Find[int64](ctx, b.tx,
		"SELECT CAST(value AS BIGINT) FROM index_meta WHERE scope = ? AND name = ?",
		b.x.scope, name)
	if err != nil {
		return err
	}
	var list []index.Entry
	next := from
	err = store.Each(ctx, b.tx, func(scan store.Scan) error {
		var body []byte
		if err := scan(&next, &body); err != nil {
			return err
		}
		if op, err := decodeOp(body); err == nil { // one that cannot be read has no values
			list = append(list, index.Entry{Op: op})
		}
		return nil
	}, `SELECT o.n, r.body FROM index_op o JOIN index_raw r ON r.n = o.n WHERE o.scope = ? AND o.n > ?
		ORDER BY o.n LIMIT ?`,
		b.x.scope, from, derivedRows)
	if err != nil {
		return err
	}
	if next == from {
		if done, err := b.reshare(ctx); !done || err != nil {
			return err
		}
		if err := b.tx.Exec(ctx, "DELETE FROM index_meta WHERE scope = ? AND name = ?", b.x.scope, name); err != nil {
			return err
		}
		return b.tx.Exec(ctx, setMeta, b.x.scope, derivedName, rule())
	}
	rows, err := newRows(list)
	if err != nil {
		return err
	}
	if err := b.load(ctx, rows); err != nil {
		return err
	}
	for _, r := range rows {
		k := b.known[r.opid]
		if k == nil { // an earlier build read another identifier in the record
			continue
		}
		r.seen, r.changed, r.origin, r.doubt, r.doubtAt = k.seen, k.changed, k.origin, k.doubt, k.doubtAt
		b.write[r.opid] = r
	}
	if err := b.merge(ctx); err != nil {
		return err
	}
	return b.tx.Exec(ctx, setMeta, b.x.scope, name, strconv.FormatInt(next, 10))
}

// keptRows bounds the rows of a generation of decodedRows; a list holds up to 900.
const keptRows = 900

// decodedRows keeps the operations of lists as they were decoded last, so that a list that is read again decodes only
// what has changed, and lists of the same rows share their memory. Nobody changes what an operation points to: a masked
// one is a copy.
type decodedRows struct {
	mu    sync.Mutex
	young map[int64]*decodedRow // guarded by mu; by number
	old   map[int64]*decodedRow // guarded by mu; the young ones before, until the next change of generations
}

type decodedRow struct {
	body []byte // as stored
	op   api.Operation
}

// operation decodes the stored body of a row.
func (d *decodedRows) operation(n int64, body []byte) (api.Operation, error) {
	row := d.find(n)
	if row == nil || !bytes.Equal(row.body, body) {
		op, err := decodeOp(body)
		if err != nil {
			return op, err
		}
		row = &decodedRow{body, op}
	}
	d.keep(n, row)
	return row.op, nil
}

func (d *decodedRows) find(n int64) *decodedRow {
	d.mu.Lock()
	defer d.mu.Unlock()
	if row := d.young[n]; row != nil {
		return row
	}
	return d.old[n]
}

func (d *decodedRows) keep(n int64, row *decodedRow) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.young == nil || len(d.young) >= keptRows {
		d.young, d.old = map[int64]*decodedRow{}, d.young
	}
	d.young[n] = row
}

// A record is stored as it came, or packed: the number of its dictionary, then an S2 block. JSON begins with another
// byte, and an empty body is no record.
//
// dictionaryText has what most records share: the service's members in their usual order, and its codes. Stored
// records need it to be read, so it never changes: another dictionary is another file with another number.
//
//go:embed record.dict
var dictionaryText string

const dictionaryNumber = 1

// dictionary is made at first use. Its text is preceded by the position at which the search for a repetition begins.
var dictionary = sync.OnceValue(func() *s2.Dict { return s2.NewDict(append([]byte{0}, dictionaryText...)) })

// maxRecord bounds what a stored record may unpack to, in bytes; no answer of the service is read that is larger.
const maxRecord = 64 << 20

var errPacked = errors.New("it cannot be unpacked")

// pack returns a record in the shorter form.
func pack(record []byte) []byte {
	if len(record) == 0 || len(record) > maxRecord {
		return record
	}
	out := make([]byte, 1+s2.MaxEncodedLen(len(record)))
	out[0] = dictionaryNumber
	block := dictionary().Encode(out[1:], record)
	if len(block)+1 >= len(record) {
		return record
	}
	return out[:1+len(block)]
}

// unpack returns the record of a stored body, which it may share.
func unpack(body []byte) ([]byte, error) {
	if len(body) == 0 || body[0] >= ' ' || body[0] == '\n' || body[0] == '\r' || body[0] == '\t' {
		return body, nil
	}
	if body[0] != dictionaryNumber {
		return nil, errPacked
	}
	n, err := s2.DecodedLen(body[1:])
	if err != nil || n > maxRecord {
		return nil, errPacked
	}
	record, err := dictionary().Decode(make([]byte, n), body[1:])
	if err != nil {
		return nil, errPacked
	}
	return record, nil
}
