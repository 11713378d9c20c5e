// Package session keeps the one live token pair of a machine account for all processes and hosts that use it.
//
// The service allows one pair per account: every login and every refresh revokes the earlier pair (spec,
// Authentication rules 3 to 5). So the pair, the right to replace it (a lease with a fence) and the budgets are in
// one row of a shared Store. A rotation is recorded there before its request is sent, and after an unknown outcome
// the next step is a login, never the same refresh token again. Rule names (A1 … L3) are those of the session
// protocol.
package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"opdeck/api/limit"
	"opdeck/api/secret"
)

// Config configures a Manager.
type Config struct {
	BaseURL string // see NormalKey
	Account string // the login of the machine account
	// Password is called for each login; its result is never kept. It may run a command and has at most AuthDeadline.
	Password func(context.Context) (secret.Value, error)
	Store    Store
	Limits   *limit.Budgets // of the same key
	// Auth carries logins and refreshes: NewAuthTransport, or the built-in service's own RoundTripper. It must not
	// resend a request.
	Auth  http.RoundTripper
	Clock Clock // nil: SystemClock
	// StatusClock replaces the store's clock for the times in Status; nil: the store's clock.
	StatusClock func() time.Time
	Constants   Constants    // zero: Defaults
	Liveness    Liveness     // nil: the lease alone decides
	Log         *slog.Logger // nil: silent
	Owner       Owner        // New sets ID, and Host and PID if empty
	// LoginPath and RefreshPath default to the service's (spec, Authentication
	// endpoints); the refresh token follows RefreshPath.
	LoginPath   string
	RefreshPath string
	UserAgent   string
	Names       Names // of the members in the answer to a login or refresh
	// Settings are those of the config that decide how such an answer arrives and is read, in any form: after an answer
	// that cannot be read, the next login waits until they change.
	Settings string
	// Random returns numbers in [0,1) for jitter; nil: math/rand.
	Random func() float64
	// Probes returns reads that show whether the service accepts a pair which one route refused: cheap ones of
	// different routes. nil: the refusal alone decides.
	Probes func() []Probe
	// OnWake is called when this host has probably slept (rule G4), so that idle connections can be dropped. It must
	// not block.
	OnWake func()
}

// Manager shares the session of one key between this process and all others on the same Store. It is safe for
// concurrent use and starts nothing by itself: rotations happen when a call needs one, or under Keep.
type Manager struct {
	cfg       Config
	key       Key
	store     Store
	limits    *limit.Budgets
	witnesses witnesses
	clock     Clock
	c         Constants
	log       *slog.Logger
	owner     Owner
	auth      authClient
	spare     *limit.Memory // budget while the store is unavailable

	mu       sync.Mutex // guards the fields below
	seen     seen
	lease    leaseWatch
	copied   memoryCopy
	clocks   clockPair
	beaten   time.Duration // steady time of the last beat; 0: none
	unread   time.Duration // steady time of the last note that the password cannot be read; 0: none
	rotating *rotationWait // nil: no rotation in this process
	closed   bool
	busy     sync.WaitGroup // of rotationWaits
	crash    func(point string)
}

// seen is the newest known state of a row, to detect a store that was rolled back.
type seen struct {
	incarnation string
	gen, fence  int64
}

// leaseWatch times an unchanged lease on our own clock (rule G2).
type leaseWatch struct {
	incarnation string
	fence       int64
	phase       Phase
	since       time.Duration
}

// memoryCopy is the pair as last read, for when the store is unavailable (rule K1).
type memoryCopy struct {
	access      Access
	steadyUntil time.Duration // T on the steady clock
	wallUntil   time.Time     // T on the wall clock
}

type clockPair struct {
	wall   time.Time
	steady time.Duration
}

