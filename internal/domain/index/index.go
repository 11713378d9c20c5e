// Package index keeps a local mirror of the operations, so that browsing, filtering, sorting and totals need no
// calls.
//
// Operations come from list pages, single reads and webhooks. The newest state wins by updatedAt; equal times with
// different content, and a step backwards, make a single read of the operation due. All results have an age and a
// source. A background sync (Syncer) fills the index with spare calls.
//
// The package declares what it needs from a database (Store); internal/store/opindex implements it for both engines.
package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/apd/v3"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
)

// Mode says where the index is stored.
type Mode int

// The modes.
const (
	Shared Mode = iota // in the store that all instances share
	Memory             // in this process only: pass New a store in memory
)

// Index is the local mirror of one machine account's operations. It is safe for concurrent use.
type Index struct {
	clock
	subscribers
	store Store
	mode  Mode
	// Beside is asked by filters for terms such as has:doubt. It is set before the first query; without it they match
	// nothing.
	Beside Beside
	// RefusedLocks reads the documents that the service refused to remove; nil: none is kept.
	RefusedLocks func(ctx context.Context) api.RefusedLocks
	// MaxAge is how old the newest read may be to be called now ([index] max_age). It is set like Beside.
	MaxAge time.Duration
}

// New returns an index over a store.
func New(store Store, mode Mode, now func() time.Time) *Index {
	return &Index{store: store, mode: mode, clock: clock{store: store, now: now}}
}

func (x *Index) Mode() Mode { return x.mode }

// Page merges a page of the list that was not read by the sync; sent is this host's time of the request.
func (x *Index) Page(ctx context.Context, ops []api.Operation, sent time.Time) (Merged, error) {
	return x.saw(ctx, List, ops, sent)
}

// Read merges the answer to a single read or a write; sent is this host's time of the request.
func (x *Index) Read(ctx context.Context, op api.Operation, sent time.Time) (Merged, error) {
	return x.saw(ctx, Read, []api.Operation{op}, sent)
}

func (x *Index) saw(ctx context.Context, from Origin, ops []api.Operation, sent time.Time) (Merged, error) {
	if len(ops) == 0 {
		return Merged{}, nil
	}
	at, err := x.StoreTime(ctx, sent)
	if err != nil {
		return Merged{}, err
	}
	entries := make([]Entry, len(ops))
	for i, o := range ops {
		entries[i] = Entry{Op: o, Origin: from, Seen: at}
	}
	return x.commit(ctx, Batch{Entries: entries})
}

// Named keeps names of customers and accounts that were read elsewhere than in operations: operations that lack them
// have them from then on.
func (x *Index) Named(ctx context.Context, customers []api.CustomerRef, sides []api.Party) error {
	if err := x.store.Named(ctx, customers, sides); err != nil {
		return err
	}
	_, err := x.Poll(ctx)
	return err
}

// Put merges states; their times are the store's.
func (x *Index) Put(ctx context.Context, entries []Entry) (Merged, error) {
	return x.commit(ctx, Batch{Entries: entries})
}

// commit commits a batch and notifies the subscribers.
func (x *Index) commit(ctx context.Context, b Batch) (Merged, error) {
	if len(b.Entries) == 0 && len(b.Gone) == 0 && b.Swap == nil {
		return Merged{}, nil
	}
	m, err := x.store.Put(ctx, b)
	if err == nil && m.fresh() {
		_, err = x.Poll(ctx)
	}
	return m, err
}

// Owe makes a single read of an operation due, even if it is not known.
func (x *Index) Owe(ctx context.Context, opid string) error {
	now, err := x.store.Now(ctx)
	if err != nil {
		return err
	}
	return x.store.Owe(ctx, opid, now)
}

