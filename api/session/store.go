package session

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"time"

	"opdeck/api/limit"
	"opdeck/api/secret"
)

// Key names a session: one machine account at one service. Make it with
// NormalKey, so that two spellings are one session (rule A2).
type Key = limit.Key

// PairState says what is known of the stored pair.
type PairState string

// The states of a pair.
const (
	None     PairState = "none"     // there is none
	Live     PairState = "live"     // installed and not known to be dead
	Doubtful PairState = "doubtful" // may be dead; its refresh token is erased
)

// Phase is where the lease stands.
type Phase string

// The phases of a lease.
const (
	Free        Phase = "free"
	Held        Phase = "held"         // somebody may rotate; nothing was sent
	SentRefresh Phase = "sent_refresh" // written before the request leaves
	SentLogin   Phase = "sent_login"
)

// Sent reports whether a request may be on its way.
func (p Phase) Sent() bool { return p == SentRefresh || p == SentLogin }

// Errors of a Store, besides those of the database and the context.
var (
	// ErrFenced: the lease is not ours any more (or the row is another
	// incarnation); nothing was written.
	ErrFenced = errors.New("session: another process has taken the lease")
	// ErrStoreLost: the store was taken away from under this process, and others may
	// share another one by now. A pair from memory must not be used any more.
	ErrStoreLost = errors.New("session: the store was deleted or replaced under this process")
)

// Maxima that a stored time is cut to when it lies further ahead; the cut value
// is written back (rule G3). A lease is cut to its own length, tokens to their
// lifetimes.
const (
	MaxBackoff   = 5 * time.Minute
	MaxPremature = 8   // kept in a row, newest last
	MaxBlocks    = 8   // kept in a row, newest last
	MaxEvents    = 500 // kept per key at least
)

// Owner is one process, for people and for CAS.
type Owner struct {
	ID      string `json:"id"` // random 128 bits, hex, per process start
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	User    string `json:"user"`
	Version string `json:"version"`
}

// newID returns 128 random bits in hex.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// Premature records a pair that died before its time.
type Premature struct {
	Gen   int64         `json:"gen"`
	Lived time.Duration `json:"lived"` // age of the pair when the service refused it
	Used  bool          `json:"used"`  // a route had accepted it before, so that something ended it
	Ago   time.Duration `json:"-"`     // since it was recorded; set by the store, ≥ 0
}

// Reasons of a Block.
const (
	BlockRefused   = "refused"
	BlockTwoFactor = "two_factor"
	BlockUnclear   = "unclear" // refused, by the password or for want of a code
	// BlockUnreadable: logins succeed, and their answer holds no pair that can be read.
	BlockUnreadable = "unreadable"
)

// Block records a credential that the service refused (rule D6).
type Block struct {
	Fingerprint string        `json:"fingerprint"` // HMAC, see Row.Pepper
	Reason      string        `json:"reason"`      // BlockRefused, BlockTwoFactor or BlockUnclear
	Said        string        `json:"said"`        // the service's words, safe to draw; "" for none
	Tries       int           `json:"tries"`       // refusals so far, ≥ 1
	Ago         time.Duration `json:"-"`           // since the last refusal; set by the store, ≥ 0
}

// Origin is where the rows of a store come from.
type Origin string

// The origins.
const (
	Own      Origin = ""
	Restored Origin = "restored" // an older state of the store than was used before
	Copied   Origin = "copied"   // a copy of another state folder, or one that was moved
)

// Row is the state of a session as one read saw it. All durations are relative
// to the moment of the read, by the store's own clock (rule G1): a host's clock
// is never compared with another's.
type Row struct {
	Incarnation string // random 128 bits, hex; another value is another session
	Gen         int64  // pairs installed so far in this incarnation
	State       PairState

	Access     secret.Value  // empty unless a pair was installed
	Refresh    secret.Value  // empty when there is none or it is not to be used
	AccessTTL  time.Duration // lifetime at installation
	RefreshTTL time.Duration
	AccessLeft time.Duration // ≤ AccessTTL; 0 when over
	RefreshLeft,
	Age time.Duration // Age of the pair since Install, ≥ 0
	From Kind  // how the pair was made
	By   Owner // who installed it

	// Origin says what Acquire has noticed about the store; only its answer has it.
	Origin Origin

	Routes []RouteMark // what routes have shown, newest last; an acceptance counts for its Gen only

	Fence     int64 // leases granted so far in this incarnation
	Owner     Owner // holder of the last lease
	Phase     Phase
	HasLock   bool          // the holder also holds the liveness lock (rule L1)
	LeaseFor  time.Duration // length of the lease
	LeaseLeft time.Duration // ≤ LeaseFor; 0 when over or Free

	Fails       int           // failed rotations in a row
	LoginWait   time.Duration // left of login_not_before, ≤ MaxBackoff
	RefreshWait time.Duration // left of refresh_not_before, ≤ MaxBackoff
	Premature   []Premature   // oldest first, ≤ MaxPremature
	Blocks      []Block       // oldest first, ≤ MaxBlocks

	// Pepper keys the fingerprints of passwords. It is the same for all processes
	// of the key and known only to those that can unseal its tokens (derived from
	// the sealing key, for instance).
	Pepper secret.Value
	// At is the store's wall clock at the read, for people only.
	At time.Time
}