// New checks cfg and returns a Manager. It uses neither store nor network.
func New(cfg Config) (*Manager, error) {
	key, err := NormalKey(cfg.BaseURL, cfg.Account)
	if err != nil {
		return nil, err
	}
	if cfg.Store == nil || cfg.Limits == nil || cfg.Auth == nil || cfg.Password == nil {
		return nil, errors.New("session: Store, Limits, Auth and Password are needed")
	}
	if cfg.Limits.Key() != key {
		return nil, errors.New("session: the budgets belong to another key")
	}
	if cfg.Constants == (Constants{}) {
		cfg.Constants = Defaults()
	}
	if err := cfg.Constants.check(); err != nil {
		return nil, err
	}
	if cfg.Clock == nil {
		cfg.Clock = SystemClock()
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if cfg.Random == nil {
		cfg.Random = rand.Float64
	}
	defaultText(&cfg.LoginPath, LoginPath)
	defaultText(&cfg.RefreshPath, RefreshPath)
	defaultText(&cfg.UserAgent, "opdeck")
	if !strings.HasSuffix(cfg.RefreshPath, "/") {
		cfg.RefreshPath += "/"
	}
	fillOwner(&cfg.Owner)
	m := &Manager{
		cfg: cfg, key: key, store: cfg.Store, limits: cfg.Limits, clock: cfg.Clock, c: cfg.Constants,
		log: cfg.Log, owner: cfg.Owner, spare: limit.NewMemory(cfg.Clock),
		auth: authClient{rt: cfg.Auth, baseURL: key.BaseURL, loginPath: cfg.LoginPath, refreshPath: cfg.RefreshPath,
			names: cfg.Names, userAgent: cfg.UserAgent},
		witnesses: witnesses{key: key, store: cfg.Store, limits: cfg.Limits, probes: cfg.Probes,
			within: cfg.Constants.LeaseHeld / 2, log: cfg.Log},
		crash: func(string) {},
	}
	m.clocks = clockPair{wall: m.clock.Wall(), steady: m.clock.Steady()}
	return m, nil
}

func defaultText(s *string, def string) {
	if *s == "" {
		*s = def
	}
}

func fillOwner(o *Owner) {
	o.ID = newID()
	if o.Host == "" {
		o.Host, _ = os.Hostname()
	}
	if o.PID == 0 {
		o.PID = os.Getpid()
	}
}

// Key returns the normalised key of the session.
func (m *Manager) Key() Key { return m.key }

// Owner returns this process's entry in the shared store.
func (m *Manager) Owner() Owner { return m.owner }

// Close waits for a rotation that has been announced (at most the auth deadline plus the time to store its result, or
// until ctx ends), refuses further calls and removes this process from the list of instances (rule C9).
func (m *Manager) Close(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	if m.rotating != nil {
		m.rotating.cancel()
	}
	m.mu.Unlock()
	done := make(chan struct{})
	go func() { m.busy.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		return timedOut(ctx.Err(), "a login or refresh is still in progress")
	}
	if err := m.store.Leave(ctx, m.key, m.owner.ID); err != nil { // not an error of what was done
		m.log.Warn("session: still listed as an instance", "err", err)
	}
	return nil
}

// Constants are the protocol's durations (section 2.3a).
type Constants struct {
	AuthDeadline time.Duration // D: dial, TLS and answer of one login or refresh
	LeaseHeld    time.Duration
	LeaseSent    time.Duration
	MarginMin    time.Duration
	MarginMax    time.Duration
	QuietGap     time.Duration // between HELD and SENT of a planned refresh (rule B5); 0: none
	PollFirst    time.Duration
	PollMax      time.Duration
	Young        time.Duration // a pair that some replicas may not know yet (rule E3)
}

// Defaults returns the protocol's constants.
func Defaults() Constants {
	return Constants{
		AuthDeadline: 10 * time.Second, LeaseHeld: 5 * time.Second, LeaseSent: 15 * time.Second,
		MarginMin: 15 * time.Second, MarginMax: time.Minute,
		PollFirst: 20 * time.Millisecond, PollMax: 200 * time.Millisecond, Young: 3 * time.Second,
	}
}

// check returns an error unless the constants satisfy the relations that the protocol relies on.
func (c Constants) check() error {
	m := c.margin(documentedAccess)
	for _, r := range []struct {
		ok   bool
		text string
	}{
		{c.AuthDeadline > 0 && c.PollFirst > 0 && c.Young >= 0 && c.MarginMin > 0, "times must be positive"},
		{c.LeaseSent >= c.AuthDeadline+2*time.Second, "lease_sent must be at least the auth deadline and 2 s"},
		{c.LeaseHeld > c.QuietGap+time.Second, "lease_held must exceed the quiet gap by more than 1 s"},
		{c.PollMax < c.LeaseHeld/10 && c.PollFirst <= c.PollMax, "polls must be shorter than a tenth of lease_held"},
		{m >= c.LeaseSent+c.AuthDeadline, "the margin must cover a lost holder and one more attempt"},
		{c.Young < m, "young tokens must be younger than the margin"},
	} {
		if !r.ok {
			return fmt.Errorf("session: constants: %s", r.text)
		}
	}
	return nil
}

// CallerDeadline is the least deadline that a caller should give, so that a crashed holder does not show as an error.
func (c Constants) CallerDeadline() time.Duration {
	return c.LeaseSent + c.AuthDeadline + 5*time.Second
}

// The service's paths of a login and a refresh; the refresh token is appended to the second one.
const (
	AuthPath    = "/v2/auth/"
	LoginPath   = AuthPath + "login"
	RefreshPath = AuthPath + "refresh/"
)

// Refresh renews the pair now, with a refresh if possible, else with a login. It returns nil as soon as any process
// has replaced the pair that it found.
func (m *Manager) Refresh(ctx context.Context) error { return m.force(ctx, false) }

// Login replaces the pair now with a login.
func (m *Manager) Login(ctx context.Context) error { return m.force(ctx, true) }

func (m *Manager) force(ctx context.Context, login bool) error {
	m.beat(ctx)
	first, _, err := m.load(ctx)
	if err != nil {
		return storeError(err)
	}
	why := cause{reason: ReasonAsked, incarnation: first.Incarnation, gen: first.Gen, force: true, login: login}
	for {
		if err := m.await(ctx, why); err != nil {
			return err
		}
		row, before, err := m.load(ctx)
		if err != nil {
			return storeError(err)
		}
		if m.settled(row, before, why) {
			return nil
		}
	}
}

// Reset clears the pair, back-off and refused credentials, under the lease (rule C10); the next call logs in. It
// sends nothing to the service, which has no logout.
func (m *Manager) Reset(ctx context.Context) error {
	m.beat(ctx)
	poll := m.c.PollFirst
	for {
		row, _, err := m.load(ctx)
		if err != nil {
			return storeError(err)
		}
		over, byUs := row.Phase == Free, false
		if !over {
			over, byUs = m.over(row)
		}
		if over {
			done, err := m.reset(ctx, row, byUs)
			if err != nil || done {
				return err
			}
		}
		if err := sleep(ctx, poll); err != nil {
			return timedOut(err, "another process is refreshing the session")
		}
		poll = min(poll*3/2, m.c.PollMax)
	}
}

func (m *Manager) reset(ctx context.Context, row Row, byUs bool) (done bool, err error) {
	claim := Claim{Incarnation: row.Incarnation, Gen: row.Gen, Fence: row.Fence, Owner: m.owner, For: m.c.LeaseHeld,
		Over: byUs}
	got, ok, err := m.acquire(ctx, claim)
	if err != nil {
		return false, storeError(err)
	}
	if !ok {
		return false, nil
	}
	err = m.store.Release(ctx, m.key, Release{Incarnation: got.Incarnation, Fence: got.Fence, State: None, Clear: true})
	if errors.Is(err, ErrFenced) {
		return false, nil
	}
	if err != nil {
		return false, storeError(err)
	}
	m.note(ctx, Event{Kind: EventReset, Gen: got.Gen, Fence: got.Fence, Session: got.Incarnation})
	return true, nil
}

// Keep keeps the session alive until ctx ends: it renews the pair when its hand-over is due, and retries after
// failures. It returns nil when ctx ends, an *Error of kind Closed, or one that wraps ErrStoreLost. It sleeps between
// two actions, 30 s at most.
func (m *Manager) Keep(ctx context.Context) error {
	for {
		m.beat(ctx)
		wait, err := m.keepOnce(ctx)
		if err != nil {
			return err
		}
		if m.isClosed() {
			return &Error{Kind: Closed, Public: "the session is closed"}
		}
		if sleep(ctx, wait) != nil {
			return nil
		}
	}
}

// keepOnce renews the pair if it is due and returns how long to wait before the next check. An error is permanent.
func (m *Manager) keepOnce(ctx context.Context) (time.Duration, error) {
	row, before, err := m.load(ctx)
	if err == nil && !m.usable(row, before) {
		err = m.await(ctx, need(row, before))
		if err == nil {
			return m.c.PollFirst, nil
		}
	}
	if errors.Is(err, ErrStoreLost) {
		return 0, storeError(err)
	}
	if err != nil {
		if ctx.Err() == nil {
			m.log.Warn("session: cannot be kept alive now", "err", err)
		}
		wait := beatEvery / 3
		var e *Error
		if errors.As(err, &e) && e.RetryAfter > 0 {
			wait = min(e.RetryAfter, beatEvery)
		}
		return wait, nil
	}
	if left := row.AccessLeft - m.c.margin(row.AccessTTL); left > 0 {
		return min(left, beatEvery), nil
	}
	return min(max(row.waitFor(row.kind()), m.c.PollMax), beatEvery), nil
}

// Borrower is a script that uses the session through opdeck, with its calls of the last day through all proxies.
type Borrower struct {
	Name       string    `json:"name"`
	Role       string    `json:"role"`
	Priority   string    `json:"priority"`
	LastMinute int       `json:"calls_last_minute"` // answered or refused
	Calls      int64     `json:"calls"`
	Writes     int64     `json:"writes"` // of the calls
	Waits      int64     `json:"waits"`  // calls that waited for a slot or the session
	Waited     float64   `json:"waited_seconds"`
	Refused    int64     `json:"refused"` // by opdeck, not by the service
	Last       time.Time `json:"last_call_at"`
	Running    bool      `json:"running"` // its proxy is running
}

// Add adds what another proxy reports about the same borrower.
func (b Borrower) Add(o Borrower) Borrower {
	if o.Last.After(b.Last) {
		b.Role, b.Priority, b.Last = o.Role, o.Priority, o.Last
	}
	b.LastMinute += o.LastMinute
	b.Calls += o.Calls
	b.Writes += o.Writes
	b.Waits += o.Waits
	b.Waited += o.Waited
	b.Refused += o.Refused
	b.Running = b.Running || o.Running
	return b
}

func sleep(ctx context.Context, d time.Duration) error { return limit.Sleep(ctx, d) }

// cause is the reason for a rotation.
type cause struct {
	reason string
	// incarnation and gen of the pair concerned: a row with another pair has settled it.
	incarnation string
	gen         int64
	route       string // the route that refused it
	// doubt: the service refused the tokens; premature: before they expired.
	doubt, premature bool
	// force requires a rotation although the pair is good; login requires a login.
	force, login bool
}

// Reasons of rotations, as the history shows them.
const (
	ReasonFirst    = "no_pair"
	ReasonDoubtful = "pair_in_doubt"
	ReasonDue      = "due"
	ReasonLapsed   = "refresh_token_lapsed"
	ReasonGone     = "holder_gone"
	ReasonRollback = "store_went_back"
	ReasonRefused  = "token_refused"
	ReasonAsked    = "asked_for"
)

// need is the cause for a call that finds no usable pair.
func need(r Row, before seen) cause {
	c := cause{incarnation: r.Incarnation, gen: r.Gen, reason: ReasonDue}
	switch {
	case r.rolledBack(before):
		c.reason = ReasonRollback
	case r.State == None:
		c.reason = ReasonFirst
	case r.Phase.Sent():
		c.reason = ReasonGone
	case r.State == Doubtful:
		c.reason = ReasonDoubtful
	case r.kind() == ByLogin:
		c.reason = ReasonLapsed
	}
	return c
}

// refused is the cause for a call whose pair got a 401.
func refused(a Access, route string, premature bool) cause {
	return cause{reason: ReasonRefused, incarnation: a.Incarnation, gen: a.Gen, route: route, doubt: true,
		premature: premature}
}

// rotationWait is the one rotation attempt, or wait for another process's, that all callers of this process share
// (rule C5). It ends after one attempt, or once nothing is left to do.
type rotationWait struct {
	done    chan struct{}
	err     error              // set before done is closed
	callers int                // guarded by Manager.mu
	cancel  context.CancelFunc // ends the wait; a request already sent is completed
}

// errAbandoned: a rotationWait ended because all its callers left.
var errAbandoned = errors.New("session: no caller is waiting any more")

// await joins or starts a rotationWait and waits for its end or ctx's. nil means: read the row again.
func (m *Manager) await(ctx context.Context, why cause) error {
	if err := ctx.Err(); err != nil {
		return timedOut(err, "before the session was ready")
	}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return &Error{Kind: Closed, Public: "the session is closed"}
	}
	w := m.rotating
	if w == nil {
		w = m.startWait(ctx, why)
	}
	w.callers++
	m.mu.Unlock()
	select {
	case <-w.done:
		m.mu.Lock()
		w.callers--
		m.mu.Unlock()
		if errors.Is(w.err, errAbandoned) {
			return nil
		}
		return w.err
	case <-ctx.Done():
	}
	m.mu.Lock()
	if w.callers--; w.callers == 0 {
		w.cancel()
	}
	m.mu.Unlock()
	e := timedOut(ctx.Err(), "waiting for a login or refresh")
	e.Fault = m.fault(ctx)
	return e
}