// Event merges a webhook. A read of the operation becomes due unless the event has words for all codes and the index
// knew the operation.
func (x *Index) Event(ctx context.Context, e Event) (Merged, error) {
	known, err := x.store.Get(ctx, e.OPID)
	if err != nil && !errors.Is(err, ErrNone) {
		return Merged{}, err
	}
	if e.Seen, err = x.StoreTime(ctx, e.Seen); err != nil {
		return Merged{}, err
	}
	entry, same, err := e.entry(known, len(known.Op.Raw) > 0)
	if err != nil {
		return Merged{}, err
	}
	if same {
		return Merged{Same: 1}, nil
	}
	return x.Put(ctx, []Entry{entry})
}

// Unmasked returns the store, for the program itself: it does not check permissions.
func (x *Index) Unmasked() Store { return x.store }

// Version increases with every change by any process.
func (x *Index) Version(ctx context.Context) (int64, error) { return x.store.Version(ctx) }

// Poll reads the store's version (one small read) and notifies the subscribers if it has increased.
func (x *Index) Poll(ctx context.Context) (bool, error) {
	v, err := x.Version(ctx)
	if err != nil {
		return false, err
	}
	return x.announce(v), nil
}

// Watch polls for changes by other processes until ctx ends. It ignores errors of the store.
func (x *Index) Watch(ctx context.Context, every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			_, _ = x.Poll(ctx) // the next tick polls again
		}
	}
}

// Suggest is filter completion with values from the index.
func (x *Index) Suggest(ctx context.Context, input string, cursor int) []filter.Suggestion {
	return filter.Operations().Complete(input, cursor, func(field, typed string) []string {
		v, _ := x.Values(ctx, field, typed, 12) // without values there are no suggestions
		return v
	})
}

// Origin says where a state came from.
type Origin int

// The origins.
const (
	List Origin = iota // a page of the list
	Read               // a single read, or the answer to a write
	Hook               // a webhook
)

// String is the word beside an age.
func (o Origin) String() string {
	if o < List || o > Hook {
		return "unknown"
	}
	return [...]string{"list", "read", "webhook"}[o]
}

// Entry is one state of one operation to merge.
type Entry struct {
	Op     api.Operation // with Raw if it came from the service
	Origin Origin
	// Seen is the store's time (Store.Now) at which the request was sent, so that the content is at least as new; for
	// a webhook, when it arrived. A webhook does not count as a read of the row: the row keeps its time, and a new
	// one gets the time in the webhook.
	Seen time.Time
	// Owed makes a single read due in any case: the state is incomplete.
	Owed bool
}

// Batch is committed in one transaction, all or nothing.
type Batch struct {
	Entries []Entry
	// Gone are operations that the service no longer has. A row that a later request showed remains.
	Gone []Gone
	// Swap replaces a fact if it still has the value that was read; else the batch is committed without it and
	// Merged.Swapped is false.
	Swap *Swap
	// Asked are operations whose single read at the end of a pass was answered; Candidates lists them again only
	// after the next pass.
	Asked []string
}

// Gone is an operation that the service does not have, by the answer to a request sent at the store's time At.
type Gone struct {
	OPID string
	At   time.Time
}

// Swap changes a fact from Old, as it was read, to New.
type Swap struct{ Name, Old, New string }

// Event is a webhook's report on an operation. Words are set only for codes with a known meaning; otherwise they are
// empty, and a single read becomes due.
type Event struct {
	OPID, CUID                               string
	Status, Type, PaymentType                string // words, or ""
	Visible                                  *bool
	Created, Updated                         time.Time
	From, To                                 api.Party // the sides, with identifiers only
	Source, Destination, Commission, Balance *api.Money
	Seen                                     time.Time
}

// Record is an operation in the index.
type Record struct {
	Op      api.Operation
	Origin  Origin
	Seen    time.Time // when the last request that showed this state was sent; zero: never read from the service
	Changed time.Time // when this state was first known here
	Owed    bool      // a single read is due: the state may be incomplete or outdated
	Gone    time.Time // when the service was first known not to have it; zero: it has it
}