// Kind of a rotation.
type Kind string

// The kinds.
const (
	ByLogin   Kind = "login"
	ByRefresh Kind = "refresh"
)

// Claim asks for the lease (rules C2, E4).
type Claim struct {
	// Incarnation, Gen and Fence must equal the row's.
	Incarnation string
	Gen         int64
	Fence       int64

	Owner   Owner
	HasLock bool
	For     time.Duration // lease_held
	// Over: the caller's own clock or the liveness lock says that the holder is
	// gone, whatever the store's clock says (rules G2, L2).
	Over bool
	// Doubt: the pair was refused before its time; it becomes DOUBTFUL and its
	// refresh token is erased, as when a SENT lease is taken over.
	Doubt bool
	// Premature is added to the row's list when not nil (Ago is the store's).
	Premature *Premature
	// Renew gives the row a new random incarnation (and keeps everything else):
	// it was rolled back, and must look different to everybody (rule A3).
	Renew bool
}

// Mark announces a request before it leaves (rule C4).
type Mark struct {
	Incarnation string
	Fence       int64
	Owner       string        // Owner.ID
	Kind        Kind          // the phase becomes SentLogin or SentRefresh
	For         time.Duration // lease_sent, from now
	Rule        limit.Rule    // of the class login or refresh
}

// Install stores a new pair (rules C6, D1).
type Install struct {
	Incarnation string
	Fence       int64
	Kind        Kind
	Access      secret.Value
	Refresh     secret.Value // may be empty: the next rotation is a login
	AccessTTL   time.Duration
	RefreshTTL  time.Duration
	// Elapsed since the request left: lifetimes count from then, so
	// AccessLeft = AccessTTL - Elapsed. The store adds nothing for its own delay.
	Elapsed time.Duration
	By      Owner
	// RefreshWait keeps refreshes off for a while; 0 clears it.
	RefreshWait time.Duration
}

// Release gives the lease back without a new pair. Zero fields change nothing.
type Release struct {
	Incarnation string
	Fence       int64
	// State: "" keeps the pair; Doubtful erases the refresh token; None erases
	// both tokens.
	State PairState
	// Spent erases the refresh token and keeps the pair: the service refused it for
	// a reason that says nothing about the access token (rule D6).
	Spent       bool
	LoginWait   time.Duration // > 0: login_not_before = now + LoginWait
	RefreshWait time.Duration
	Fail        bool   // Fails + 1
	Block       *Block // added or, with the same fingerprint, replaced; Ago becomes 0
	// Clear forgets back-off, blocks, premature deaths and Fails (auth reset).
	Clear bool
}

// EventKind says what an Event tells.
type EventKind string

// The kinds of events.
const (
	EventLogin        EventKind = "login"        // a login ended, Outcome says how
	EventRefresh      EventKind = "refresh"      // a refresh ended
	EventTakeover     EventKind = "takeover"     // a holder was gone
	EventUnauthorized EventKind = "unauthorized" // a call was answered with 401
	EventPremature    EventKind = "premature"    // a pair died before its time
	EventRoute        EventKind = "route"        // one route refuses a pair that another one accepts
	EventBlocked      EventKind = "blocked"      // a credential was refused for good
	EventRollback     EventKind = "rollback"     // the store returned to an older state in time
	EventClock        EventKind = "clock"        // this host's clock jumped
	EventReset        EventKind = "reset"        // somebody reset the session
	EventFenced       EventKind = "fenced"       // a pair came too late and was dropped
)

// Event is one line of the session's history, shared by all processes.
type Event struct {
	Seq     int64         `json:"seq"` // ascending per key; set by the store
	At      time.Time     `json:"at"`  // the store's wall clock; set by the store
	Kind    EventKind     `json:"kind"`
	Outcome Outcome       `json:"outcome,omitempty"` // of a rotation
	Reason  string        `json:"reason,omitempty"`  // why it was done, or what an unauthorized answer meant
	Took    time.Duration `json:"took,omitempty"`
	Fence   int64         `json:"fence,omitempty"`
	Gen     int64         `json:"gen"`              // after a rotation; else the one used
	Age     time.Duration `json:"age,omitempty"`    // of the pair concerned
	Left    time.Duration `json:"left,omitempty"`   // of its access token
	Status  int           `json:"status,omitempty"` // HTTP status, 0 when there was none
	Route   string        `json:"route,omitempty"`  // that refused a pair
	By      string        `json:"by,omitempty"`     // that accepted the same pair afterwards, or refused it as well
	Known   bool          `json:"known,omitempty"`  // some route had accepted the pair before
	Served  time.Time     `json:"served,omitzero"`  // the service's Date header
	// Detail is text of ours; of the service at most where a redirection leads.
	Detail    string `json:"detail,omitempty"`
	Permanent bool   `json:"permanent,omitempty"` // no further try mends it
	Owner     Owner  `json:"owner"`               // who did or saw it
	Session   string `json:"incarnation"`         // Row.Incarnation
}

