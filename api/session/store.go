package session

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"opdeck/api/jsontree"
	"opdeck/api/limit"
	"opdeck/api/reach"
	"opdeck/api/redact"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
)

// Key names a session: one machine account at one service. Make it with
// NormalKey, so that two spellings are one session (rule A2).
type Key = limit.Key

// PairState is what is known of the stored pair.
type PairState string

// The states of a pair.
const (
	None     PairState = "none"     // there is none
	Live     PairState = "live"     // installed and not known to be dead
	Doubtful PairState = "doubtful" // may be dead; its refresh token is erased
)

// Phase is the state of the lease.
type Phase string

// The phases of a lease.
const (
	Free        Phase = "free"
	Held        Phase = "held"         // a process may rotate; nothing was sent
	SentRefresh Phase = "sent_refresh" // written before the request leaves
	SentLogin   Phase = "sent_login"
)

// Sent reports whether a request may be on its way.
func (p Phase) Sent() bool { return p == SentRefresh || p == SentLogin }

// Errors of a Store, besides those of the database and the context.
var (
	// ErrFenced: this process has lost the lease (or the row has another incarnation); nothing was written.
	ErrFenced = errors.New("session: another process has taken the lease")
	// ErrStoreLost: the store was deleted or replaced while this process ran, and others may share another one by
	// now. A pair from memory must not be used any more.
	ErrStoreLost = errors.New("session: the store was deleted or replaced under this process")
)

// Maxima for stored times: a time further ahead is cut to its maximum and written back (rule G3). A lease is cut to
// its own length, tokens to their lifetimes.
const (
	MaxBackoff   = 5 * time.Minute
	MaxPremature = 8   // per row, newest last
	MaxBlocks    = 8   // per row, newest last
	MaxEvents    = 500 // least number kept per key
)

// Owner identifies a process, for people and for compare-and-swap.
type Owner struct {
	ID      string `json:"id"` // random 128 bits, hex, new at each process start
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

// Premature records a pair that died before it expired.
type Premature struct {
	Gen   int64         `json:"gen"`
	Lived time.Duration `json:"lived"` // age of the pair when the service refused it
	Used  bool          `json:"used"`  // a route had accepted it before, so that it was revoked
	Ago   time.Duration `json:"-"`     // since it was recorded; set by the store, ≥ 0
}

// Reasons of a Block.
const (
	BlockRefused   = "refused"
	BlockTwoFactor = "two_factor"
	// BlockUnreadable: a login may have succeeded, but its answer has no readable pair.
	BlockUnreadable = "unreadable"
)

// Block records a credential that the service refused (rule D6), or a login whose answer could not be read.
type Block struct {
	Fingerprint string        `json:"fingerprint"` // HMAC, see Row.Pepper: of the password, or of how answers are read
	Reason      string        `json:"reason"`
	Said        string        `json:"said"`             // its words, or what came instead of a pair; safe to draw
	Class       reach.Class   `json:"class"`            // what the answer says
	Tries       int           `json:"tries"`            // refusals so far, ≥ 1
	Status      int           `json:"status,omitempty"` // of an unreadable answer
	Key         string        `json:"key,omitempty"`    // see reach.Fault
	Ago         time.Duration `json:"-"`                // since the last refusal; set by the store, ≥ 0
}

// Origin says where the rows of a store come from.
type Origin string

// The origins.
const (
	Own      Origin = ""
	Restored Origin = "restored" // an older state of the store than this process has seen
	Copied   Origin = "copied"   // a copy of another state folder, or a moved one
)

// Row is the state of a session at one read. All durations are relative to the read, by the store's own clock (rule
// G1): clocks of different hosts are never compared.
type Row struct {
	Incarnation string // random 128 bits, hex; a new value is a new session
	Gen         int64  // pairs installed so far in this incarnation
	State       PairState

	Access     secret.Value  // empty before the first Install
	Refresh    secret.Value  // empty if there is none or it must not be used
	AccessTTL  time.Duration // lifetime at installation
	RefreshTTL time.Duration
	AccessLeft time.Duration // ≤ AccessTTL; 0: expired
	RefreshLeft,
	Age time.Duration // Age of the pair since Install, ≥ 0
	From Kind  // how the pair was obtained
	By   Owner // who installed it

	// Origin is what Acquire detected about the store; only its result has it.
	Origin Origin

	Routes []RouteMark // what routes have shown, newest last; an acceptance applies only to its Gen

	Fence     int64 // leases granted in this incarnation
	Owner     Owner // holder of the last lease
	Phase     Phase
	HasLock   bool          // the holder also holds the liveness lock (rule L1)
	LeaseFor  time.Duration // length of the lease
	LeaseLeft time.Duration // ≤ LeaseFor; 0 if expired or Free

	Fails       int           // consecutive failed rotations
	LoginWait   time.Duration // until login_not_before, ≤ MaxBackoff
	RefreshWait time.Duration // until refresh_not_before, ≤ MaxBackoff
	Premature   []Premature   // oldest first, ≤ MaxPremature
	Blocks      []Block       // oldest first, ≤ MaxBlocks

	// Pepper keys the fingerprints of passwords. All processes of the key share it, and only those that can unseal
	// its tokens know it (for example, it is derived from the sealing key).
	Pepper secret.Value
	// At is the store's wall clock at the read, for display only.
	At time.Time
}

// Kind is the kind of a rotation.
type Kind string

// The kinds.
const (
	ByLogin   Kind = "login"
	ByRefresh Kind = "refresh"
)

// Marks returns the class whose slot a request of this kind takes, and the phase while it may be on its way.
func (k Kind) Marks() (limit.Class, Phase) {
	if k == ByRefresh {
		return limit.Refresh, SentRefresh
	}
	return limit.Login, SentLogin
}

// SlotOf is the ticket of the slot that a Mark takes: its holder can give it back with Release.Unsent.
func SlotOf(incarnation string, fence int64) string { return fmt.Sprintf("%s/%d", incarnation, fence) }

// Claim is a request for the lease (rules C2, E4).
type Claim struct {
	// Incarnation, Gen and Fence must equal the row's.
	Incarnation string
	Gen         int64
	Fence       int64

	Owner   Owner
	HasLock bool
	For     time.Duration // lease_held
	// Over: the caller's own clock or the liveness lock shows that the holder is gone, regardless of the store's
	// clock (rules G2, L2).
	Over bool
	// Doubt: the pair was refused before its time; it becomes DOUBTFUL and its
	// refresh token is erased, as when a SENT lease is taken over.
	Doubt bool
	// Premature, if not nil, is added to the row's list (the store sets Ago).
	Premature *Premature
	// Renew gives the row a new random incarnation and keeps everything else: it was rolled back, and every process
	// must notice (rule A3).
	Renew bool
}

// Mark records a request before it is sent (rule C4).
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
	// Elapsed is the time since the request was sent: lifetimes count from then, so AccessLeft = AccessTTL - Elapsed.
	// The store adds nothing for its own delay.
	Elapsed time.Duration
	By      Owner
	// RefreshWait delays the next refresh; 0 clears it.
	RefreshWait time.Duration
}

