// Package opindex stores the index of operations in the bulk database and queries it: a filter becomes conditions on
// the tables (plan), and the most selective database index finds the rows.
package opindex

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"opdeck/api"
	"opdeck/api/redact"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/internal/store"
)

// Store is the index of one machine account's operations in the bulk database; it
// implements index.Store.
type Store struct {
	db *store.DB
	q  store.Querier // source of queries: db or one snapshot of it
	terms
	*cache
}

// terms builds SQL conditions on one scope for an engine.
type terms struct {
	scope  int64
	engine filter.Engine
}

func (x terms) postgres() bool { return x.engine == filter.Postgres }

// cache is shared by an index and its snapshots.
type cache struct {
	mu      sync.Mutex
	parties map[string]int64  // guarded by mu; committed parties by their texts
	kinds   map[kindKey]int64 // guarded by mu; committed kinds; they are never deleted
	loaded  []kind            // guarded by mu; as of version
	version int64             // guarded by mu; index version of loaded
	rows    int64             // guarded by mu; of the scope, as of rowsAt
	rowsAt  int64             // guarded by mu; index version of rows
	decoded decodedRows
}

var _ index.Store = (*Store)(nil)

// New opens the index of a service's machine account in bulk; baseURL and account identify it. Nothing is sent.
func New(ctx context.Context, bulk *store.DB, baseURL, account string) (*Store, error) {
	x := &Store{db: bulk, q: bulk, terms: terms{engine: filter.SQLite},
		cache: &cache{parties: map[string]int64{}, kinds: map[kindKey]int64{}, version: -1, rowsAt: -1}}
	if bulk.Engine() == store.Postgres {
		x.engine = filter.Postgres
	}
	// A batch touches many pages of many indexes: a cache of up to 48 MB, and a log of that size before a checkpoint.
	if err := bulk.Tune(ctx, "PRAGMA cache_size = -49152", "PRAGMA wal_autocheckpoint = 12000"); err != nil {
		return nil, err
	}
	var err error
	if x.scope, _, err = store.Find[int64](ctx, bulk, "SELECT n FROM index_scope WHERE base_url = ? AND account = ?",
		baseURL, account); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	if x.scope > 0 {
		return x, nil
	}
	err = bulk.Write(ctx, func(tx *store.Tx) (err error) {
		if x.scope, err = tx.Scope(ctx, "index_scope", baseURL, account, writeLock); err != nil {
			return err
		}
		return tx.Exec(ctx, setMeta, x.scope, derivedName, rule())
	})
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return x, nil
}

// Now is the time of the store's clock.
func (x *Store) Now(ctx context.Context) (time.Time, error) { return x.q.Now(ctx) }

// Snapshot runs fn with the index in one state, for any number of queries.
func (x *Store) Snapshot(ctx context.Context, fn func(index.Store) error) error {
	if x.q != store.Querier(x.db) { // already a snapshot
		return fn(x)
	}
	return x.db.Snapshot(ctx, func(q store.Querier) error {
		at := *x
		at.q = q
		return fn(&at)
	})
}

// writeLock is an arbitrary lock number: one writer of index tables at a time, as in SQLite, so that sums and numbers
// need no further locks.
const writeLock = 0x6f70696478

const versionName = "version"

// Version increases with every change by any process.
func (x *Store) Version(ctx context.Context) (int64, error) {
	s, err := x.Meta(ctx, versionName)
	if err != nil || s == "" {
		return 0, err
	}
	return strconv.ParseInt(s, 10, 64)
}

func (x *Store) bump(ctx context.Context, tx *store.Tx) error {
	return tx.Exec(ctx, `INSERT INTO index_meta (scope, name, value) VALUES (?, ?, '1')
		ON CONFLICT (scope, name) DO UPDATE SET value = CAST(CAST(index_meta.value AS BIGINT) + 1 AS TEXT)`,
		x.scope, versionName)
}

// Meta reads a small fact; "" if there is none.
func (x *Store) Meta(ctx context.Context, name string) (string, error) {
	v, _, err := store.Find[string](ctx, x.q, "SELECT value FROM index_meta WHERE scope = ? AND name = ?", x.scope, name)
	return v, err
}

// SetMeta writes a small fact.
func (x *Store) SetMeta(ctx context.Context, name, value string) error {
	return x.db.Exec(ctx, setMeta, x.scope, name, value)
}