// Counted reports whether Count counts the event: rotations that went well, and
// everything that is not a rotation.
func (e Event) Counted() bool {
	return (e.Kind != EventLogin && e.Kind != EventRefresh) || e.Outcome == OK
}

// Instance is a process that uses the session.
type Instance struct {
	Owner   Owner         `json:"owner"`
	Started time.Time     `json:"started"`   // the store's wall clock
	Ago     time.Duration `json:"-"`         // since it was last seen, ≥ 0
	SeenAt  time.Time     `json:"last_seen"` // the store's wall clock
	Sure    bool          `json:"-"`         // the store knows whether it runs, beyond its heartbeat
	Gone    bool          `json:"-"`         // it has ended
}

// Store keeps sessions for all processes. Every method is one transaction
// (SQLite: one statement or BEGIN IMMEDIATE; PostgreSQL: one statement or a
// transaction that locks the row first), none waits for anything but the
// database. Implementations seal both tokens, bound by associated data to key,
// incarnation and gen; they never log or return a sealed or open token in an
// error. Every method that finds stored times in the future beyond their maximum
// cuts them and writes them back (rule G3).
//
// Comparisons are equality on incarnation, gen and fence, never "greater"
// (rule A3). A lost comparison is not an error where a bool or ErrFenced says so.
type Store interface {
	limit.Store

	// Load reads the row and creates it (State None, Phase Free, a new
	// incarnation, zero counters) when there is none. A row whose tokens cannot be
	// unsealed loads as State Doubtful with empty tokens.
	Load(ctx context.Context, key Key) (Row, error)

	// Enter reads the row, asks usable, and, if it agrees, does limit's Take, all
	// in one transaction (rule B1). If usable refuses, the Grant is zero and a
	// ticket in req keeps its slot. usable is quick and touches nothing.
	Enter(ctx context.Context, key Key, req limit.Request, usable func(Row) bool) (Row, limit.Grant, error)

	// Acquire takes the lease if incarnation, gen and fence are as claimed and the
	// lease is Free, over by the store's clock, or Claim.Over: Fence + 1, Phase
	// Held. Taking over a SENT phase sets a pair that is Live to Doubtful and erases its
	// refresh token. It returns the row as it is after the attempt, and whether
	// the lease is now the caller's. Doubt and Premature apply only when it is.
	Acquire(ctx context.Context, key Key, claim Claim) (Row, bool, error)

	// Mark, in one transaction: the row has this incarnation and fence, its owner
	// is Mark.Owner, its phase is not Free and its lease not over (else
	// ErrFenced); a slot of the class login or refresh is free now by limit.Decide
	// with MaxWait 0 (else the wait until it is, > 0, and nothing is written); then the
	// phase is set, the lease restarted and the slot taken (rule F2: it stays
	// taken). A wait of 0 means: send.
	Mark(ctx context.Context, key Key, m Mark) (wait time.Duration, err error)

	// Install stores the pair if incarnation and fence are as given and the phase
	// is Sent: Gen + 1, Live, Free, Fails 0, waits cleared. The deadline of the
	// lease does not matter (rule C6). Repeating it after it was done (same fence,
	// the stored access token is the given one) answers the same row again
	// (rule A8). Else ErrFenced.
	Install(ctx context.Context, key Key, in Install) (Row, error)

	// Release frees the lease if incarnation and fence are as given and the phase
	// is not Free, and applies the changes; else ErrFenced.
	Release(ctx context.Context, key Key, r Release) error

	// MarkRoute keeps what a route has shown about the pair mark.Gen of an incarnation, by
	// AddRoute; another pair's is dropped.
	MarkRoute(ctx context.Context, key Key, incarnation string, mark RouteMark) error

	// Log adds to the history and drops the oldest beyond MaxEvents.
	Log(ctx context.Context, key Key, e Event) error

	// Events returns the newest n events with Seq > after, oldest first.
	Events(ctx context.Context, key Key, after int64, n int) ([]Event, error)

	// Count returns how many events of each kind were ever logged for the key (those
	// for which Event.Counted is true), including dropped ones.
	Count(ctx context.Context, key Key) (map[EventKind]int64, error)

	// Beat says that a process is alive; Leave that it has gone. Instances not seen
	// for a day are dropped.
	Beat(ctx context.Context, key Key, o Owner) error
	Leave(ctx context.Context, key Key, ownerID string) error
	// Instances returns those known, newest first.
	Instances(ctx context.Context, key Key) ([]Instance, error)
}

// ChangeNotifier is what a Store may offer besides (rule A7): a value on changed soon after
// another process installed a pair or gave the lease back, until stop. It is a
// hint: values may be missing or come without a change, and changed may be nil.
type ChangeNotifier interface {
	Changed(key Key) (changed <-chan struct{}, stop func())
}
