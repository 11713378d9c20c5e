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

// String is the word shown beside an age.
func (o Origin) String() string {
	if o < List || o > Hook {
		return "unknown"
	}
	return [...]string{"list", "read", "webhook"}[o]
}

// Entry is one state of one operation, to be merged.
type Entry struct {
	Op     api.Operation // with Raw when it came from the service
	Origin Origin
	// Seen is the store's time (Store.Now) at which the request that brought it was
	// sent, so that the content is at least as new; of a webhook, when it came. A
	// webhook does not show the row: the row keeps the one it had, and a new one gets the
	// moment that the webhook reports on.
	Seen time.Time
	// Owed asks for a single read in any case: the state is known to be incomplete.
	Owed bool
}

// Batch is what one transaction commits: all of it, or nothing.
type Batch struct {
	Entries []Entry
	// Gone are operations that the service says it does not have. A row that was
	// seen by a later request stays.
	Gone []Gone
	// Swap replaces a small fact, if it still is what the caller read: else the
	// batch is committed without it and Merged.Swapped is false.
	Swap *Swap
	// Asked are operations whose single read, because a pass had not shown them,
	// was answered; Candidates names them again only after the next pass.
	Asked []string
}

// Gone is an operation that the service does not have, as the answer to a request
// sent at the store's time At says.
type Gone struct {
	OPID string
	At   time.Time
}

// Swap is a fact as it was read and as it shall be.
type Swap struct{ Name, Old, New string }

// Event is what a webhook tells about an operation. Words are filled in only
// when the meaning of the codes is known; otherwise they stay empty and the
// operation is owed a read.
type Event struct {
	OPID, CUID                               string
	Status, Type, PaymentType                string // words, or ""
	Visible                                  *bool
	Created, Updated                         time.Time
	SourceAccount, Beneficiary               string // identifiers
	Source, Destination, Commission, Balance *api.Money
	Seen                                     time.Time
}

// Record is an operation of the index.
type Record struct {
	Op      api.Operation
	Origin  Origin
	Seen    time.Time // when the last request was sent that showed this state; zero: never seen at the service
	Changed time.Time // when this state was first seen here
	Owed    bool      // a single read is due: the state may be incomplete or outdated
	Gone    time.Time // when the service was first known not to have it; zero: it has
}

// Merged counts what became of a batch.
type Merged struct {
	New, Changed, Same, Older int
	Refused                   int      // no usable identifier
	Gone, Back                int      // left the list; came back into it
	Swapped                   bool     // the batch's Swap was made
	Touched                   []string // opids of New and Changed, at most 1,000
}

// fresh reports whether the batch brought anything.
func (m Merged) fresh() bool { return m.New+m.Changed+m.Gone > 0 }

// Sort is an order of rows. Equal ones stand newest first.
type Sort struct {
	Field string // one of SortFields; "" is created
	Desc  bool
}

// SortFields are the fields that an order may name.
var SortFields = field.Operations.Sortable()

// ErrSort says that a field cannot be sorted by.
var ErrSort = errors.New("index: rows cannot be sorted by that field")

// ParseSort reads FIELD or -FIELD (descending). Empty is the newest first; other
// names of a field are understood.
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

// UsualSort is the order by a field of SortFields that people mostly want: the
// largest or newest first, words and names from their beginning.
func UsualSort(name string) Sort {
	return Sort{Field: name, Desc: field.Operations.Get(name).Kind.Ordered()}
}

// By is the field that rows are ordered by.
func (s Sort) By() string { return cmp.Or(s.Field, field.OpCreated) }

// String is FIELD or -FIELD.
func (s Sort) String() string {
	if s.Desc {
		return "-" + s.By()
	}
	return s.By()
}

// Query asks for rows around a place in the filtered, sorted list.
type Query struct {
	Filter filter.OperationExpr
	Sort   Sort
	// Anchor is the opid that the window is around; "" for the beginning (or
	// the end, with FromEnd). The anchor itself need not pass the filter.
	Anchor  string
	FromEnd bool
	Skip    int // rows left out after the anchor or the beginning
	Before  int // rows before the anchor
	After   int // rows after the anchor (which is not counted), or from the beginning
}

// Window is the answer: rows in order.
type Window struct {
	Rows     []Record
	AnchorAt int  // the anchor's place in Rows, -1 when it is not there
	More     bool // there are rows behind
}

// Sum is how many operations there are of a currency and what they sum up to.
type Sum struct {
	Currency untrusted.Text
	Count    int64
	Amount   *apd.Decimal // exact
	Bad      int64        // of Count: amounts that are missing or not numbers, not in Amount
}

// Sheet is what an export writes: the operations that pass the filter, in order, or
// their totals.
type Sheet struct {
	Filter filter.OperationExpr
	Sort   Sort
	Totals bool
	By     []By // of totals
	Format Format
}

