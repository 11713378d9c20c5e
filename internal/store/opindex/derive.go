package opindex

import (
	"context"
	_ "embed" // the dictionary
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/s2"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/internal/store"
)

// derivation is the version of the rule by which newRow makes columns from a record. Increase it if the meaning of a
// column changes: Derive then derives the rows that an earlier build stored from their records again.
const derivation = 7

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
	return x.db.Write(ctx, func(tx *store.Tx) error {
		b := newBatch(x, tx)
		b.derives = true
		return b.derive(ctx)
	})
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

// A record is stored as it came. Earlier builds packed it: the number of a dictionary, then an S2 block. JSON begins
// with another byte, and an empty body is no record. Derive unpacks the present states; the history keeps what it has.
//
// dictionaryText is what they were packed with: the service's members in their usual order, and its codes.
//
//go:embed record.dict
var dictionaryText string

const dictionaryNumber = 1

// dictionary is made at first use. Its text is preceded by the position at which the search for a repetition begins.
var dictionary = sync.OnceValue(func() *s2.Dict { return s2.NewDict(append([]byte{0}, dictionaryText...)) })

// maxRecord bounds what a stored record may unpack to, in bytes; no answer of the service is read that is larger.
const maxRecord = 64 << 20

var errPacked = errors.New("it cannot be unpacked")

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