const setMeta = `INSERT INTO index_meta (scope, name, value) VALUES (?, ?, ?)
	ON CONFLICT (scope, name) DO UPDATE SET value = excluded.value`

// Lease takes or renews a lease by a compare-and-swap in one statement.
func (x *Store) Lease(ctx context.Context, name, owner, over string, now time.Time, ttl time.Duration) (bool, error) {
	n, err := store.Affected(x.db.Result(ctx, `INSERT INTO index_meta (scope, name, value, owner, until_us)
		VALUES (?, ?, '', ?, ?)
		ON CONFLICT (scope, name) DO UPDATE SET owner = excluded.owner, until_us = excluded.until_us
		WHERE index_meta.owner IN (excluded.owner, '', ?) OR index_meta.until_us <= ?
		OR index_meta.until_us > excluded.until_us`,
		x.scope, leasePrefix+name, owner, now.Add(ttl).UnixMicro(), over, now.UnixMicro()))
	return n == 1, err
}

const leasePrefix = "lease:"

// Leased returns the holder of a lease.
func (x *Store) Leased(ctx context.Context, name string) (index.Lease, error) {
	var owner string
	var until int64
	err := x.q.QueryRow(ctx, "SELECT owner, until_us FROM index_meta WHERE scope = ? AND name = ?",
		x.scope, leasePrefix+name).Scan(&owner, &until)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && until == 0:
		return index.Lease{}, nil
	case err != nil:
		return index.Lease{}, err
	}
	return index.Lease{Owner: owner, Until: time.UnixMicro(until)}, nil
}

// Release releases a lease if owner holds it.
func (x *Store) Release(ctx context.Context, name, owner string) error {
	return x.db.Exec(ctx, "UPDATE index_meta SET owner = '', until_us = 0 WHERE scope = ? AND name = ? AND owner = ?",
		x.scope, leasePrefix+name, owner)
}

// kind is a row of index_kind with a representative operation, on which the filter's Go predicate decides about codes
// and flags.
type kind struct {
	n    int64
	key  kindKey
	sum  sums
	like *api.Operation
}

// kindFields are the fields that the kind alone decides.
var kindFields = []string{field.OpStatus, filter.FieldPhase, field.OpType, field.OpPayment, field.OpCurrency,
	filter.FieldToCurrency}

// rowFlags are the values of has that the row's own columns decide.
var rowFlags = map[string]string{"comment": "o.comment <> ''", "reference": "o.reference <> ''"}

func kindLeaf(l *filter.Leaf) bool {
	return slices.Contains(kindFields, l.Field) ||
		l.Field == filter.FieldHas &&
			!slices.ContainsFunc(l.Values, func(v filter.Value) bool { return rowFlags[v.Text] != "" })
}

// kindTerms decides the comparisons of a filter that the kinds of a scope decide.
type kindTerms struct {
	f   filter.OperationExpr
	all []kind
	now time.Time
}

// matching lists the kinds that fulfil a comparison.
func (t kindTerms) matching(l *filter.Leaf) (out []kind) {
	only := t.f.Of(l)
	for _, k := range t.all {
		if only.Match(*k.like, t.now) {
			out = append(out, k)
		}
	}
	return out
}

// prune drops the alternatives that no kind fulfils; none: nothing can match the parts.
func (t kindTerms) prune(parts filter.And) (out filter.And, none bool) {
	for _, n := range parts {
		n, never := t.pruned(n)
		if never {
			return nil, true
		}
		out = append(out, n)
	}
	return out, false
}

func (t kindTerms) pruned(n filter.Node) (out filter.Node, never bool) {
	switch n := n.(type) {
	case *filter.Leaf:
		return n, kindLeaf(n) && len(t.matching(n)) == 0
	case filter.And:
		all, none := t.prune(n)
		return all, none
	case filter.Or:
		var all filter.Or
		for _, part := range n {
			if part, never := t.pruned(part); !never {
				all = append(all, part)
			}
		}
		if len(all) == 1 {
			return all[0], false
		}
		return all, len(all) == 0
	}
	return n, false
}

// ofKinds is a SELECT of the rows of few kinds.
func (p *opPlan) ofKinds(l *filter.Leaf) (c filter.Cond, ok bool) {
	kinds := p.is.matching(l)
	var rows int64
	for _, k := range kinds {
		rows += k.sum.ops
	}
	in := p.x.kindIn("kind", kinds)
	return cond("SELECT n FROM index_op "+p.x.by("index_op_kind")+"WHERE "+in.SQL, in.Args...), rows <= scanLimit
}

