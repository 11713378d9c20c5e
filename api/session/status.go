package session

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"opdeck/api/evidence"
)

// Status describes a session for people and programs.
type Status struct {
	Context    string // its name, set by the caller
	BaseURL    string
	Account    string // masked
	State      string // live, none, rotating, doubtful, blocked
	Generation int64
	Access     Lifetime
	Refresh    Lifetime
	// NextRotation is when the pair is due to be replaced; zero: never.
	NextRotation time.Time
	Holder       *Owner // nil: no rotation
	Instances    int    // running: seen within two minutes, and not known to have ended
	AtMost       bool   // some of them may have ended unnoticed
	Counts       Counts
	Last         *Last
	Warning      string     // what is wrong now; set by the caller
	Borrowers    []Borrower // scripts that use the session; set by the caller

	// Shown on screens, not in the command's JSON.
	Phase       Phase
	Fence       int64
	From        Kind          // how the pair was obtained
	By          Owner         // by whom
	Refused     time.Time     // when the service refused the pair, which no route has accepted since; zero: it has not
	LoginWait   time.Duration // left of the login back-off
	RefreshWait time.Duration
	Blocks      []Block
	Seen        []Instance    // newest first, of the last day
	History     []Event       // oldest first, the last 100
	HeldFor     time.Duration // how long Holder has had the lease
	EndsAfter   time.Duration // the age at which tokens end before they expire; 0: they do not
	Verdict     Verdict       // the diagnosis of the history
	AsOf        time.Time     // the store's wall clock at the read
	// Ahead is how far the store's clock is ahead of this host's. All times here are the store's, in words too;
	// subtract Ahead for this host's.
	Ahead time.Duration
}

// InstancesText is the number of processes that share the session, for people.
func (s Status) InstancesText() string {
	if s.AtMost {
		return fmt.Sprintf("at most %d", s.Instances)
	}
	return fmt.Sprint(s.Instances)
}

// Lifetime of a token.
type Lifetime struct {
	TTL       time.Duration
	Remaining time.Duration // negative: expired that long ago; 0 for a dead token
	// ExpiresAt is when it expires or expired, by the store's wall clock; zero without a token.
	ExpiresAt time.Time
	Dead      bool // the service refused it early, at ExpiresAt
}

// Renewable reports whether there is a usable refresh token; without one only a login renews the pair.
func (s Status) Renewable() bool { return !s.Refresh.ExpiresAt.IsZero() && s.Refresh.Remaining > 0 }

// Counts are totals over the life of the store's row.
type Counts struct {
	Logins       int64 `json:"logins"`
	Refreshes    int64 `json:"refreshes"`
	Unauthorized int64 `json:"unauthorized"`
	Premature    int64 `json:"premature"`
}

// Last rotation.
type Last struct {
	Kind    Kind
	At      time.Time
	Outcome Outcome
	Took    time.Duration
}

// Status reads the shared state and notes its conclusions. It makes no call to the service.
func (m *Manager) Status(ctx context.Context) (Status, error) {
	m.beat(ctx)
	row, _, err := m.load(ctx)
	if err != nil {
		return Status{}, storeError(err)
	}
	counts, err := m.store.Count(ctx, m.key)
	if err != nil {
		return Status{}, storeError(err)
	}
	events, err := m.store.Events(ctx, m.key, 0, 100)
	if err != nil {
		return Status{}, storeError(err)
	}
	instances, err := m.store.Instances(ctx, m.key)
	if err != nil {
		return Status{}, storeError(err)
	}
	s := m.describe(row, counts, events, instances)
	for _, c := range s.Verdict.Why {
		evidence.Note(ctx, c)
	}
	return s, nil
}

