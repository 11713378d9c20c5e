package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cockroachdb/apd/v3"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
)

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
	// Anchor is the opid in the middle of the window; "" for the start (or the end, with FromEnd). It need not match
	// the filter.
	Anchor  string
	FromEnd bool
	Skip    int // rows skipped after the anchor or the start
	Before  int // rows before the anchor
	After   int // rows after the anchor (exclusive), or from the start
}

// Window is the result of a Query: rows in order.
type Window struct {
	Rows     []Record
	AnchorAt int  // the anchor's index in Rows, -1 if missing
	More     bool // there are rows after it
}

// Sum is the number and sum of operations of a currency.
type Sum struct {
	Currency untrusted.Text
	Count    int64
	Amount   *apd.Decimal // exact
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
