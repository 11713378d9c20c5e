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
	"unicode/utf8"

	"opdeck/api"
	"opdeck/api/redact"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
)

// Flags of an operation.
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
	flagNoReference // it has no reference, not even an empty one
	flagNoComment   // likewise
)

// flagUnusable are amounts that are not in any sum.
const flagUnusable = flagNone | flagBad

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
	n                                          int64
	opid                                       string
	status, typ, payment, currency, tocurrency string
	flags                                      int64
	customer, source, destination              party
	created, updated, updatedNs                int64
	hi, lo, nanos                              int64 // of the amount: units = hi·10^9 + lo
	docs                                       int64
	seen, changed                              int64
	origin                                     index.Origin
	doubt, doubtAt                             int64
	digest                                     int64
	amountKey, receivedKey, feeKey             string
	reference, comment, docText                string
	hidden                                     filter.MaskedText
	raw                                        []byte
	owed                                       bool
	customerN, sourceN, destN                  int64
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
		opid: opid, raw: raw, digest: int64(binary.BigEndian.Uint64(sum[:8])), origin: e.Origin, owed: e.Owed,
		seen: e.Seen.UnixMicro(), changed: e.Seen.UnixMicro(),
		created: o.CreatedAt.UnixMicro(), updated: o.UpdatedAt.UnixMicro(), updatedNs: int64(o.UpdatedAt.Nanosecond() % 1000),
		docs:      int64(len(o.Documents)),
		amountKey: filter.MoneyKey(o.SourceAmount.Sum), receivedKey: filter.MoneyKey(o.DestinationAmount.Sum),
		feeKey:    filter.MoneyKey(o.CommissionAmount.Sum),
		reference: filter.Fold(string(o.Reference)), comment: filter.Fold(string(o.Comment)),
		docText: filter.JoinTexts(filter.DocTexts(o.Documents)), hidden: filter.MaskedIn(o),
		status: code(string(o.Status)), typ: code(string(o.Type)), payment: code(string(o.PaymentType)),
		currency:   code(string(o.SourceAmount.Sum.CurrencyCode)),
		tocurrency: code(string(o.DestinationAmount.Sum.CurrencyCode)),
		customer:   customerParty(o.Customer), source: sideParty(o.Source), destination: sideParty(o.Destination),
	}
	if e.Origin == index.Hook { // not a read; a new row gets at most the time in the webhook
		r.seen = max(min(r.updated, r.changed), 0)
	}
	if !o.DocumentsReported() {
		r.docs = filter.NotReported
	}
	r.flags = flagsOf(o, r.amountKey)
	r.split(o.SourceAmount.Sum)
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

func flagsOf(o api.Operation, key string) int64 {
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
	set(!field.Operations.Get(field.OpReference).IsReported(o), flagNoReference)
	set(!field.Operations.Get(field.OpComment).IsReported(o), flagNoComment)
	set(o.IsParent, flagParent)
	set(key == filter.KeyNone, flagNone)
	set(key == filter.KeyBad, flagBad)
	return f
}

const billion = 1_000_000_000

// split keeps the amount in parts below 10^9, so that no sum of them overflows; a too large one gets flagBig.
func (r *opRow) split(m api.Money) {
	if r.flags&flagUnusable != 0 {
		return
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
		r.flags |= flagBig
		return
	}
	r.hi, r.lo, r.nanos = units/billion, units%billion, nanos
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
	return []any{r.n, scope, r.customerN, r.sourceN, r.destN, r.created, r.updated, r.status, r.typ, r.payment, r.currency,
		r.tocurrency, r.flags, r.docs, r.hi, r.lo, r.nanos, r.amountKey, r.receivedKey, r.feeKey, filter.FoldID(r.opid),
		r.opid, r.updatedNs, r.changed, int64(r.origin), r.doubt, r.doubtAt, r.digest, int64(r.hidden), r.reference,
		r.comment, r.docText}
}

const opColumns = `n, scope, customer, source, destination, created_us, updated_us, status, type, payment, currency,
	tocurrency, flags, docs, hi, lo, nanos, amount_key, received_key, fee_key, opid_fold, opid, updated_ns, changed_us,
	origin, doubt, doubt_us, digest, hidden, reference, comment, doc_text`

var opWidth = strings.Count(opColumns, ",") + 1