func (m *Manager) describe(row Row, counts map[EventKind]int64, events []Event, instances []Instance) Status {
	now, ahead, by := m.statusClock(row)
	events, instances = moved(events, instances, by)
	s := Status{
		BaseURL: m.key.BaseURL, Account: MaskAccount(m.key.Account), State: m.stateOf(row), Generation: row.Gen,
		Counts: Counts{Logins: counts[EventLogin], Refreshes: counts[EventRefresh], Unauthorized: counts[EventUnauthorized],
			Premature: counts[EventPremature]},
		Phase: row.Phase, Fence: row.Fence, LoginWait: row.LoginWait, RefreshWait: row.RefreshWait,
		Blocks: row.Blocks, Seen: instances, History: events, AsOf: now, Ahead: ahead,
	}
	if row.State != None && row.Gen > 0 {
		s.Access = lifetime(row.AccessTTL, row.AccessLeft, row.Age, now)
		s.From, s.By = row.From, row.By
		if at, dead := revokedAt(events, row); dead {
			s.Access.Remaining, s.Access.Dead = 0, true
			s.Access.ExpiresAt = earlier(s.Access.ExpiresAt, at)
		}
	}
	if !row.Refresh.Empty() {
		s.Refresh = lifetime(row.RefreshTTL, row.RefreshLeft, row.Age, now)
	}
	if row.State == Live && s.State != string(None) {
		s.NextRotation = now.Add(max(0, row.AccessLeft-m.c.margin(row.AccessTTL)))
	}
	if row.Phase != Free && row.LeaseLeft > 0 {
		holder := row.Owner
		s.Holder, s.HeldFor = &holder, row.LeaseFor-row.LeaseLeft
	}
	for _, in := range instances {
		if in.Ago <= aliveFor && !in.Gone {
			s.Instances++
			s.AtMost = s.AtMost || !in.Sure && in.Owner.ID != m.owner.ID
		}
	}
	for _, e := range slices.Backward(events) {
		if e.Kind == EventLogin || e.Kind == EventRefresh {
			s.Last = &Last{Kind: Kind(e.Kind), At: e.At, Outcome: e.Outcome, Took: e.Took}
			break
		}
	}
	s.Refused = refusedAt(events, row, now)
	row.At = now // events were moved likewise
	s.Verdict, s.EndsAfter = Diagnose(events, row), row.learnt()
	return s
}

// refusedAt is when a route refused row's pair, unless one has accepted it since; zero: none did. What an expired token
// meets, and a route that refuses every session, is no refusal of the pair.
func refusedAt(events []Event, row Row, now time.Time) time.Time {
	for _, e := range slices.Backward(events) {
		refused := e.Kind == EventPremature || e.Kind == EventUnauthorized && (e.Reason == YoungPair || e.Reason == Early)
		switch {
		case e.rotated(), e.Kind == EventRoute && e.Gen == row.Gen:
			return time.Time{}
		case !refused || e.Gen != row.Gen || e.Session != row.Incarnation:
		case slices.ContainsFunc(row.Routes, func(m RouteMark) bool {
			return !m.Refused && m.Gen == row.Gen && now.Add(-m.Ago).After(e.At)
		}):
			return time.Time{}
		default:
			return e.At
		}
	}
	return time.Time{}
}

// stateOf names the state for people: blocked if logins are refused for good and there is no usable pair.
func (m *Manager) stateOf(r Row) string {
	switch {
	case r.Phase != Free && r.LeaseLeft > 0:
		return "rotating"
	case r.State == Live && r.AccessLeft > 0:
		return "live"
	case len(r.Blocks) > 0 && r.kind() == ByLogin:
		if _, holds := r.holds(r.Blocks[len(r.Blocks)-1]); holds {
			return "blocked"
		}
	case r.State == Live && (r.Refresh.Empty() || r.RefreshLeft <= 0): // a pair that can neither be used nor renewed
		return string(None)
	}
	return string(r.State)
}

// lifetime describes a token: an expired one ended when its pair, of that age, was ttl old.
func lifetime(ttl, left, age time.Duration, now time.Time) Lifetime {
	end := now.Add(left)
	if past := now.Add(ttl - age); left <= 0 && past.Before(end) {
		end = past
	}
	return Lifetime{TTL: ttl, Remaining: left, ExpiresAt: end}
}

// revokedAt returns when the service first refused the row's access token early; ok is false if it is not known to
// have.
func revokedAt(events []Event, row Row) (at time.Time, ok bool) {
	if row.State != Doubtful {
		return at, false
	}
	for _, e := range events {
		early := e.Kind == EventPremature || e.Kind == EventUnauthorized && e.Reason == Early
		if early && e.Gen == row.Gen && e.Session == row.Incarnation {
			return e.At, true
		}
	}
	return at, false
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// MaskAccount keeps the first letter and the part after the @: "m•••@example.com".
func MaskAccount(account string) string {
	_, n := utf8.DecodeRuneInString(account)
	if at := strings.LastIndexByte(account, '@'); at > 0 {
		return account[:n] + "•••" + account[at:]
	}
	return account[:n] + "•••"
}

// LifetimeJSON is a Lifetime for programs, in seconds with one decimal.
type LifetimeJSON struct {
	TTL       float64    `json:"ttl_seconds"`
	Remaining float64    `json:"remaining_seconds"`
	ExpiresAt *time.Time `json:"expires_at"`
	DeadSince *time.Time `json:"dead_since"`
}

// CauseJSON is the cause of the pair's end.
type CauseJSON struct {
	Cause     Cause      `json:"culprit"`
	At        *time.Time `json:"at"`
	Sentence  string     `json:"sentence"`
	Evidence  []string   `json:"evidence"`
	OverSince *time.Time `json:"over_since"`
}

func (v Verdict) json() *CauseJSON {
	if v.Cause == NoCause {
		return nil
	}
	return &CauseJSON{v.Cause, stamp(v.At), v.Sentence, append([]string{}, v.Evidence...), stamp(v.Over)}
}

func (l Lifetime) json() LifetimeJSON {
	out := LifetimeJSON{TTL: tenths(l.TTL), Remaining: tenths(l.Remaining), ExpiresAt: stamp(l.ExpiresAt)}
	if l.Dead {
		out.DeadSince = out.ExpiresAt
	}
	return out
}

func tenths(d time.Duration) float64 { return math.Round(d.Seconds()*10) / 10 }

func stamp(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Millisecond)
	return &t
}

