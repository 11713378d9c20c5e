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

// Status says what a stored delivery is worth.
type Status string

// The statuses.
const (
	Verified    Status = "verified"    // authenticated
	Unverified  Status = "unverified"  // taken without authentication: by hand, or verify = "none"
	Quarantined Status = "quarantined" // kept as it came, because it cannot be used
	Conflict    Status = "conflict"    // the hook_id of another stored delivery, with another body
)

// Source says how a delivery came in.
type Source string

// Manual is the source of deliveries put in by hand; the others are addresses.
const Manual Source = "manual"

// Record is one delivery to be stored.
type Record struct {
	// Key is the identity in the inbox: the hook_id; "sha256:" and the body's
	// hash when there is none to trust; hook_id, "#" and the hash for a conflict.
	Key        string
	HookID     string // "" when there is none to trust
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
	Reason     hook.Reason // why it is set aside, else ""
	Detail     string      // a sentence about that, safe to print

	// Token is what must be remembered of a token that does not cover the body;
	// nil for every other delivery. It is not read back.
	Token *hook.TokenUse
}

// ConflictKey is the key under which r is kept beside another delivery of its id.
func (r Record) ConflictKey() string { return r.Key + "#" + hex.EncodeToString(r.Hash[:]) }

// Stored is a delivery in the inbox.
type Stored struct {
	Record
	Seq        int64     // rises with every new row, in the order of commit
	Deliveries int       // how often it came
	LastAt     time.Time // when it came last
	Retry      Retry     // why it is not in the index yet; zero when nothing is wrong
}

// Alarming reports whether a person should look at it.
func (s Stored) Alarming() bool { return s.Status == Conflict || s.Status == Quarantined }

// Event reads the stored body.
func (s Stored) Event() (hook.Event, error) {
	e, err := hook.Decode(s.Raw)
	return e.Event, err
}

// Outcome is what became of a record.
type Outcome string

// The outcomes.
const (
	OutcomeNew       Outcome = "new"
	OutcomeDuplicate Outcome = "duplicate" // the same body was there already
	OutcomeConflict  Outcome = "conflict"  // a new row beside another body of that hook_id
	OutcomeReused    Outcome = "reused"    // not stored: a late token that came before with another body
)

// Result is the answer to one record.
type Result struct {
	Outcome Outcome
	Stored  Stored // the row that holds the body
}

// Filter chooses rows. Zero fields choose all.
type Filter struct {
	HookID   string // the row of that id and its conflicts
	Types    []hook.Type
	Object   hook.Object
	ObjectID string
	Statuses []Status
	Since    time.Time // received at or after
	Until    time.Time // received before
	Waiting  bool      // only those that wait to be merged into the index again
	Before   int64     // Seq below: the next page
	Limit    int       // 0: 100; at most 1000
}

// Match reports whether the filter chooses s; Before and Limit do not matter.
func (f Filter) Match(s Stored) bool {
	return (f.HookID == "" || f.HookID == s.HookID) && anyOf(f.Types, s.Type) && anyOf(f.Statuses, s.Status) &&
		(f.Object == "" || f.Object == s.Object) && (f.ObjectID == "" || f.ObjectID == string(s.ObjectID)) &&
		(!f.Waiting || s.Retry.Waiting()) && (f.Since.IsZero() || !s.ReceivedAt.Before(f.Since)) &&
		(f.Until.IsZero() || s.ReceivedAt.Before(f.Until))
}

func anyOf[T comparable](set []T, v T) bool {
	return len(set) == 0 || slices.Contains(set, v)
}

// Count is how many rows of a type have a status.
type Count struct {
	Type   hook.Type
	Status Status
	N      int64
}

// Attempt is one replay or forward of a stored delivery.
type Attempt struct {
	Key     string
	Act     string // "replay", "forward" or "local": through our own receiver
	Target  string // scheme, host and path only
	At      time.Time
	Status  int           // HTTP status, 0 when there was no answer
	Latency time.Duration // µs are kept
	Error   string        // a sentence; "" when an answer came
}

// OK reports whether the target took the delivery (2xx, or stored locally).
func (a Attempt) OK() bool { return a.Error == "" && a.Status >= 200 && a.Status < 300 }

// ErrNotFound says that the inbox holds no such delivery.
var ErrNotFound = errors.New("the inbox holds no such event")

// Inbox keeps one machine account's deliveries for all processes that share a
// database: what came for one account never shows for another. It never forgets
// an id.
type Inbox interface {
	// Insert stores records in their order, all or none, and returns only when
	// they would survive a power cut. After an error it is unknown whether they
	// are stored; inserting them again is safe.
	Insert(ctx context.Context, records []Record) ([]Result, error)
	// Get returns the row with that key, ErrNotFound if there is none.
	Get(ctx context.Context, key string) (Stored, error)
	// List returns rows, newest first.
	List(ctx context.Context, f Filter) ([]Stored, error)
	// After returns rows with a Seq above seq, oldest first. No row appears
	// later with a Seq below one that was returned.
	After(ctx context.Context, seq int64, limit int) ([]Stored, error)
	// LastSeq returns the highest Seq, 0 for an empty inbox.
	LastSeq(ctx context.Context) (int64, error)
	// Counts returns the number of rows by type and status.
	Counts(ctx context.Context) ([]Count, error)
	// Times returns when the newest deliveries from the network came, newest
	// first. Deliveries by hand and quarantined ones do not count.
	Times(ctx context.Context, limit int) ([]time.Time, error)
	// AddAttempt keeps an attempt, Attempts returns those of a key, newest first.
	AddAttempt(ctx context.Context, a Attempt) error
	Attempts(ctx context.Context, key string) ([]Attempt, error)
}