// Release returns the lease without a new pair. Zero fields change nothing.
type Release struct {
	Incarnation string
	Fence       int64
	// State: "" keeps the pair; Doubtful erases the refresh token; None erases
	// both tokens.
	State PairState
	// Spent erases the refresh token and keeps the pair: the service refused it for a reason that does not concern
	// the access token (rule D6).
	Spent       bool
	LoginWait   time.Duration // > 0: login_not_before = now + LoginWait
	RefreshWait time.Duration
	// Unsent says that nothing of the request of this kind left this host: the slot of its Mark is given back.
	Unsent Kind
	Fail   bool   // Fails + 1
	Block  *Block // added or, with the same fingerprint, replaced; Ago becomes 0
	// Clear clears back-off, blocks, premature deaths and Fails (auth reset).
	Clear bool
}

// Assumed says of which tokens of a pair the service did not tell the lifetime.
type Assumed struct {
	Access  bool `json:"access,omitempty"`
	Refresh bool `json:"refresh,omitempty"`
}

// EventKind is the kind of an Event.
type EventKind string

// The kinds of events.
const (
	EventLogin        EventKind = "login"        // a login ended with Outcome
	EventRefresh      EventKind = "refresh"      // a refresh ended
	EventTakeover     EventKind = "takeover"     // the holder was gone
	EventUnauthorized EventKind = "unauthorized" // a call got a 401
	EventPremature    EventKind = "premature"    // a pair died before it expired
	EventRoute        EventKind = "route"        // one route refuses a pair that another accepts
	EventBlocked      EventKind = "blocked"      // a credential was refused for good
	EventRollback     EventKind = "rollback"     // the store returned to an older state
	EventClock        EventKind = "clock"        // this host's clock jumped
	EventReset        EventKind = "reset"        // somebody reset the session
	EventFenced       EventKind = "fenced"       // a pair arrived too late and was dropped
)

