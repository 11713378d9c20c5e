// Package app wires the program: config, store, session, budgets, gate, client, journals. The console, the commands
// and the SSH server open an App and differ only in their user interface.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/limit"
	"opdeck/api/reach"
	"opdeck/api/redact"
	"opdeck/api/secret"
	"opdeck/api/session"
	"opdeck/api/untrusted"
	"opdeck/internal/act"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/answers"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/followup"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/journey"
	"opdeck/internal/domain/note"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/replace"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/sandbox"
	"opdeck/internal/store"
	"opdeck/internal/store/accounts"
	"opdeck/internal/store/files"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/seal"
	"opdeck/internal/system/filecheck"
	"opdeck/internal/system/localuser"
)

// Options configure Open.
type Options struct {
	ConfigFlag string
	StateFlag  string
	System     config.System
	Context    string // "": the config's default
	Least      act.Least
	// Chosen is called with the context before anything is opened; byName is false if the built-in service stands in
	// for a missing config. It may be nil.
	Chosen   func(x config.Context, byName bool)
	ReadOnly bool
	LogFile  string
	ServeLog io.Writer // gets the log that [serve] describes; nil: nothing
	Verbose  bool
	Getenv   func(string) string // nil: os.Getenv
	Version  string
	Now      func() time.Time // nil: time.Now
	Living   bool             // the built-in service changes on its own; see sandbox.Options
	// Around stands before the built-in service in tests; see sandbox.Options.
	Around    func(s *sandbox.Service, next http.Handler) http.Handler
	Upgrading func() // see store.Options
	// NewAuditKey makes an audit key where the one of a trail that has begun is missing.
	NewAuditKey bool
	// NewStoreKey opens a store whose key is lost with another one, which Session.NewKey makes the store's.
	NewStoreKey bool
	Notice      func(string) // receives warnings about the store; see store.Options
	// Waits gets what a call waits for when it takes long, or the progress of its body (moves). It is called from any
	// goroutine.
	Waits func(sentence string, moves bool)

	migrations fs.FS // for tests, see store.Options
	around     *around
}

// around takes the place of this host's clock and of the network in tests that simulate time.
type around struct {
	clock   session.Clock
	stored  store.Clock       // of the accounts
	service http.RoundTripper // API calls, logins and refreshes
}

// App is one open context.
type App struct {
	Config    config.Config
	Context   config.Context
	Proxy     string // proxy for calls to the service, without credentials; "": none
	ReadOnly  bool
	State     string // folder
	Version   string
	Now       func() time.Time
	Log       *slog.Logger
	Store     *store.Store
	Session   *session.Manager
	Limits    *limit.Budgets
	Audit     *audit.Log
	Approvals *approval.Service // never nil; the gate uses it if the context requires approval
	Gate      *api.Gate
	Client    *Client
	Index     *index.Index
	Jobs      *replace.Jobs
	Journeys  *journey.Service
	Notes     *note.Notes
	Follow    *followup.Tracker
	Sandbox   *sandbox.Service // nil against a real service
	Living    bool             // the Sandbox changes on its own while Hooks.Apply runs

	service *endpoint.Wire // for the program itself: unmasked
	digests secret.Digests
	key     storeKey
	reseal  func(context.Context) error // gives up what another key has sealed
	ledger  receiver.Ledger             // how far the inbox was merged into Index; kept where Index is
	answers *journal.Answers
	seen    *answers.Recorder           // what this process has seen of the service
	another atomic.Pointer[anotherRead] // the last of readAnother; nil: none
	// certificate is until when the service's certificate is valid; nil: not seen.
	certificate atomic.Pointer[time.Time]
	beginning   sync.Mutex
	began       map[string]time.Time  // guarded by beginning: what the last verdict found, and when it was first seen
	tried       atomic.Pointer[tried] // nil: it has not tried to record a write
	configRead  string                // configDigest of the file as it was read
	outdated    atomic.Bool           // the file has changed since, and that is noted
	getenv      func(string) string
	calls       observers[api.Call]
	changes     observers[api.Operation]
	closers     []func() error

	alive    audit.Alive // nil: ended processes cannot be detected
	markSync func() (name string, ok bool)
	ownClock bool // Now is not the host's clock, so the store's times are converted to it
}

