package receiver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"opdeck/api/hook"
	"opdeck/api/untrusted"
)

// Status is the status of a stored delivery.
type Status string

// The statuses.
const (
	Verified    Status = "verified"    // authenticated
	Unverified  Status = "unverified"  // accepted without authentication: by hand, or verify = "none"
	Quarantined Status = "quarantined" // stored unchanged, but unusable
	Conflict    Status = "conflict"    // has the hook_id of another stored delivery, but another body
)

// Source says where a delivery came from.
type Source string

// Manual is the source of deliveries entered by hand; the others are addresses.
const Manual Source = "manual"

// Record is a delivery to store.
type Record struct {
	// Key identifies it in the inbox: the hook_id; "sha256:" and the body's hash without a trusted one; hook_id, "#"
	// and the hash for a conflict.
	Key        string
	HookID     string // "" without a trusted one
	Type       hook.Type
	Object     hook.Object    // "" when unknown
	ObjectID   untrusted.Text // at most 128 visible ASCII characters
	CUID       untrusted.Text // likewise
	Raw        []byte
	Hash       [sha256.Size]byte // of Raw
	ReceivedAt time.Time
	Source     Source
	Verdict    hook.Verdict
	Status     Status
	Reason     hook.Reason // why it is unusable, or ""
	Detail     string      // a sentence about Reason, safe to print

	// Token is what must be stored of a token that does not cover the body; else nil. It is not read back.
	Token *hook.TokenUse
}

// ConflictKey is the key of r beside another delivery with its id.
func (r Record) ConflictKey() string { return r.Key + "#" + hex.EncodeToString(r.Hash[:]) }

// Stored is a delivery in the inbox.
type Stored struct {
	Record
	Seq        int64     // increases with every new row, in commit order
	Deliveries int       // how often it was received
	LastAt     time.Time // when it was last received
	Retry      Retry     // why it is not in the index yet; zero if it is
}

// Alarming reports whether a person should check it.
func (s Stored) Alarming() bool { return s.Status == Conflict || s.Status == Quarantined }

// Event decodes the stored body.
func (s Stored) Event() (hook.Event, error) {
	e, err := hook.Decode(s.Raw)
	return e.Event, err
}

// Outcome is the result of storing a record.
type Outcome string

// The outcomes.
const (
	OutcomeNew       Outcome = "new"
	OutcomeDuplicate Outcome = "duplicate" // the same body was stored already
	OutcomeConflict  Outcome = "conflict"  // a new row beside another body with that hook_id
	OutcomeReused    Outcome = "reused"    // not stored: a late token was used before with another body
)

// Result is the result for one record.
type Result struct {
	Outcome Outcome
	Stored  Stored // the row with the body
}

// Filter selects rows. Zero fields select all.
type Filter struct {
	HookID   string // the row with that id and its conflicts
	Types    []hook.Type
	Object   hook.Object
	ObjectID string
	Statuses []Status
	Since    time.Time // received at or after
	Until    time.Time // received before
	Waiting  bool      // only those that wait to be merged again
	Before   int64     // Seq below: the next page
	Limit    int       // 0: 100; at most 1000
}

// Match reports whether the filter selects s, regardless of Before and Limit.
func (f Filter) Match(s Stored) bool {
	return (f.HookID == "" || f.HookID == s.HookID) && anyOf(f.Types, s.Type) && anyOf(f.Statuses, s.Status) &&
		(f.Object == "" || f.Object == s.Object) && (f.ObjectID == "" || f.ObjectID == string(s.ObjectID)) &&
		(!f.Waiting || s.Retry.Waiting()) && (f.Since.IsZero() || !s.ReceivedAt.Before(f.Since)) &&
		(f.Until.IsZero() || s.ReceivedAt.Before(f.Until))
}

func anyOf[T comparable](set []T, v T) bool {
	return len(set) == 0 || slices.Contains(set, v)
}

// Count is the number of rows of a type with a status.
type Count struct {
	Type   hook.Type
	Status Status
	N      int64
}