// Event is one entry of the session's history, which all processes share.
type Event struct {
	Seq     int64         `json:"seq"` // ascending per key; set by the store
	At      time.Time     `json:"at"`  // the store's wall clock; set by the store
	Kind    EventKind     `json:"kind"`
	Outcome Outcome       `json:"outcome,omitempty"` // of a rotation
	Reason  string        `json:"reason,omitempty"`  // why it was done, or the meaning of a 401
	Took    time.Duration `json:"took,omitempty"`
	Fence   int64         `json:"fence,omitempty"`
	Gen     int64         `json:"gen"`              // for a rotation the new one; else the one used
	Age     time.Duration `json:"age,omitempty"`    // of the pair
	Left    time.Duration `json:"left,omitempty"`   // validity left of its access token
	Status  int           `json:"status,omitempty"` // HTTP status, 0 without an answer
	Route   string        `json:"route,omitempty"`  // the route that refused a pair
	By      string        `json:"by,omitempty"`     // the route that then accepted or refused the same pair
	Known   bool          `json:"known,omitempty"`  // some route had accepted the pair before
	Served  time.Time     `json:"served,omitzero"`  // the service's Date header
	// Detail is our text, where Fault does not say it.
	Detail  string  `json:"detail,omitempty"`
	Assumed Assumed `json:"assumed,omitzero"` // of a new pair
	// Fault is what came instead of tokens, with the service's words; of a rotation that was sent, or tried to be.
	Fault   reach.Fault `json:"fault,omitzero"`
	Owner   Owner       `json:"owner"`       // the process that did or saw it
	Session string      `json:"incarnation"` // Row.Incarnation
}

// Counted reports whether Count counts the event: rotations that succeeded, or may have, and all other kinds.
func (e Event) Counted() bool {
	return (e.Kind != EventLogin && e.Kind != EventRefresh) || e.Outcome == OK || e.Outcome == Unreadable
}

// Instance is a process that uses the session.
type Instance struct {
	Owner   Owner         `json:"owner"`
	Started time.Time     `json:"started"`   // the store's wall clock
	Ago     time.Duration `json:"-"`         // since it was last seen, ≥ 0
	SeenAt  time.Time     `json:"last_seen"` // the store's wall clock
	Sure    bool          `json:"-"`         // known beyond its heartbeat, from the store
	Gone    bool          `json:"-"`         // it has ended
}

// Store keeps sessions for all processes. Every method is one transaction (SQLite: one statement or BEGIN IMMEDIATE;
// PostgreSQL: one statement or a transaction that locks the row first), and waits for nothing but the database.
// Implementations seal both tokens, with key, incarnation and gen as associated data; they never log a sealed or open
// token, nor return one in an error. Every method cuts stored times beyond their maximum and writes them back (rule
// G3).
//
// Comparisons are equality on incarnation, gen and fence, never "greater" (rule A3). A lost comparison is not an
// error if the method reports it by a bool or ErrFenced.
type Store interface {
	limit.Store

	// Load reads the row, or creates it (State None, Phase Free, a new incarnation, zero counters). A row whose
	// tokens cannot be unsealed loads as State Doubtful with empty tokens.
	Load(ctx context.Context, key Key) (Row, error)

	// Enter reads the row, calls usable and, if it returns true, does limit's Take, all in one transaction (rule B1).
	// If it returns false, the Grant is zero and a ticket in req keeps its slot. usable must be quick and have no
	// side effects.
	Enter(ctx context.Context, key Key, req limit.Request, usable func(Row) bool) (Row, limit.Grant, error)

	// Acquire takes the lease if incarnation, gen and fence are as claimed and the lease is Free, over by the store's
	// clock, or Claim.Over: Fence + 1, Phase Held. Taking over a SENT phase sets a pair that is Live to Doubtful and
	// erases its refresh token. It returns the row after the attempt, and whether the caller now has the lease. Doubt
	// and Premature apply only in that case.
	Acquire(ctx context.Context, key Key, claim Claim) (Row, bool, error)

	// Mark, in one transaction: the row has this incarnation and fence, its owner
	// is Mark.Owner, its phase is not Free and its lease not over (else
	// ErrFenced); a slot of the class login or refresh is free now by limit.Decide
	// with MaxWait 0 (else the wait until it is, > 0, and nothing is written); then the
	// phase is set, the lease restarted and the slot taken (rule F2: it stays
	// taken, unless Release says Unsent). A wait of 0 means: send.
	Mark(ctx context.Context, key Key, m Mark) (wait time.Duration, err error)

	// Install stores the pair if incarnation and fence are as given and the phase is Sent: Gen + 1, Live, Free, Fails
	// 0, waits cleared. The deadline of the lease does not matter (rule C6). It is idempotent: repeated with the same
	// fence and access token, it returns the same row again (rule A8). Else ErrFenced.
	Install(ctx context.Context, key Key, in Install) (Row, error)

	// Release frees the lease if incarnation and fence are as given and the phase
	// is not Free, and applies the changes; else ErrFenced. Unsent deletes the slot only if the phase is that of the
	// kind, so its holder can give it back once, and no one else.
	Release(ctx context.Context, key Key, r Release) error

	// MarkRoute stores what a route has shown about the pair mark.Gen of an incarnation, by AddRoute; it drops a mark
	// for another pair.
	MarkRoute(ctx context.Context, key Key, incarnation string, mark RouteMark) error

	// Log appends to the history and drops the oldest entries beyond MaxEvents.
	Log(ctx context.Context, key Key, e Event) error

	// Events returns the newest n events with Seq > after, oldest first.
	Events(ctx context.Context, key Key, after int64, n int) ([]Event, error)

	// Count returns how many events of each kind were ever logged for the key (those with Event.Counted), including
	// dropped ones.
	Count(ctx context.Context, key Key) (map[EventKind]int64, error)

	// Beat records that a process is alive, Leave that it has ended. Instances not seen for a day are dropped.
	Beat(ctx context.Context, key Key, o Owner) error
	Leave(ctx context.Context, key Key, ownerID string) error
	// Instances returns the known instances, newest first.
	Instances(ctx context.Context, key Key) ([]Instance, error)

	// Changed sends on changed soon after another process installed a pair or released the lease, until stop (rule A7).
	// It is a hint: values may be missing or come without a change, and changed may be nil.
	Changed(key Key) (changed <-chan struct{}, stop func())
}