// String words the sheet for the audit trail.
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

// State is one state of an operation in its history.
type State struct {
	Op      api.Operation
	At      time.Time // when it was first seen here
	Origin  Origin
	Current bool
	Gone    bool // from here on the service did not have it; Op is the state before
}

// Sights is how long ago the rows of the index were seen, in the store's time.
type Sights struct {
	Rows           int64     // in the list
	Gone           int64     // known, and not at the service any more
	Unseen         int64     // of Rows: never seen at the service, counted to 1,000
	Oldest, Newest time.Time // of the rows that were seen; zero: none
}

// Place is where an operation is in a list.
type Place struct {
	Before, Total int64 // rows before it, rows in all
	In            bool  // it passes the filter
}

// ErrNone says that the index does not hold the operation.
var ErrNone = errors.New("index: the operation is not in the index yet")

// Store keeps one scope's operations: those of one machine account of one
// service. Its methods may be called from many goroutines and processes.
type Store interface {
	// Now is the store's time: one clock for all processes that share it, which no
	// setting of a host's clock moves. Everything that is compared between hosts or
	// kept for later is a time of this clock.
	Now(ctx context.Context) (time.Time, error)
	// Snapshot runs fn with a Store that answers every question from one state of
	// the index. fn must only read, and only through that Store.
	Snapshot(ctx context.Context, fn func(Store) error) error
	// Put commits a batch. More than a few thousand entries hold the write lock for
	// long.
	Put(ctx context.Context, b Batch) (Merged, error)
	// Sights says how long ago the rows were seen, by indexed lookups.
	Sights(ctx context.Context) (Sights, error)
	// Candidates lists rows that no request since t has shown, and that were not
	// asked for alone since then, oldest first.
	Candidates(ctx context.Context, t time.Time, limit int) ([]string, error)
	// ForgetSights forgets all sights: the store's clock was set back, and nobody knows
	// how long ago they were.
	ForgetSights(ctx context.Context) error
	// Reset drops all rows of the scope, and the facts named.
	Reset(ctx context.Context, facts ...string) error
	// Get returns one operation, ErrNone when there is none; also one that is gone.
	Get(ctx context.Context, opid string) (Record, error)
	Window(ctx context.Context, q Query, now time.Time) (Window, error)
	// Each calls fn for every row in order, from a list that is frozen before the
	// first call: no row comes twice, however the index changes. total is its length.
	Each(ctx context.Context, f filter.OperationExpr, s Sort, now time.Time, fn func(total int, r Record) error) error
	Count(ctx context.Context, f filter.OperationExpr, now time.Time) (int64, error)
	Place(ctx context.Context, f filter.OperationExpr, s Sort, opid string, now time.Time) (Place, error)
	// Totals sums and counts all that the filter lets through, divided by the
	// groupings, at most two, into at most limit parts each (0: all), by one question.
	Totals(ctx context.Context, f filter.OperationExpr, by []By, limit int, now time.Time) (Group, error)
	// Timeline counts by time of creation.
	Timeline(ctx context.Context, f filter.OperationExpr, now time.Time) (Timeline, error)
	// Values lists values of a field that hold what was typed.
	Values(ctx context.Context, field, typed string, limit int) ([]string, error)

	// Owed lists operations whose single read is due, longest first.
	Owed(ctx context.Context, now time.Time, limit int) ([]string, error)
	// Owe makes a single read of an operation due, whether it is in the list or not.
	Owe(ctx context.Context, opid string, at time.Time) error
	// Postpone puts off a read that failed.
	Postpone(ctx context.Context, opid string, until time.Time) error

	// Version grows with every change that any process makes.
	Version(ctx context.Context) (int64, error)
	// Meta reads and SetMeta writes a small fact; missing is "".
	Meta(ctx context.Context, name string) (string, error)
	SetMeta(ctx context.Context, name, value string) error
	// Lease takes or prolongs a lease for owner if it is free, theirs, that of over, run
	// out or longer than ttl ahead (the clock was set back), and reports whether owner
	// holds it. now is the store's time. Leased says who has it; Release gives it back.
	Lease(ctx context.Context, name, owner, over string, now time.Time, ttl time.Duration) (bool, error)
	Leased(ctx context.Context, name string) (Lease, error)
	Release(ctx context.Context, name, owner string) error

	// History returns the states of an operation, oldest first, the present last.
	History(ctx context.Context, opid string) ([]State, error)
	// MarkSeen notes that a person has seen the operation ("" for the list).
	MarkSeen(ctx context.Context, person, opid string, at time.Time) error
	// LastSeen is when that was; the zero time for never.
	LastSeen(ctx context.Context, person, opid string) (time.Time, error)
}
