package session

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"opdeck/api/limit"
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
	Accepted    time.Time     // when a call was first accepted with the newest pair that any call was; zero: not known
	LoginWait   time.Duration // left of the login back-off
	RefreshWait time.Duration
	Blocks      []Block
	Seen        []Instance    // newest first, of the last day
	History     []Event       // oldest first, the last 100
	HeldFor     time.Duration // how long Holder has had the lease
	EndsAfter   time.Duration // the age at which tokens end before they expire; 0: they do not
	AsOf        time.Time     // the store's wall clock at the read
	// Ahead is how far the store's clock is ahead of this host's. All times here are the store's, in words too;
	// subtract Ahead for this host's.
	Ahead time.Duration
}

// Lifetime of a token.
type Lifetime struct {
	TTL       time.Duration
	Remaining time.Duration // negative: expired that long ago; 0 for a dead token
	// ExpiresAt is when it expires or expired, by the store's wall clock; zero without a token.
	ExpiresAt time.Time
	Dead      bool // the service refused it early, at ExpiresAt
	Assumed   bool // the service did not tell the TTL, which is the documented one
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

// Status reads the shared state. It makes no call to the service.
func (m *Manager) Status(ctx context.Context) (Status, error) {
	m.beat(ctx)
	before := m.clock.Wall()
	row, _, err := m.load(ctx)
	if err != nil {
		return Status{}, storeError(err)
	}
	after := m.clock.Wall()
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
	if m.cfg.StatusClock == nil {
		s.Ahead = limit.Apart(s.AsOf, before, after)
	}
	return s, nil
}

func (m *Manager) describe(row Row, counts map[EventKind]int64, events []Event, instances []Instance) Status {
	now, by := m.statusClock(row)
	events, instances = moved(events, instances, by)
	s := Status{
		BaseURL: m.key.BaseURL, Account: MaskAccount(m.key.Account), State: m.stateOf(row), Generation: row.Gen,
		Counts: Counts{Logins: counts[EventLogin], Refreshes: counts[EventRefresh], Unauthorized: counts[EventUnauthorized],
			Premature: counts[EventPremature]},
		Phase: row.Phase, Fence: row.Fence, LoginWait: row.LoginWait, RefreshWait: row.RefreshWait,
		Blocks: row.Blocks, Seen: instances, History: events, AsOf: now,
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
	for _, e := range events {
		if e.Rotated() && e.Gen == row.Gen && e.Session == row.Incarnation {
			s.Access.Assumed, s.Refresh.Assumed = e.Assumed.Access, e.Assumed.Refresh
		}
	}
	for _, e := range slices.Backward(events) {
		if e.Kind == EventLogin || e.Kind == EventRefresh {
			s.Last = &Last{Kind: Kind(e.Kind), At: e.At, Outcome: e.Outcome, Took: e.Took}
			break
		}
	}
	for _, m := range row.Routes {
		if !m.Refused {
			s.Accepted = now.Add(-m.Ago)
		}
	}
	s.Refused = refusedAt(events, row, now)
	s.EndsAfter = row.learnt()
	return s
}

// refusedAt is when a route refused row's pair, unless one has accepted it since; zero: none did. What an expired token
// meets, and a route that refuses every session, is no refusal of the pair.
func refusedAt(events []Event, row Row, now time.Time) time.Time {
	for _, e := range slices.Backward(events) {
		refused := e.Kind == EventPremature || e.Kind == EventUnauthorized && (e.Reason == YoungPair || e.Reason == Early)
		switch {
		case e.Rotated(), e.Kind == EventRoute && e.Gen == row.Gen:
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

// statusClock returns the time of the read by the clock that a Status uses, and the offset to add to the store's times.
func (m *Manager) statusClock(row Row) (now time.Time, by time.Duration) {
	if now = row.At; now.IsZero() {
		now = m.clock.Wall()
	}
	if m.cfg.StatusClock != nil {
		shown := m.cfg.StatusClock()
		return shown, shown.Sub(now)
	}
	return now, 0
}

// moved returns copies whose store times are offset by by; the service's times stay.
func moved(events []Event, instances []Instance, by time.Duration) ([]Event, []Instance) {
	if by == 0 {
		return events, instances
	}
	events, instances = slices.Clone(events), slices.Clone(instances)
	for i := range events {
		events[i].At = events[i].At.Add(by)
	}
	for i := range instances {
		instances[i].Started, instances[i].SeenAt = instances[i].Started.Add(by), instances[i].SeenAt.Add(by)
	}
	return events, instances
}

// Clock has wall and steady time; see limit.Clock.
type Clock = limit.Clock

// SystemClock is the host's clock.
func SystemClock() Clock { return systemClock{} }

type systemClock struct{}

func (systemClock) Wall() time.Time { return time.Now().Round(0) }

var started = time.Now()

// processTime counts from the start of the process.
func processTime() time.Duration { return time.Since(started) }

// Documented lifetimes (spec, Authentication rule 6), against which a value without a known unit is compared.
const (
	documentedAccess  = 5 * time.Minute
	documentedRefresh = 15 * time.Minute
)

// claims are the two times of a JWT that matter here; the service verifies its signature.
type claims struct {
	Iat *float64 `json:"iat"`
	Exp *float64 `json:"exp"`
}

// lifetimeOf reads exp and iat of a JWT. ok is false for anything else.
func lifetimeOf(token string) (life time.Duration, exp time.Time, ok bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return 0, time.Time{}, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return 0, time.Time{}, false
	}
	var c claims
	if json.Unmarshal(raw, &c) != nil || c.Exp == nil || !epoch(*c.Exp) {
		return 0, time.Time{}, false
	}
	exp = time.Unix(int64(*c.Exp), 0)
	if c.Iat == nil || !epoch(*c.Iat) || *c.Exp <= *c.Iat {
		return 0, exp, false
	}
	return time.Duration((*c.Exp - *c.Iat) * float64(time.Second)), exp, true
}

// epoch reports whether v can be a time in seconds (years 2001 to 2286).
func epoch(v float64) bool { return v >= 1e9 && v < 1e10 }

// Longer lifetimes are not believed: a number above is no number of seconds.
const (
	longest       = 30 * 24 * time.Hour
	longestAccess = 24 * time.Hour
)

// accessLife returns how long an access token lives: what the service announces (0: nothing that is understood),
// unless the token's own lifetime jwt (0: not known) is shorter; else jwt; else the documented lifetime. warning says
// what was assumed. A wrong one is learnt from the age at which pairs end (rule E6).
func accessLife(announced, jwt time.Duration) (life time.Duration, warning string) {
	switch {
	case announced > longestAccess:
		return accessLife(0, jwt)
	case announced > 0 && jwt > 0 && announced > jwt:
		return jwt, "the service announces a lifetime that its own token contradicts; opdeck uses the token's"
	case announced > 0:
		return announced, ""
	case jwt >= time.Second:
		return min(jwt, longestAccess), ""
	}
	return documentedAccess, "the answer has no lifetime of the access token in seconds; opdeck assumes the documented " +
		documentedAccess.String() + " ([service] " + accessTTLKey + " names the member)"
}

// refreshLife is accessLife of a refresh token, which is no JWT that opdeck reads. A longer life than a month is not
// needed.
func refreshLife(announced time.Duration) time.Duration {
	if announced > 0 {
		return announced
	}
	return documentedRefresh
}

// margin is how long before it expires a pair is handed over (rule B2).
func (c Constants) margin(life time.Duration) time.Duration {
	return min(max(life/10, c.MarginMin), c.MarginMax, life/3)
}

// NormalKey normalises a key (rule A2): scheme and host in lower case, no default port, no slash at the end; the
// account is trimmed, its case kept. It returns an error unless the address is https, or http to a literal loopback
// address (spec of the config: plain http never leaves the machine). A host name must be ASCII: write an
// international one in its xn-- form.
func NormalKey(baseURL, account string) (Key, error) {
	account = strings.TrimSpace(account)
	if account == "" {
		return Key{}, errors.New("session: the login is empty")
	}
	u, err := url.Parse(strings.TrimSpace(baseURL))
	if err != nil || u.Host == "" || u.Opaque != "" {
		return Key{}, errors.New("session: base_url is not an address such as https://host")
	}
	if u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.ContainsAny(baseURL, "\\\r\n#") {
		return Key{}, errors.New("session: base_url must contain only scheme, host, port and path")
	}
	host, port := strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), u.Port()
	if host == "" || strings.ContainsAny(host, "%_ ") || !ascii(host) {
		return Key{}, errors.New("session: the host of base_url is not usable (write an international name as xn--…)")
	}
	scheme := strings.ToLower(u.Scheme)
	switch {
	case scheme == "https":
	case scheme == "http" && loopback(host):
	default:
		return Key{}, errors.New("session: base_url must be https; plain http only to 127.0.0.1 or [::1]")
	}
	if port, err = normalPort(scheme, port); err != nil {
		return Key{}, err
	}
	if port != "" {
		host = net.JoinHostPort(host, port)
	} else if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return Key{BaseURL: scheme + "://" + host + strings.TrimRight(u.EscapedPath(), "/"), Account: account}, nil
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] < 0x21 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback() && !a.Is4In6()
}

func normalPort(scheme, port string) (string, error) {
	if port == "" {
		return "", nil
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < 1 || n > 65535 {
		return "", errors.New("session: the port of base_url must be from 1 to 65535")
	}
	if (scheme == "https" && n == 443) || (scheme == "http" && n == 80) {
		return "", nil
	}
	return strconv.Itoa(n), nil
}