// StatusJSON is the object of `opdeck session status`; missing times are null.
type StatusJSON struct {
	Context      string       `json:"context"`
	BaseURL      string       `json:"base_url"`
	Account      string       `json:"account"`
	State        string       `json:"state"`
	Generation   int64        `json:"generation"`
	Access       LifetimeJSON `json:"access"`
	Refresh      LifetimeJSON `json:"refresh"`
	NextRotation *time.Time   `json:"next_rotation_at"`
	Holder       *HolderJSON  `json:"holder"` // null: no rotation
	Instances    int          `json:"instances"`
	Counts       Counts       `json:"counts"`
	Last         *LastJSON    `json:"last"`
	Warning      string       `json:"warning"`
	Cause        *CauseJSON   `json:"cause"` // null: no known problem
	Borrowers    []Borrower   `json:"borrowers"`
}

// HolderJSON is the process that is rotating.
type HolderJSON struct {
	Host string `json:"host"`
	PID  int    `json:"pid"`
}

// LastJSON is the last call for tokens.
type LastJSON struct {
	Kind    Kind       `json:"kind"`
	At      *time.Time `json:"at"`
	Outcome Outcome    `json:"outcome"`
	TookMS  int64      `json:"took_ms"`
}

// JSON is the status for programs.
func (s Status) JSON() StatusJSON {
	out := StatusJSON{
		s.Context, s.BaseURL, s.Account, s.State, s.Generation, s.Access.json(), s.Refresh.json(), stamp(s.NextRotation),
		nil, s.Instances, s.Counts, nil, s.Warning, s.Verdict.json(), append([]Borrower{}, s.Borrowers...),
	}
	if s.Holder != nil {
		out.Holder = &HolderJSON{s.Holder.Host, s.Holder.PID}
	}
	if s.Last != nil {
		out.Last = &LastJSON{s.Last.Kind, stamp(s.Last.At), s.Last.Outcome, s.Last.Took.Milliseconds()}
	}
	return out
}

// MarshalJSON writes the status for programs.
func (s Status) MarshalJSON() ([]byte, error) { return json.Marshal(s.JSON()) }

// Watch sends the status at once and after each change, which it polls for (at least 200 ms apart), until ctx ends
// and the channel is closed. A slow reader gets only the newest status. If the store fails, the Status has a Warning
// and State "unknown".
func (m *Manager) Watch(ctx context.Context, every time.Duration) <-chan Status {
	every = max(every, 200*time.Millisecond)
	out := make(chan Status, 1)
	go func() {
		defer close(out)
		var last string
		for {
			s, err := m.Status(ctx)
			if err != nil {
				s = Status{BaseURL: m.key.BaseURL, Account: MaskAccount(m.key.Account), State: "unknown", Warning: err.Error(),
					AsOf: m.clock.Wall()}
			}
			if mark := s.mark(); mark != last && ctx.Err() == nil {
				last = mark
				select {
				case <-out: // replace the unread one
				default:
				}
				out <- s
			}
			if sleep(ctx, every) != nil {
				return
			}
		}
	}()
	return out
}

// mark changes when anything but the passing of time changed.
func (s Status) mark() string {
	var seq int64
	if n := len(s.History); n > 0 {
		seq = s.History[n-1].Seq
	}
	b, _ := json.Marshal([]any{s.State, s.Generation, s.Phase, s.Fence, s.Instances, s.AtMost, seq, s.Holder,
		s.LoginWait > 0, s.RefreshWait > 0})
	return string(b)
}