// Arrivals are some of the newest deliveries.
type Arrivals struct {
	N    int
	Last time.Time     // when the newest arrived; zero for none
	Most time.Duration // the longest pause between two of them
}

// A silence is unusual if it is longer than Silence and twice the longest pause among at least fewArrivals deliveries.
const (
	Silence     = 5 * time.Minute
	fewArrivals = 12
)

// Stalled reports whether the silence until now is unusual.
func (a Arrivals) Stalled(now time.Time) bool {
	return a.N >= fewArrivals && now.Sub(a.Last) > max(Silence, 2*a.Most)
}

// ErrNotFound: the inbox has no such delivery.
var ErrNotFound = errors.New("the inbox has no such event")

// Inbox stores one machine account's deliveries for all processes that share a database; other accounts' are
// separate. It never forgets an id.
type Inbox interface {
	// Insert stores a record durably. After an error it may be stored; inserting it again is safe.
	Insert(ctx context.Context, r Record) (Result, error)
	// Get returns the row with that key, ErrNotFound if there is none.
	Get(ctx context.Context, key string) (Stored, error)
	// List returns rows, newest first.
	List(ctx context.Context, f Filter) ([]Stored, error)
	// After returns rows with a Seq above seq, oldest first. No later row gets a Seq below a returned one.
	After(ctx context.Context, seq int64, limit int) ([]Stored, error)
	// LastSeq returns the highest Seq, 0 for an empty inbox.
	LastSeq(ctx context.Context) (int64, error)
	// Counts returns the number of rows by type and status.
	Counts(ctx context.Context) ([]Count, error)
	// Arrivals summarises the deliveries among the last rows that came from the network and are not quarantined.
	Arrivals(ctx context.Context, rows int) (Arrivals, error)
}

// Retry is an event that could not be merged into the index and is retried.
type Retry struct {
	Key    string
	Tries  int    // so far; 0: it does not wait
	Reason string // of the last try, a sentence
	First  time.Time
	Last   time.Time
	Next   time.Time // time of the next try
}

// Waiting reports whether the event waits to be merged again.
func (r Retry) Waiting() bool { return r.Tries > 0 }

// Backlog is how far the index is behind the inbox.
type Backlog struct {
	Behind  int64     // events not merged or tried yet; counted up to MaxBehind
	Waiting int64     // events to be merged again
	Oldest  time.Time // first try of the longest waiting one
	Next    time.Time // time of the next try
	Reason  string    // of the last failure
}

// MaxBehind is the limit of Backlog.Behind.
const MaxBehind = 10_000

// Ledger records how far an inbox was merged into an index, and what failed. Every event up to the mark is in the
// index or in the list of retries.
type Ledger interface {
	// Merged returns the mark: the Seq up to which events were merged or listed for retry.
	Merged(ctx context.Context) (int64, error)
	// Advance lists the failures and moves the mark to seq in one transaction. The mark never moves back; another
	// failure of a listed event is counted.
	Advance(ctx context.Context, seq int64, failed ...Retry) error
	// Settle removes a key from the list.
	Settle(ctx context.Context, key string) error
	// Due returns the events to retry at now, longest overdue first. A time on another host's clock counts as at most
	// MaxRetry ahead.
	Due(ctx context.Context, now time.Time, limit int) ([]Retry, error)
	// Backlog summarises the ledger.
	Backlog(ctx context.Context) (Backlog, error)
}

// The intervals between tries of one event double from the first to the last.
const (
	FirstRetry = 5 * time.Second
	MaxRetry   = time.Hour
)

// Again is r after another failed try at now.
func (r Retry) Again(key, reason string, now time.Time) Retry {
	if r.Tries == 0 {
		r = Retry{Key: key, First: now}
	}
	pause := FirstRetry
	for range min(r.Tries, 20) {
		pause = min(2*pause, MaxRetry)
	}
	r.Tries++
	r.Reason, r.Last, r.Next = reason, now, now.Add(pause)
	return r
}