// Merged counts the effects of a batch.
type Merged struct {
	New, Changed, Same, Older int
	Refused                   int      // without a usable identifier
	Gone, Back                int      // left the list; came back into it
	Swapped                   bool     // the batch's Swap was done
	Touched                   []string // opids of New and Changed, at most 1,000
}

// fresh reports whether the batch changed anything.
func (m Merged) fresh() bool { return m.New+m.Changed+m.Gone > 0 }

// Sort is an order of rows; equal ones are newest first.
type Sort struct {
	Field string // one of SortFields; "" is created
	Desc  bool
}

// SortFields are the fields that a Sort may name.
var SortFields = field.Operations.Sortable()

// ErrSort: the field cannot be sorted by.
var ErrSort = errors.New("index: rows cannot be sorted by that field")

// ParseSort parses FIELD or -FIELD (descending); aliases are allowed. Empty means newest first. The error wraps
// ErrSort.
func ParseSort(s string) (Sort, error) {
	if s == "" {
		return Sort{Field: field.OpCreated, Desc: true}, nil
	}
	name, desc := strings.CutPrefix(s, "-")
	f, ok := field.Operations.Find(name)
	if !ok || !f.Sortable {
		return Sort{}, ErrSort
	}
	return Sort{Field: f.Name, Desc: desc}, nil
}

// UsualSort is the usual order by a field of SortFields: largest or newest first, words and names ascending.
func UsualSort(name string) Sort {
	return Sort{Field: name, Desc: field.Operations.Get(name).Kind.Ordered()}
}

// Amounts reports whether rows are sorted by an amount, which has a currency.
func (s Sort) Amounts() bool { return field.Operations.Get(s.By()).Kind == field.Money }

// Mixed reports whether the amounts that rows are sorted by are of several currencies, as far as these rows show; g
// are the sums of all of them, which have the currencies of the amount paid.
func (s Sort) Mixed(rows iter.Seq[api.Operation], g Group) bool {
	if !s.Amounts() {
		return false
	}
	f, seen := field.Operations.Get(s.By()), map[untrusted.Text]bool{"": true}
	for op := range rows {
		seen[f.Money(op).CurrencyCode] = true
	}
	if f.Name == field.OpAmount {
		for _, sum := range g.Sums {
			seen[sum.Currency] = true
		}
	}
	return len(seen) > 2
}

// By is the field to sort by.
func (s Sort) By() string { return cmp.Or(s.Field, field.OpCreated) }

// String is FIELD or -FIELD.
func (s Sort) String() string {
	if s.Desc {
		return "-" + s.By()
	}
	return s.By()
}

// Query selects rows around a position in the filtered, sorted list.
type Query struct {
	Filter filter.OperationExpr
	Sort   Sort
	Skip   int // rows before the first one
	Limit  int
}

// Window is the result of a Query: rows in order.
type Window struct {
	Rows []Record
	More bool // there are rows after it
}

// Sum is the number and sum of operations of a currency.
type Sum struct {
	Currency untrusted.Text
	Count    int64
	Amount   *apd.Decimal // exact; nil: no amount is known
	Bad      int64        // of Count: missing or non-numeric amounts, not in Amount
}

// Sheet describes an export: the matching operations in order, or their totals.
type Sheet struct {
	Filter filter.OperationExpr
	Sort   Sort
	Totals bool
	By     []By // of totals
	Format Format
	NoMark bool // a CSV without the byte order mark, which spreadsheets need to read UTF-8
}

// String describes the sheet for the audit trail.
func (s Sheet) String() string {
	what := ""
	if s.Totals {
		what = "totals"
		for i, b := range s.By {
			what += []string{" by ", " and "}[min(i, 1)] + string(b)
		}
		what += " of "
	}
	return fmt.Sprintf("%s of %s%q", s.Format, what, s.Filter.String())
}

// State is one state in an operation's history.
type State struct {
	Op      api.Operation
	At      time.Time // when it was first known here
	Origin  Origin
	Current bool
	Gone    bool // from then on the service no longer had it; Op is the last state
}