// What came with a good status instead of a pair, as a clause about "it" that is safe to draw and holds no token.

// notJSON says what a text is instead of JSON.
func notJSON(text []byte) string {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return "it is empty"
	}
	start := strings.ToLower(string(text[:min(len(text), 100)]))
	if strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html") {
		return "it is a web page" + beginning(text)
	}
	var first, second json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(text))
	if decoder.Decode(&first) != nil {
		return "it is not JSON" + beginning(text)
	}
	rest := bytes.TrimSpace(text[decoder.InputOffset():])
	if decoder.Decode(&second) == nil {
		return fmt.Sprintf("it has two JSON values, the second after %d bytes", len(text)-len(rest)) + beginning(text)
	}
	return fmt.Sprintf("after %d bytes of JSON it goes on with %s", len(text)-len(rest), sketch(rest))
}

// coded says why a content coding could not be undone.
func coded(encoding string, err error) string {
	var unknown *jsontree.CodingError
	if errors.As(err, &unknown) {
		return "its Content-Encoding is " + untrusted.Text(encoding).Line(40) + ", which opdeck does not read"
	}
	return "it cannot be unpacked"
}

// brokenOff says where an answer ended too early.
func brokenOff(raw []byte, err error) string {
	what := "it was cut off"
	var timeout net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		what = "its end did not come in time"
	}
	return fmt.Sprintf("%s after %d bytes", what, len(raw)) + beginning(raw)
}

func beginning(text []byte) string {
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return ""
	}
	return "; it begins with " + sketch(text)
}

// maxSketch bounds a sketch, in characters.
const maxSketch = 60

