package opindex

import (
	"crypto/sha256"
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
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
)

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
