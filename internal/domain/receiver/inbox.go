package receiver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
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

// Attempt is one replay or forward of a stored delivery.
type Attempt struct {
	Key     string
	Act     string // "replay", "forward" or "local": through our own receiver
	Target  string // scheme, host and path only
	At      time.Time
	Status  int           // HTTP status, 0 without an answer
	Latency time.Duration // to the µs
	Error   string        // a sentence; "" with an answer
}

// OK reports whether the target accepted the delivery (2xx, or stored locally).
func (a Attempt) OK() bool { return a.Error == "" && a.Status >= 200 && a.Status < 300 }

// ErrNotFound: the inbox has no such delivery.
var ErrNotFound = errors.New("the inbox has no such event")

// Inbox stores one machine account's deliveries for all processes that share a database; other accounts' are
// separate. It never forgets an id.
type Inbox interface {
	// Insert stores records in order, all or none, durably. After an error they may be stored; inserting them again
	// is safe.
	Insert(ctx context.Context, records []Record) ([]Result, error)
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
	// Times returns the arrival times of the newest deliveries from the network, newest first, without manual and
	// quarantined ones.
	Times(ctx context.Context, limit int) ([]time.Time, error)
	// Before returns when the deliveries that Times counts arrived last: the first time from end on, and at most limit
	// times before it, in any order.
	Before(ctx context.Context, end time.Time, limit int) ([]time.Time, error)
	// AddAttempt stores an attempt, Attempts returns those of a key, newest first.
	AddAttempt(ctx context.Context, a Attempt) error
	Attempts(ctx context.Context, key string) ([]Attempt, error)
	// AddPairs stores what an operation's reads and events show about codes. A repeated pair counts once.
	AddPairs(ctx context.Context, pairs []hook.Pair) error
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

// maxBatch is the most deliveries in one commit. While a batch is written, the next ones are read and verified. If a
// commit takes longer than slow, the next batch waits until it is full.
const (
	maxBatch = 64
	enough   = 32
	slow     = 4 * time.Millisecond
)

// linger is the longest that a batch waits to reach the size of the previous one. Senders that got their answers
// together send again nearly together: the first of them alone is not worth a commit. A single sender never waits.
const linger = time.Millisecond

// Why a delivery could not be stored; the sender should retry.
var (
	ErrQueueFull = errors.New("the queue to the inbox is full")
	ErrClosed    = errors.New("the receiver is closed")
)

// batcher stores records from many callers in few commits: while one commit runs, it collects the next batch.
type batcher struct {
	inbox   Inbox
	timeout time.Duration  // of one commit, and of one record's wait for it
	stored  func([]Result) // after the answers to a commit

	in      chan *pending
	stop    chan struct{} // closed once: accept no more, finish what waits
	once    sync.Once
	stopped chan struct{} // closed by run when it has finished
}

type pending struct {
	rec    Record
	answer chan answer // with room for one, so that the batcher never waits for a caller that left
}

type answer struct {
	res Result
	err error
}

func newBatcher(inbox Inbox, queue int, timeout time.Duration, stored func([]Result)) *batcher {
	b := &batcher{inbox: inbox, timeout: timeout, stored: stored, in: make(chan *pending, queue),
		stop: make(chan struct{}), stopped: make(chan struct{})}
	go b.run()
	return b
}

// put queues rec and waits until it is durable. If ctx or the batcher's timeout ends first, the record may still be
// stored.
func (b *batcher) put(ctx context.Context, rec Record) (Result, error) {
	p := &pending{rec: rec, answer: make(chan answer, 1)}
	select {
	case <-b.stop:
		return Result{}, ErrClosed
	default:
	}
	select {
	case b.in <- p:
	default:
		return Result{}, ErrQueueFull
	}
	late := time.NewTimer(b.timeout) // five times cheaper than a context with a deadline
	defer late.Stop()
	select {
	case a := <-p.answer:
		return a.res, a.err
	case <-ctx.Done():
		return Result{}, ctx.Err()
	case <-late.C:
		return Result{}, context.DeadlineExceeded
	case <-b.stopped:
	}
	select { // the last batch may have had it
	case a := <-p.answer:
		return a.res, a.err
	default:
		return Result{}, ErrClosed
	}
}

func (b *batcher) run() {
	defer close(b.stopped)
	batch := make([]*pending, 0, maxBatch)
	var took time.Duration // of the last commit
	for {
		select {
		case p := <-b.in:
			want := len(batch)
			if took < slow {
				want = min(want, enough)
			}
			batch = b.await(b.gather(append(batch[:0], p)), want)
			began := time.Now()
			b.commit(batch)
			took = time.Since(began)
		case <-b.stop:
			for {
				rest := b.gather(batch[:0])
				if len(rest) == 0 {
					return
				}
				b.commit(rest)
			}
		}
	}
}

// gather adds what already waits, up to maxBatch.
func (b *batcher) gather(batch []*pending) []*pending {
	for len(batch) < maxBatch {
		select {
		case p := <-b.in:
			batch = append(batch, p)
		default:
			return batch
		}
	}
	return batch
}

// await adds what arrives within linger, until there are want.
func (b *batcher) await(batch []*pending, want int) []*pending {
	if len(batch) >= want {
		return batch
	}
	t := time.NewTimer(linger)
	defer t.Stop()
	for len(batch) < want {
		select {
		case p := <-b.in:
			batch = append(batch, p)
		case <-t.C:
			return batch
		case <-b.stop:
			return batch
		}
	}
	return b.gather(batch)
}

func (b *batcher) commit(batch []*pending) {
	records := make([]Record, len(batch))
	for i, p := range batch {
		records[i] = p.rec
	}
	ctx, cancel := context.WithTimeout(context.Background(), b.timeout)
	defer cancel()
	results, err := b.inbox.Insert(ctx, records)
	if err == nil && len(results) != len(batch) {
		err = errors.New("the inbox answered for another number of events")
	}
	for i, p := range batch {
		a := answer{err: err}
		if err == nil {
			a.res = results[i]
		}
		p.answer <- a
	}
	if err == nil {
		b.stored(results)
	}
}

// close stores what is queued and stops.
func (b *batcher) close(ctx context.Context) error {
	b.once.Do(func() { close(b.stop) })
	select {
	case <-b.stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