func kindOnly(e filter.OperationExpr, n filter.Node) bool {
	only := true
	e.Of(n).Leaves(func(l *filter.Leaf) { only = only && kindLeaf(l) })
	return only
}

// loadKinds returns all kinds of the scope; they are cached until the index changes.
func (x *Store) loadKinds(ctx context.Context) ([]kind, error) {
	v, err := x.Version(ctx)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	if x.version == v {
		defer x.mu.Unlock()
		return x.loaded, nil
	}
	x.mu.Unlock()
	list, err := store.List(ctx, x.q, func(scan store.Scan) (k kind, err error) {
		c := &k.key
		err = scan(&k.n, &c.status, &c.typ, &c.payment, &c.currency, &c.tocurrency, &c.flags, &k.sum.ops, &k.sum.hi,
			&k.sum.lo, &k.sum.nanos)
		k.like = c.operation()
		return k, err
	}, "SELECT n, status, type, payment, currency, tocurrency, flags, ops, hi, lo, nanos "+
		"FROM index_kind WHERE scope = ? AND ops > 0 ORDER BY n", x.scope)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.loaded, x.version = list, v
	return list, nil
}

func (k kindKey) operation() *api.Operation {
	o := &api.Operation{Status: untrusted.Text(k.status), Type: untrusted.Text(k.typ),
		PaymentType: untrusted.Text(k.payment),
		IsVisible:   k.flags&(flagHidden|flagSaysVisible) == flagSaysVisible,
		IsParent:    k.flags&flagParent != 0, Raw: k.reported()}
	o.SourceAmount.Sum.CurrencyCode = untrusted.Text(k.currency)
	o.DestinationAmount.Sum.CurrencyCode = untrusted.Text(k.tocurrency)
	if k.flags&flagBad != 0 {
		o.SourceAmount.Sum.Units = "?"
	}
	switch {
	case k.flags&flagLocked != 0:
		o.Documents = []api.Document{{Lock: api.Locked}}
	case k.flags&(flagDoc|flagSaysLock) == flagDoc|flagSaysLock:
		o.Documents = []api.Document{{Lock: api.Unlocked}}
	case k.flags&flagDoc != 0:
		o.Documents = []api.Document{{}}
	case k.flags&flagSaysDocs != 0:
		o.Documents = []api.Document{}
	}
	return o
}

// reported is a record with the yes/no members that the answer had.
func (k kindKey) reported() []byte {
	switch k.flags & (flagSaysVisible | flagSaysParent) {
	case flagSaysVisible:
		return []byte(`{"isVisible":true}`)
	case flagSaysParent:
		return []byte(`{"isParent":true}`)
	case 0:
		return []byte(`{}`)
	}
	return nil // all
}

// Flags of a kind.
const (
	flagLocked = 1 << iota
	flagDoc
	flagHidden
	flagParent
	flagNone      // there is no amount
	flagBad       // the amount is not a number
	flagBig       // the amount has 10^18 units or more: summed from its key
	flagNoVisible // of earlier builds, as is the next
	flagNoParent
	flagSaysVisible // the answer says whether the customer sees it
	flagSaysParent  // the answer says whether it has children
	flagSaysDocs    // the answer lists the documents
	flagSaysLock    // it tells whether one of them is locked
)

// flagUnusable are amounts that are not in any sum.
const flagUnusable = flagNone | flagBad

// kindKey is the key of index_kind.
type kindKey struct {
	status, typ, payment, currency, tocurrency string
	flags                                      int64
}

// sums are exact sums in parts that cannot overflow: each part of a row is below 10^9, so that 9·10^9 rows fit.
type sums struct{ ops, hi, lo, nanos int64 }

func (s *sums) add(o sums, sign int64) {
	s.ops += sign * o.ops
	s.hi += sign * o.hi
	s.lo += sign * o.lo
	s.nanos += sign * o.nanos
}

// party is a customer or a side of an operation.
type party struct {
	id, name, body, ids string
	shown               func() string // body after masking; computed for new ones only
	key                 string        // the first four fields, which identify the party
	identity            identity
	told                told
}

func (p party) sort() string { return cut(filter.Fold(p.name), maxSort) }