// Open reads the config and opens everything that one context needs. It sends nothing. The caller must Close the App.
func Open(ctx context.Context, opt Options) (_ *App, err error) {
	ownClock := opt.Now != nil
	opt = opt.filled()
	c, err := choose(opt)
	if err != nil {
		return nil, err
	}
	a := &App{Config: c.config.In(c.context), Context: c.context, ReadOnly: opt.ReadOnly || c.context.ReadOnly,
		State: c.state, Version: opt.Version, Now: opt.Now, ownClock: ownClock, getenv: opt.Getenv,
		configRead: configDigest(c.config.Path)}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	api.IgnoreBesideAmounts(a.Config.Service.AmountIgnore)
	if err := checkEnvironment(a.Context, opt.Getenv); err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context, Options) error{
		a.openLog, a.openStores, a.openAudit, a.openClient} {
		if err := step(ctx, opt); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (o Options) filled() Options {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	return o
}

func (a *App) openLog(_ context.Context, opt Options) error {
	a.Log = slog.New(slog.DiscardHandler)
	if opt.ServeLog != nil {
		a.Log = slog.New(serveHandler(opt.ServeLog, a.Config.Serve, opt.Verbose))
	}
	if opt.LogFile == "" {
		return nil
	}
	f, err := filecheck.Append(opt.LogFile)
	if err != nil {
		return &api.Error{Kind: api.Usage, Public: "The log file cannot be opened: " + err.Error() + ".",
			Remedy: api.Remedy{Kind: api.OtherFile}, Err: err}
	}
	a.closers = append(a.closers, f.Close)
	a.Log = slog.New(slog.NewMultiHandler(a.Log.Handler(), NewLog(f, opt.Verbose).Handler()))
	return nil
}

// noticeTo returns a function that logs a notice and passes it to notify.
func noticeTo(log *slog.Logger, notify func(string)) func(string) {
	return func(s string) {
		log.Warn("notice", "text", s)
		if notify != nil {
			notify(s)
		}
	}
}

// openStores opens the store and meanwhile the built-in service, if the context uses it: a start need not wait for one
// after the other.
func (a *App) openStores(ctx context.Context, opt Options) error {
	if !a.Context.Sandbox {
		return a.openStore(ctx, opt)
	}
	var service *sandbox.Service
	var failed error
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		service, failed = openService(ctx, a, opt)
	}()
	err := a.openStore(ctx, opt)
	<-opened
	if failed == nil {
		a.Sandbox, a.Living = service, opt.Living
		a.closers = append(a.closers, service.Close)
	}
	return cmp.Or(err, failed)
}

// openService opens the built-in service in this process, with its data in the state folder.
func openService(ctx context.Context, a *App, opt Options) (*sandbox.Service, error) {
	path := filepath.Join(a.State, "sandbox.db")
	if a.Config.Store.URL == "memory" {
		path = ""
	}
	if err := os.MkdirAll(a.State, 0o700); err != nil {
		return nil, &api.Error{Kind: api.Unavailable, Public: "The state folder cannot be created.", Err: err}
	}
	s, err := sandbox.Open(ctx, sandbox.Options{Path: path, Now: opt.Now, Living: opt.Living, Around: opt.Around})
	if err != nil {
		return nil, &api.Error{Kind: api.Internal, Public: "The built-in service cannot be opened: " + err.Error(), Err: err}
	}
	return s, nil
}

func (a *App) openClient(ctx context.Context, opt Options) error {
	calls, auth, err := a.carriers(opt)
	if err != nil {
		return err
	}
	if err := a.openSession(ctx, opt, auth); err != nil {
		return err
	}
	maxWait := a.Config.Limits.MaxWait.D()
	a.service, err = endpoint.New(api.Options{BaseURL: a.Context.BaseURL, Transport: calls,
		Session: sessionAdapter{m: a.Session, wait: waitFor(maxWait), awaited: maxWait,
			host: a.Session.Owner().Host, explain: factReader{app: a}.explained}.Do, Gate: a.Gate,
		Timeout: a.Context.Timeout.D(), SettleWait: a.Config.Writes.SettleWait.D(), Service: serviceOf(a.Config.Service),
		UserAgent: "opdeck/" + a.Version, Log: a.Log, Now: a.Now, Digests: a.digests,
		OnCall: a.calls.notify, OnOperations: a.sawOperations, OnLocked: a.onLocked})
	if err != nil {
		return err
	}
	a.Client = &Client{a.service, a.missing, a.Audit.Note, factReader{app: a}.unanswered, a.sawNames}
	if opt.Waits != nil {
		a.reportWaits(opt.Waits)
	}
	scope := a.Scope()
	if err := a.openIndex(ctx); err != nil {
		return err
	}
	a.openFollow()
	recordAnswers(a)
	a.Jobs = &replace.Jobs{Store: journal.NewJobs(a.Store.Core, scope), Client: jobClient{a.service, a.Follow},
		Dir: filepath.Join(a.State, "jobs"), Now: a.Now,
		LateAfter: a.Config.Writes.LateAfter.D(), Verdict: a.Follow.Verdict, Doubt: a.Follow.Doubt}
	a.Notes = &note.Notes{Store: journal.NewNotes(a.Store.Core), Scope: scope, Gate: a.Gate}
	a.Index.Beside, a.Index.RefusedLocks = beside{a}, a.refusedLocks
	a.Journeys = &journey.Service{Store: journal.NewJourneys(a.Store.Core, scope), Client: a.Client, Now: a.Now}
	a.followers()
	return nil
}