// sketch draws the beginning of a text without what may be secret: of text in quotes only the names of members remain,
// of words outside of them only short ones of letters that are no value of a name. Bytes that are no text are drawn as
// numbers.
func sketch(text []byte) string {
	in := text[:min(len(text), 4*maxSketch)]
	for len(in) < len(text) && len(in) > 0 && !utf8.RuneStart(text[len(in)]) {
		in = in[:len(in)-1]
	}
	if !utf8.Valid(in) || bytes.IndexByte(in, 0) >= 0 {
		return fmt.Sprintf("the bytes % x", text[:min(len(text), 4)])
	}
	var out strings.Builder
	value := false // a word here is the value of a name, or follows one that is
	for rest := string(in); rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		part := rest[:n]
		switch {
		case r == '"':
			part = quotedText(rest)
			name := !value && len(part) > 1 && strings.HasSuffix(part, `"`) && named(part[1:len(part)-1], rest[len(part):])
			if rest = rest[len(part):]; name {
				out.WriteString(part)
			} else {
				out.WriteString(`"…"`)
			}
			continue
		case strings.ContainsRune(":=>", r):
			value = true
		case strings.ContainsRune(",;&{[(<\n", r):
			value = false
		case r == '/' && strings.HasSuffix(out.String(), "<"): // the end of an element
		case wordRune(r):
			part = rest[:max(n, len(rest)-len(strings.TrimLeftFunc(rest, wordRune)))]
			rest = rest[len(part):]
			if shown := value && slices.Contains(literals, part) || !value && (plainWord(part) || named(part, rest)); shown {
				out.WriteString(part)
			} else if value = true; !strings.HasSuffix(out.String(), "…") {
				out.WriteString("…")
			}
			continue
		}
		if rest = rest[n:]; !unicode.IsSpace(r) || !strings.HasSuffix(out.String(), "…") {
			out.WriteString(part)
		}
	}
	return "“" + untrusted.Text(strings.Join(strings.Fields(out.String()), " ")).Line(maxSketch) + "”"
}

// literals are values that are no secret.
var literals = []string{"true", "false", "null", "NaN", "Infinity", "-Infinity", "undefined", "None"}

func wordRune(r rune) bool {
	return r > unicode.MaxASCII || unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-.+/~%$@#*\\^`|", r)
}

// quotedText is the text in quotes that s begins with, to its end.
func quotedText(s string) string {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return s[:i+1]
		}
	}
	return s
}

// named reports whether a word is the name of the value that follows.
func named(word, rest string) bool {
	rest = strings.TrimLeft(rest, " \t\r\n")
	isName := len(word) <= 30 && !strings.ContainsFunc(word, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && r != '_'
	})
	return isName && (strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "=") && !strings.HasPrefix(rest, "=="))
}

// plainWord reports whether a word is too short or too plain for a token: up to twelve letters, or three digits.
func plainWord(s string) bool {
	other := func(is func(rune) bool) bool { return !strings.ContainsFunc(s, func(r rune) bool { return !is(r) }) }
	return len(s) <= 12 && other(unicode.IsLetter) || len(s) <= 3 && other(unicode.IsDigit)
}

// Elsewhere is the target of a redirection, safe to draw: scheme, host and path, masked, without query, anything like a
// token, and hide.
func Elsewhere(h http.Header, hide secret.Value) string {
	to, err := url.Parse(h.Get("Location"))
	if err != nil || to.Host == "" && to.Path == "" {
		return "an address that it does not name"
	}
	parts := strings.Split(to.Path, "/")
	for i, part := range parts {
		if len(part) >= 40 || !hide.Empty() && strings.Contains(part, hide.Reveal()) {
			parts[i] = "…"
		}
	}
	where := strings.Join(parts, "/")
	if !hide.Empty() {
		where = strings.ReplaceAll(where, hide.Reveal(), "…")
	}
	if to.Host != "" {
		where = to.Scheme + "://" + to.Host + where
	}
	return untrusted.Text(redact.Said(where)).Line(maxQuote)
}

// beatEvery is how often an active process reports that it is alive; without a report for aliveFor it is not counted.
const (
	beatEvery = 30 * time.Second
	aliveFor  = 2 * time.Minute
	beatWait  = 2 * time.Second // a store that is locked for longer is not waited for
)

// beat records now and then in the store that this process uses the session, and detects a host that slept or whose
// clock was set.
func (m *Manager) beat(ctx context.Context) {
	now := m.clock.Steady()
	m.mu.Lock()
	jump := m.checkClocks(now)
	due := m.beaten == 0 || now-m.beaten >= beatEvery || now < m.beaten
	if due {
		m.beaten = max(1, now)
	}
	m.mu.Unlock()
	if jump != 0 {
		m.note(ctx, Event{Kind: EventClock, Took: jump, Reason: "the wall clock and the monotonic clock drifted apart"})
		if m.cfg.OnWake != nil {
			m.cfg.OnWake()
		}
	}
	if due {
		ctx, cancel := context.WithTimeout(ctx, beatWait)
		defer cancel()
		if err := m.store.Beat(ctx, m.key, m.owner); err != nil {
			m.log.Warn("session: not listed as an instance", "err", err)
		}
	}
}