func (p party) keyed() party {
	p.key = p.id + "\x00" + p.name + "\x00" + p.body + "\x00" + p.ids
	return p
}

func (p party) digest() string {
	h := sha256.Sum256([]byte(p.key))
	return hex.EncodeToString(h[:12])
}

// opRow is an operation in the form of the tables.
type opRow struct {
	n                                int64
	opid                             string
	kind                             kindKey
	customer, source, destination    party
	created, updated, updatedNs      int64
	sum                              sums
	docs                             int64
	seen, changed                    int64
	origin                           index.Origin
	doubt, doubtAt                   int64
	digest                           int64
	amountKey, receivedKey, feeKey   string
	reference, comment, docText      string
	hidden                           filter.MaskedText
	raw                              []byte // packed
	owed                             bool
	kindN, customerN, sourceN, destN int64
}

// newRows converts entries, on all processors if worthwhile. It omits rows with an unusable identifier.
func newRows(entries []index.Entry) ([]*opRow, error) {
	workers := 1
	if len(entries) >= 500 {
		workers = runtime.GOMAXPROCS(0)
	}
	rows, size := make([]*opRow, len(entries)), (len(entries)+workers-1)/workers
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w * size; i < min((w+1)*size, len(entries)); i++ {
				r, ok, err := newRow(entries[i])
				if err != nil {
					errs[w] = err
					return
				}
				if ok {
					rows[i] = &r
				}
			}
		})
	}
	wg.Wait()
	return slices.DeleteFunc(rows, func(r *opRow) bool { return r == nil }), errors.Join(errs...)
}

const (
	maxCode = 60 // characters kept of a code for filtering
	maxSort = 60 // characters of a name for sorting
)

// newRow converts one entry; ok is false if its identifier is unusable.
func newRow(e index.Entry) (r opRow, ok bool, err error) {
	o := e.Op
	opid := string(o.OPID)
	if !usableID(opid) {
		return r, false, nil
	}
	raw := []byte(o.Raw)
	if len(raw) == 0 {
		if raw, err = json.Marshal(o); err != nil {
			return r, false, fmt.Errorf("index: %w", err)
		}
	}
	sum := sha256.Sum256(raw)
	r = opRow{
		opid: opid, raw: pack(raw), digest: int64(binary.BigEndian.Uint64(sum[:8])), origin: e.Origin, owed: e.Owed,
		seen: e.Seen.UnixMicro(), changed: e.Seen.UnixMicro(),
		created: o.CreatedAt.UnixMicro(), updated: o.UpdatedAt.UnixMicro(), updatedNs: int64(o.UpdatedAt.Nanosecond() % 1000),
		docs:      int64(len(o.Documents)),
		amountKey: filter.MoneyKey(o.SourceAmount.Sum), receivedKey: filter.MoneyKey(o.DestinationAmount.Sum),
		feeKey:    filter.MoneyKey(o.CommissionAmount.Sum),
		reference: filter.Fold(string(o.Reference)), comment: filter.Fold(string(o.Comment)),
		docText: filter.JoinTexts(filter.DocTexts(o.Documents)), hidden: filter.MaskedIn(o),
		customer: customerParty(o.Customer), source: sideParty(o.Source), destination: sideParty(o.Destination),
	}
	if e.Origin == index.Hook { // not a read; a new row gets at most the time in the webhook
		r.seen = max(min(r.updated, r.changed), 0)
	}
	if !o.DocumentsReported() {
		r.docs = filter.NotReported
	}
	r.kind = kindKey{status: code(string(o.Status)), typ: code(string(o.Type)), payment: code(string(o.PaymentType)),
		currency:   code(string(o.SourceAmount.Sum.CurrencyCode)),
		tocurrency: code(string(o.DestinationAmount.Sum.CurrencyCode))}
	r.kind.flags = kindFlags(o, r.amountKey)
	r.sum = parts(o.SourceAmount.Sum, &r.kind.flags)
	return r, true, nil
}

func usableID(opid string) bool {
	return opid != "" && len(opid) <= api.MaxID && filter.Clean(opid) == opid
}

func code(s string) string { return cut(filter.Clean(s), maxCode) }

func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n])
}

