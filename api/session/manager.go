package session

import (
	"context"
	"errors"
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