// Sights summarises the ages of the rows, in the store's time.
type Sights struct {
	Rows           int64     // in the list
	Gone           int64     // known, but no longer at the service
	Unseen         int64     // of Rows: never read from the service, counted to 1,000
	Oldest, Newest time.Time // of the rows that were read; zero: none
}

// Place is the position of an operation in a list.
type Place struct {
	Before, Total int64 // rows before it, rows in all
	In            bool  // it matches the filter
}

// ErrNone: the operation is not in the index.
var ErrNone = errors.New("index: the operation is not in the index yet")

// Store stores the operations of one machine account at one service. It is safe for concurrent use by many processes.
type Store interface {
	// Now is the store's time: one clock for all processes that share it, independent of the hosts' clocks. Times
	// that are stored or compared between hosts use it.
	Now(ctx context.Context) (time.Time, error)
	// Snapshot runs fn with a Store whose answers all come from one state. fn must only read, and only from that
	// Store.
	Snapshot(ctx context.Context, fn func(Store) error) error
	// Put commits a batch. More than a few thousand entries hold the write lock for a long time.
	Put(ctx context.Context, b Batch) (Merged, error)
	// Sights summarises when rows were read, with indexed lookups.
	Sights(ctx context.Context) (Sights, error)
	// Candidates lists rows that no request since t has shown, and that were not read alone since then, oldest first.
	Candidates(ctx context.Context, t time.Time, limit int) ([]string, error)
	// ForgetSights clears the times of all reads: the store's clock was set back, so their ages are unknown.
	ForgetSights(ctx context.Context) error
	// Derived reports whether all rows have the columns that this build makes from their records; Derive makes them for
	// some rows that an earlier build stored.
	Derived(ctx context.Context) (bool, error)
	Derive(ctx context.Context) error
	// Reset deletes all rows of the scope, and the named facts.
	Reset(ctx context.Context, facts ...string) error
	// Named keeps names of customers and accounts that were read elsewhere than in operations. Get, Window, Each and
	// History return operations with the names that are known of their identifiers, also where the record has none.
	Named(ctx context.Context, customers []api.CustomerRef, sides []api.Party) error
	// Get returns one operation, even if it is gone; ErrNone if there is none.
	Get(ctx context.Context, opid string) (Record, error)
	Window(ctx context.Context, q Query, now time.Time) (Window, error)
	// Each calls fn for every row in order, from a list that is frozen before the first call, so that no row comes
	// twice. total is its length.
	Each(ctx context.Context, f filter.OperationExpr, s Sort, now time.Time, fn func(total int, r Record) error) error
	Count(ctx context.Context, f filter.OperationExpr, now time.Time) (int64, error)
	Place(ctx context.Context, f filter.OperationExpr, s Sort, opid string, now time.Time) (Place, error)
	// Totals sums and counts all matching rows, divided by at most two groupings into at most limit parts each (0:
	// all), with one query.
	Totals(ctx context.Context, f filter.OperationExpr, by []By, limit int, now time.Time) (Group, error)
	// Timeline counts by time of creation.
	Timeline(ctx context.Context, f filter.OperationExpr, now time.Time) (Timeline, error)
	// Values lists values of a field that contain what was typed.
	Values(ctx context.Context, field, typed string, limit int) ([]string, error)

	// Owed lists operations whose single read is due, longest overdue first.
	Owed(ctx context.Context, now time.Time, limit int) ([]string, error)
	// Owe makes a single read of an operation due, even if it is not in the list.
	Owe(ctx context.Context, opid string, at time.Time) error
	// Postpone delays a failed read.
	Postpone(ctx context.Context, opid string, until time.Time) error

	// Version increases with every change by any process.
	Version(ctx context.Context) (int64, error)
	// Meta reads and SetMeta writes a small fact; a missing one is "".
	Meta(ctx context.Context, name string) (string, error)
	SetMeta(ctx context.Context, name, value string) error
	// Lease takes or renews a lease for owner if it is free, owner's, that of over, expired, or more than ttl ahead
	// (the clock was set back), and reports whether owner holds it. now is the store's time. Leased returns the
	// holder; Release returns the lease.
	Lease(ctx context.Context, name, owner, over string, now time.Time, ttl time.Duration) (bool, error)
	Leased(ctx context.Context, name string) (Lease, error)
	Release(ctx context.Context, name, owner string) error

	// History returns the states of an operation, oldest first, ending with the current one.
	History(ctx context.Context, opid string) ([]State, error)
	// MarkSeen records that a person has seen the operation ("" for the list).
	MarkSeen(ctx context.Context, person, opid string, at time.Time) error
	// LastSeen is the time of MarkSeen; zero for never.
	LastSeen(ctx context.Context, person, opid string) (time.Time, error)
}