// carriers returns the transports of API calls and of logins and refreshes.
func (a *App) carriers(opt Options) (calls, auth http.RoundTripper, err error) {
	switch {
	case a.Sandbox != nil:
		return a.Sandbox.Transport(), a.Sandbox.Transport(), nil
	case opt.around != nil:
		return opt.around.service, opt.around.service, nil
	}
	conf, err := tlsConfig(a.Context)
	if err != nil {
		return nil, nil, err
	}
	proxy, err := outbound(a.Context)
	if err != nil {
		return nil, nil, err
	}
	a.Proxy = proxyName(proxy)
	watchCertificate(a, conf)
	t := newTransport(conf)
	t.Proxy, t.OnProxyConnectResponse = through(proxy), reach.ProxyAnswer
	a.closers = append(a.closers, func() error { t.CloseIdleConnections(); return nil })
	return t, session.NewAuthTransport(conf, func(logins *http.Transport) {
		logins.Proxy, logins.OnProxyConnectResponse = t.Proxy, t.OnProxyConnectResponse
	}), nil
}

func (a *App) openSession(ctx context.Context, opt Options, auth http.RoundTripper) error {
	bad := func(err error) error {
		return &api.Error{Kind: api.BadConfig, Public: "The session cannot be set up: " + err.Error(), Err: err}
	}
	key, err := a.openKey(ctx, opt)
	if err != nil {
		return err
	}
	a.digests = key.Digests()
	made := accounts.Options{Key: key, Log: a.Log}
	var clock session.Clock
	if opt.around != nil {
		made.Clock, clock = opt.around.stored, opt.around.clock
	}
	rows, err := accounts.New(a.Store.Core, made)
	if err != nil {
		return bad(err)
	}
	a.closers = append(a.closers, rows.Close)
	name, err := session.NormalKey(a.Context.BaseURL, a.Context.Login)
	if err != nil {
		return bad(err)
	}
	a.reseal = func(ctx context.Context) error { return rows.Reseal(ctx, HostName()) }
	if boots := rows.Boots(); boots != nil {
		a.Audit.Mark(boots)
		a.alive = boots
	}
	a.Limits, err = limit.New(limit.Config{Store: rows, Key: name, PerMinute: a.Config.Limits.PerMinute,
		Policy: limit.Policy(a.Config.Limits.Policy), MaxWait: a.Config.Limits.MaxWait.D()})
	if err != nil {
		return bad(err)
	}
	var shown func() time.Time
	if a.ownClock {
		shown = a.Now
	}
	a.Session, err = session.New(session.Config{BaseURL: a.Context.BaseURL, Account: a.Context.Login, StatusClock: shown,
		Clock:    clock,
		Password: func(ctx context.Context) (secret.Value, error) { return a.Config.Password(ctx, a.Context, opt.Getenv) },
		Store:    rows, Limits: a.Limits, Auth: auth, Liveness: rows.Liveness(), Log: a.Log,
		Names: namesOf(a.Config.Service), Settings: fmt.Sprintf("%+v", a.Config.Service),
		Probes: func() []session.Probe { return a.service.Probes() },
		Owner:  session.Owner{User: localuser.Current().Name, Version: a.Version}, UserAgent: "opdeck/" + a.Version})
	if err != nil {
		return bad(err)
	}
	a.closers = append(a.closers, func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 12*time.Second)
		defer cancel()
		return a.Session.Close(ctx)
	})
	return nil
}