// checkClocks compares the progress of wall and steady clock since the last check, and drops the memory copy if they
// differ by more than 5 s (rule G4). The caller holds m.mu.
func (m *Manager) checkClocks(now time.Duration) (jump time.Duration) {
	wall := m.clock.Wall()
	jump = wall.Sub(m.clocks.wall) - (now - m.clocks.steady)
	m.clocks = clockPair{wall: wall, steady: now}
	if jump.Abs() <= 5*time.Second {
		return 0
	}
	m.copied = memoryCopy{}
	return jump
}

// known returns the newest state that a read has shown. A later read must not show an older one (rule A3).
func (m *Manager) known() seen {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen
}

// rolledBack reports whether r is older than the state that was known before it was read.
func (r Row) rolledBack(before seen) bool {
	return r.Incarnation == before.incarnation && (r.Gen < before.gen || r.Fence < before.fence)
}

// load reads the row and records what it shows.
func (m *Manager) load(ctx context.Context) (Row, seen, error) {
	before, start := m.known(), m.clock.Steady()
	row, err := m.store.Load(ctx, m.key)
	if err != nil {
		return row, before, err
	}
	m.saw(row, start)
	return row, before, nil
}

// saw records what a read that began at start has shown.
func (m *Manager) saw(r Row, start time.Duration) {
	now := m.clock.Steady()
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Incarnation != m.seen.incarnation {
		m.seen = seen{r.Incarnation, r.Gen, r.Fence}
	} else {
		m.seen.gen, m.seen.fence = max(m.seen.gen, r.Gen), max(m.seen.fence, r.Fence)
	}
	if w := (leaseWatch{r.Incarnation, r.Fence, r.Phase, m.lease.since}); w != m.lease {
		w.since = now
		m.lease = w
	}
	if r.State != Live {
		m.copied = memoryCopy{}
		return
	}
	m.copied = memoryCopy{access: accessOf(r), steadyUntil: start + r.AccessLeft - m.c.margin(r.AccessTTL),
		wallUntil: m.clock.Wall().Add(r.AccessLeft - m.c.margin(r.AccessTTL) - (now - start))}
}

// over reports whether the holder of r's lease is gone: by the store's clock, by ours (rule G2), or because its
// liveness lock is free (rule L2). byUs: one of the latter two.
func (m *Manager) over(r Row) (over, byUs bool) {
	if r.LeaseLeft <= 0 {
		return true, false
	}
	now := m.clock.Steady()
	m.mu.Lock()
	w := m.lease
	m.mu.Unlock()
	if w.incarnation == r.Incarnation && w.fence == r.Fence && w.phase == r.Phase && now-w.since >= r.LeaseFor {
		return true, true
	}
	if r.HasLock && m.cfg.Liveness != nil && r.Owner.ID != m.owner.ID && m.cfg.Liveness.Gone(m.key) {
		return true, true
	}
	return false, false
}

// usable reports whether a call may start with r's pair now (rules B3, B4): it is live, no rotation is in progress,
// and its hand-over is not due; or it is due, but may not happen yet (rules D2, D4, F3), and the token has not
// expired.
func (m *Manager) usable(r Row, before seen) bool {
	if !m.alive(r, before) {
		return false
	}
	if r.AccessLeft > m.c.margin(r.AccessTTL) {
		return true
	}
	return r.waitFor(r.kind()) > 0
}

// lastUse is the least validity that a token needs after its hand-over.
const lastUse = time.Second

// alive reports whether r's pair can be used at all.
func (m *Manager) alive(r Row, before seen) bool {
	return r.State == Live && !r.Access.Empty() && !r.Phase.Sent() && r.AccessLeft > lastUse && !r.rolledBack(before)
}

// kind is the rotation that r's pair needs (rule C3).
func (r Row) kind() Kind {
	if r.State != Live || r.Refresh.Empty() || r.RefreshLeft < 5*time.Second {
		return ByLogin
	}
	return ByRefresh
}

// waitFor is how long all processes must wait for a kind of rotation.
func (r Row) waitFor(k Kind) time.Duration {
	if k == ByRefresh {
		return r.RefreshWait
	}
	return r.LoginWait
}

// note adds to the shared history; a failure is only logged.
func (m *Manager) note(ctx context.Context, e Event) {
	e.Owner = m.owner
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	m.log.Info("session: "+string(e.Kind), "outcome", e.Outcome, "reason", e.Reason, "gen", e.Gen, "fence", e.Fence,
		"took", e.Took, "detail", e.Detail)
	if err := m.store.Log(ctx, m.key, e); err != nil {
		m.log.Warn("session: an event is not in the history", "err", err)
	}
}