// startWait starts a rotationWait; the caller holds m.mu. It keeps the values of ctx but not its end, since all
// callers share it.
func (m *Manager) startWait(ctx context.Context, why cause) *rotationWait {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &rotationWait{done: make(chan struct{}), cancel: cancel}
	m.rotating = w
	m.busy.Add(1)
	go func() {
		defer m.busy.Done()
		defer cancel()
		err := m.waitAndRotate(ctx, why)
		if err != nil && ctx.Err() != nil {
			err = errAbandoned
		}
		m.mu.Lock()
		w.err = err
		m.rotating = nil
		m.mu.Unlock()
		close(w.done)
	}()
	return w
}

// waitAndRotate waits while another process rotates, then makes one attempt if it is still needed.
func (m *Manager) waitAndRotate(ctx context.Context, why cause) error {
	poll := m.c.PollFirst
	var changed <-chan struct{}
	var stop func() // nil: not listening yet
	for {
		row, before, err := m.load(ctx)
		if err != nil {
			return storeError(err)
		}
		if m.settled(row, before, why) {
			return nil
		}
		over, byUs := false, false
		if row.Phase != Free {
			over, byUs = m.over(row)
		}
		if row.Phase == Free || over {
			return m.attempt(ctx, row, before, why, byUs)
		}
		if stop == nil { // once is enough
			changed, stop = m.store.Changed(m.key)
			defer stop()
		}
		if sleepUntilChanged(ctx, time.Duration(float64(poll)*(0.75+m.cfg.Random()/2)), changed) != nil {
			return errAbandoned
		}
		poll = min(poll*3/2, m.c.PollMax)
	}
}

// sleepUntilChanged sleeps for d, or until a value arrives on changed.
func sleepUntilChanged(ctx context.Context, d time.Duration, changed <-chan struct{}) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// settled reports whether the row has what the cause requires.
func (m *Manager) settled(r Row, before seen, why cause) bool {
	same := r.Incarnation == why.incarnation && r.Gen == why.gen
	switch {
	case why.force:
		return !same
	case why.doubt:
		_, refuses := r.refusedBy(why.route)
		return !same || r.State != Live || why.premature && refuses
	}
	return m.usable(r, before)
}

// Liveness is a hint that a holder is alive (rules L1 to L3). It only speeds up a takeover; the lease decides. Its
// locks must have the Store's scope: processes that share the rows see the same locks, on any host.
type Liveness interface {
	// Hold takes the lock of key until release is called or this process dies. ok is false if the lock is not
	// available; the rotation continues without it.
	Hold(key Key) (release func(), ok bool)
	// Gone reports that no process holds the lock of key; false when in doubt.
	Gone(key Key) bool
}