// Scope identifies the account in rows of the store.
func (a *App) Scope() string {
	k := a.Session.Key()
	return k.BaseURL + " " + k.Account
}

// LocalActor is the person at this terminal: the user id from the kernel, with the context's role. The name is only a
// label.
func (a *App) LocalActor(via string) api.Actor { return LocalActor(a.Context, via) }

// LocalActor is App.LocalActor for a context that is not open.
func LocalActor(x config.Context, via string) api.Actor {
	u := localuser.Current()
	return api.Actor{Name: u.Name, Role: x.Role, Via: via, From: HostName(), UID: u.UID, LoginUID: u.LoginUID,
		Host: u.Host, Doubt: u.Doubt}
}

// localRole is the approval.RoleLookup of people with a user id: they have the context's role while /etc/passwd has
// an entry for them.
func (a *App) localRole(p approval.Person) (api.Role, error) {
	switch {
	case !p.Local():
		return "", errors.New("only opdeck serve can look up the SSH keys of people")
	case !localuser.Known(p.UID):
		return "", errors.New("user id " + p.UID + " has no entry in /etc/passwd")
	}
	return a.Context.Role, nil
}

// AuthorizeSSH sets the role lookup of people with an SSH key for approvals. Call it before the first connection is
// accepted.
func (a *App) AuthorizeSSH(over approval.RoleLookup) {
	a.Approvals.SetRoleLookup(func(p approval.Person) (api.Role, error) {
		if p.Local() {
			return a.localRole(p)
		}
		return over(p)
	})
}

// HostName is this host in records and reports; "unknown" if the system does not tell it.
func HostName() string {
	h, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return h
}

// OnCall registers fn for every finished call; stop removes it.
func (a *App) OnCall(fn func(api.Call)) (stop func()) { return a.calls.add(fn) }

// Close closes everything in reverse order. It waits for a session rotation in progress, up to its deadline.
func (a *App) Close() error {
	var err error
	for _, c := range slices.Backward(a.closers) {
		err = errors.Join(err, c())
	}
	a.closers = nil
	return err
}

var _ io.Closer = (*App)(nil)

// chosen is the config, its context and the state folder of a command.
type chosen struct {
	config  config.Config
	context config.Context
	state   string
}

// choose reads the config and chooses the context. Only the owner of the state may use it: for another user the error
// is a *files.UnsafePathError with its Owner.
func choose(opt Options) (c chosen, err error) {
	found := config.Find(opt.ConfigFlag, opt.StateFlag, opt.Getenv, opt.System)
	c.state = found.State
	foreign := files.Foreign(c.state)
	if c.config, err = found.Load(); err != nil {
		if _, open := os.Open(found.Path); errors.Is(open, fs.ErrPermission) && foreign != nil {
			return c, foreign
		}
		return c, err
	}
	var byName bool
	if c.context, byName, err = pick(c.config, opt.Context); err != nil {
		return c, err
	}
	switch {
	case byName:
	case opt.Least > act.NoConfig && c.config.Path == "":
		return c, &api.Error{Kind: api.BadConfig, Err: ErrUnconfigured,
			Public: "There is no config file: --config and $OPDECK_CONFIG are not set, and there is no " +
				strings.Join(found.Looked, " and no ") + ".",
			Hint: "opdeck config init creates one; -c sandbox uses the built-in service."}
	case opt.Least == act.AContext:
		return c, &api.Error{Kind: api.BadConfig, Err: ErrUnconfigured,
			Public: "The config " + c.config.Path + " has no [contexts.NAME], so it names no service.",
			Hint:   "Add a context; -c sandbox uses the built-in service."}
	}
	if opt.Chosen != nil {
		opt.Chosen(c.context, byName)
	}
	if core := placesOf(c.config, c.state).core; foreign == nil && core != "" {
		foreign = files.Foreign(filepath.Dir(core))
	}
	if foreign != nil {
		return c, foreign
	}
	return c, nil
}

// Owned returns the error of a state that belongs to another user.
func Owned(opt Options) error {
	opt = opt.filled()
	opt.Chosen = nil
	_, err := choose(opt)
	var foreign *files.UnsafePathError
	if errors.As(err, &foreign) {
		return err
	}
	return nil
}

// ErrUnconfigured is in the error of a command that needs a config or a context and found none.
var ErrUnconfigured = errors.New("app: not configured")