func kindFlags(o api.Operation, key string) int64 {
	var f int64
	set := func(on bool, bit int64) {
		if on {
			f |= bit
		}
	}
	set(filter.HasFlag(o, "locked"), flagLocked)
	set(len(o.Documents) > 0, flagDoc)
	set(filter.HasFlag(o, "hidden"), flagHidden)
	set(field.Operations.Get(field.OpVisible).IsReported(o), flagSaysVisible)
	set(field.Operations.Get(field.OpParent).IsReported(o), flagSaysParent)
	set(o.DocumentsReported(), flagSaysDocs)
	set(!filter.LacksLock(o), flagSaysLock)
	set(o.IsParent, flagParent)
	set(key == filter.KeyNone, flagNone)
	set(key == filter.KeyBad, flagBad)
	return f
}

const billion = 1_000_000_000

// parts splits an amount; a too large one gets flagBig.
func parts(m api.Money, flags *int64) sums {
	s := sums{ops: 1}
	if *flags&flagUnusable != 0 {
		return s
	}
	var units, nanos int64
	var err error
	if m.Units != "" {
		units, err = strconv.ParseInt(string(m.Units), 10, 64)
	}
	if m.Nanos != "" && err == nil {
		nanos, err = strconv.ParseInt(string(m.Nanos), 10, 64)
	}
	if err != nil || units >= billion*billion || units <= -billion*billion {
		*flags |= flagBig
		return s
	}
	s.hi, s.lo, s.nanos = units/billion, units%billion, nanos
	return s
}

func customerParty(c api.CustomerRef) party {
	p := party{id: filter.Clean(string(c.CUID)), name: filter.Clean(string(c.Name)), shown: func() string {
		if c.Name == "" {
			return ""
		}
		return filter.JoinTexts([]string{redact.Text(string(c.Name))})
	}, identity: customerIdentity(c), told: told{Customer: c}}
	if c.Name != "" {
		p.body = filter.JoinTexts([]string{string(c.Name)})
	}
	if c.CUID != "" {
		p.ids = filter.JoinTexts([]string{string(c.CUID)})
	}
	return p.keyed()
}

func sideParty(s api.Party) party {
	return party{name: filter.Clean(string(s.Name())), body: filter.JoinTexts(filter.PartyTexts(s)),
		ids:      filter.JoinTexts(filter.PartyIDs(s)),
		shown:    func() string { return filter.JoinTexts(filter.MaskedPartyTexts(s)) },
		identity: sideIdentity(s), told: told{Side: s}}.keyed()
}

// values are the columns of index_op, in the order of opColumns.
func (r *opRow) values(scope int64) []any {
	return []any{r.n, scope, r.kindN, r.customerN, r.sourceN, r.destN, r.created, r.updated, r.updatedNs, r.sum.hi,
		r.sum.lo, r.sum.nanos, r.docs, r.seen, r.changed, int64(r.origin), r.doubt, r.doubtAt, r.digest,
		r.amountKey, r.receivedKey, r.feeKey, r.opid, filter.FoldID(r.opid), r.reference, r.comment, r.docText,
		int64(r.hidden)}
}

const opColumns = `n, scope, kind, customer, source, destination, created_us, updated_us, updated_ns, hi, lo, nanos,
 docs, seen_us, changed_us, origin, doubt, doubt_us, digest, amount_key, received_key, fee_key, opid, opid_fold,
 reference, comment, doc_text, hidden`

var opWidth = strings.Count(opColumns, ",") + 1

// column is an order by a column of index_op, then by number.
type column struct{ expr, index string }

// columns are the orders that the index keeps, by the name of the field. A plain column is also used to find the
// candidates of a filter by that field (ordered).
var columns = map[string]column{
	field.OpCreated:    {"o.created_us", "index_op_created"},
	field.OpUpdated:    {"o.updated_us", "index_op_updated"},
	field.OpAmount:     {"o.amount_key", "index_op_amount"},
	field.OpReceived:   {"o.received_key", "index_op_received"},
	field.OpCommission: {"o.fee_key", "index_op_fee"},
	field.OpID:         {"o.opid_fold", "index_op_id"},
	field.OpDocuments:  {"o.docs", "index_op_docs"},
	field.OpReference:  {"substr(o.reference, 1, 100)", "index_op_reference"},
}

func dayOf(us int64) int64 {
	const dayUs = int64(24 * time.Hour / time.Microsecond)
	d := us / dayUs
	if us%dayUs < 0 {
		d--
	}
	return d
}