// clock converts between this host's time and the store's, which may differ.
type clock struct {
	store Store
	now   func() time.Time // this host's
	// ahead is how far this host's clock is ahead of the store's, if fixed for several queries; nil: read for each.
	ahead *time.Duration
}

// apart is the difference below which two clocks count as equal.
const apart = 2 * time.Second

// shift is added to a store time for this host's time.
func (c clock) shift(ctx context.Context) (time.Duration, error) {
	if c.ahead != nil {
		return *c.ahead, nil
	}
	at, err := c.store.Now(ctx)
	ahead := c.now().Round(0).Sub(at)
	if max(ahead, -ahead) < apart {
		ahead = 0
	}
	return ahead, err
}

// StoreTime converts this host's time to the store's.
func (c clock) StoreTime(ctx context.Context, here time.Time) (time.Time, error) {
	if here.IsZero() {
		return here, nil
	}
	at, err := c.store.Now(ctx)
	return at.Add(-max(c.now().Sub(here), 0)), err
}

// Here converts a store time to this host's, never ahead of now.
func (c clock) Here(ctx context.Context, at time.Time) time.Time {
	by, err := c.shift(ctx)
	if err != nil {
		return at
	}
	return c.local(at, by)
}

func (c clock) local(at time.Time, by time.Duration) time.Time {
	if at.IsZero() {
		return at
	}
	if at, now := at.Add(by), c.now(); at.Before(now) {
		return at
	}
	return c.now().Round(0).UTC()
}

// StockView is a view of the operations that everybody has: a filter and an order under a name, and what it lists.
type StockView struct{ Name, Filter, Sort, About string }

// StockViews returns the views that everybody has. Each is a line of the filter language; days are UTC.
func StockViews() []StockView {
	return []StockView{
		{"waiting for me", "is:waiting", "updated", "your turn: approve, send or finish"},
		{"in doubt", "is:doubt", "updated", "a write has an unknown outcome"},
		{"stuck for two days", "phase:open updated>2d", "updated", "open, without a change for two days"},
		{"changed today", "updated:today", "-updated", "last changed since 00:00 UTC"},
		{"failed today", "phase:failed updated:today", "-updated", "failed, last changed since 00:00 UTC"},
		{"large amounts", "amount>=100000", "-amount", "at least 100,000, in any currency"},
	}
}

// typesFrom is the number of operations that DocumentTypes reads.
const typesFrom = 500

// DocumentTypes lists the document types of the newest operations with documents, sorted, without a call.
func (x *Index) DocumentTypes(ctx context.Context) ([]untrusted.Text, error) {
	q, err := filter.Parse("docs>=1")
	if err != nil {
		return nil, err
	}
	w, err := x.Window(ctx, Query{Filter: q, Sort: Sort{Field: "created", Desc: true}, Limit: typesFrom}, x.now())
	if err != nil {
		return nil, err
	}
	seen := map[untrusted.Text]bool{}
	for _, r := range w.Rows {
		for _, d := range r.Op.Documents {
			seen[d.DocType] = true
		}
	}
	delete(seen, "")
	return slices.Sorted(maps.Keys(seen)), nil
}