// pick returns the context: by name, the default, the only one, or the built-in service if there is none; byName is
// false only then.
func pick(cfg config.Config, name string) (c config.Context, byName bool, err error) {
	if name == "" {
		name = cfg.DefaultContext
	}
	names := slices.Sorted(maps.Keys(cfg.Contexts))
	if name == "" && len(names) == 1 {
		name = names[0]
	}
	if c, ok := cfg.Contexts[name]; ok {
		c.Proxy = cfg.Service.Proxy
		if c.Sandbox {
			built := config.SandboxContext()
			c.BaseURL, c.Login = built.BaseURL, built.Login
		}
		return c, true, nil
	}
	switch {
	case name == "sandbox" || name == "" && len(names) == 0:
		return config.SandboxContext(), name != "", nil
	case name == "":
		return c, false, &api.Error{Kind: api.BadConfig,
			Public: "The config has several contexts and no default_context.",
			Remedy: api.Remedy{Kind: api.ChooseContext, Names: names}}
	}
	return c, false, errNoContext(name, append(names, "sandbox"))
}

// Facts returns what a verdict rests on, from the store and this process. It makes no call to the service.
func Facts(ctx context.Context, a *App) verdict.Facts { return factReader{app: a}.all(ctx) }

// places are the paths of what an installation keeps. core and bulk are "" unless the store is in SQLite files.
type places struct {
	core, bulk, storeKey, auditKey, checkpoints, jobs string
}

func placesOf(cfg config.Config, state string) places {
	p := places{storeKey: cfg.Store.KeyFile, auditKey: cfg.Audit.KeyFile, checkpoints: cfg.Audit.Checkpoints,
		jobs: filepath.Join(state, "jobs")}
	var err error
	if p.core, p.bulk, err = store.Files(cfg.Store.URL, state); err == nil {
		if p.storeKey == "" {
			p.storeKey = seal.Beside(p.core)
		}
	}
	if p.auditKey == "" {
		p.auditKey = filepath.Join(state, "audit.key")
	}
	if p.checkpoints == "" {
		p.checkpoints = filepath.Join(state, "checkpoints")
	}
	return p
}

// restoredFile is where a restore notes what it put in place, until the audit trail records it.
func (p places) restoredFile() string { return p.core + ".restored" }

// secretKeys are attribute names whose values are never logged.
var secretKeys = []string{"authorization", "token", "password", "secret", "jwt", "cookie"}

// NewLog returns the program's log: one line a record, no secret, no control characters. verbose adds debug records.
func NewLog(w io.Writer, verbose bool) *slog.Logger {
	level := slog.LevelInfo
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: clean}))
}

// serveHandler is the log of opdeck serve as [serve] describes it, with the promises of NewLog. verbose adds debug
// records.
func serveHandler(w io.Writer, c config.Serve, verbose bool) slog.Handler {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil || verbose { // the config is valid
		level = slog.LevelDebug
	}
	opt := &slog.HandlerOptions{Level: level, ReplaceAttr: clean}
	if c.LogFormat == "json" {
		return slog.NewJSONHandler(w, opt)
	}
	return slog.NewTextHandler(w, opt)
}

// clean removes secrets by attribute name and by shape, and makes text safe to draw (the handler quotes control
// characters, but no others).
func clean(_ []string, a slog.Attr) slog.Attr {
	name := strings.ToLower(a.Key)
	for _, k := range secretKeys {
		if strings.Contains(name, k) {
			return slog.String(a.Key, "••••")
		}
	}
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, safe(v.String()))
	case slog.KindAny:
		if err, ok := v.Any().(error); ok {
			return slog.String(a.Key, safe(redact.Said(err.Error()))) // it may quote an answer
		}
		if u, ok := v.Any().(untrusted.Text); ok {
			return slog.String(a.Key, safe(string(u)))
		}
	}
	return a
}

func safe(s string) string { return untrusted.Text(redact.Scrub(s)).Line(2000) }

// observers calls functions with each event.
type observers[T any] struct {
	mu  sync.Mutex
	fns map[int]func(T) // guarded by mu
	n   int             // guarded by mu
}

func (o *observers[T]) add(fn func(T)) (stop func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fns == nil {
		o.fns = map[int]func(T){}
	}
	o.n++
	id := o.n
	o.fns[id] = fn
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.fns, id)
	}
}

func (o *observers[T]) notify(v T) {
	o.mu.Lock()
	fns := slices.Collect(maps.Values(o.fns))
	o.mu.Unlock()
	for _, fn := range fns {
		fn(v)
	}
}
