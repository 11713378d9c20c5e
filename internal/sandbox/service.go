// Package sandbox is the built-in service: the payment operations, compliance
// and webhook service of the specification as a real HTTP server, with its data
// in one SQLite file. The console embeds it through Transport (no port is
// opened); "opdeck sandbox" serves it on TCP. Of opdeck it uses only the names
// that the specification lists (api.DocumentTypes).
//
// What the service's documents leave open is decided here and marked
// x-assumption in api/openapi.yaml.
//
// # One file is one server
//
// Token pairs, rate windows, settings, data and the outbox of webhooks
// are all in the file. Several processes that have it open behave as
// one server. Only the clock belongs to the process. Options are written into
// the file when they are set; see Options.
//
// # Sample data
//
// 500 operations (or as many as asked for), 20 customers of both kinds, their
// accounts, counterparties and documents, all drawn from the seed: the same
// seed gives the same ids and values, as a back office has them. Of operations
// older than six days one of thirty is still open. The newest operation is from
// 2 November 2026, with Options.Fresh from now. Counted from it (0 is the newest) these are fixed:
//
//	 0  a pending withdrawal over SWIFT with three documents, the third locked
//	 1  the same, ended (SUCCESS)
//	22, 47, 72 …  exchanges with two children each, the next two in the list
//
// Numeric codes of operations in webhooks (assumption): status 0 NOTSET,
// 1 PENDING, 2 PROCESSING, 3 SUCCESS, 4 FAILED, 5 CANCELED, 6 COMPLETED; type
// and payment type by their place in the documented lists, EXCHANGE 4.
//
// With Options.Living the newest operation is a minute old instead, the others
// spread over the sixty days before, and customers in VERIFY began to wait today.
// When such a file is opened later, operations are added for the time between.
// Live moves one of the newest open operations on every six seconds, and adds one
// every third time; Receive takes the webhooks of it without a port.
//
// # Removal of a document
//
// Checks run in this order; the texts are the specification's word for word:
//
//	404  Operation not found: <operation_id>
//	404  Document not found: <document_id>
//	409  Document <document_id> is not attached to operation <operation_id>
//	409  Cannot modify documents for completed operations   (any end state)
//	423  Document is locked and cannot be removed
//
// # Share tokens
//
// People type them: demo-KIND-SCENARIO-ANYTHING with KIND individual or corporate and SCENARIO ok, outstanding,
// rejected or expired. Each works once, so vary ANYTHING.
//
// # Webhooks
//
// Every change of an operation, customer, account, requisite or counterparty
// puts an event into the outbox, which is delivered by POST until the answer is
// 2xx: each by one process at a time, with waits of 1, 2, 4 … s up to 5 min, twelve
// times at most. A redirect counts as a failure. Deliveries carry
// "Authorization: Bearer JWT", signed HS256 with jwtSecret, with the claims iat,
// exp (5 min), jti (the hook_id) and body_sha256 (hex, over the body's bytes);
// an assumption. Failed events step back, so order is not promised.
//
// # Faults
//
// Package faulty makes the service answer otherwise: lost, late, without proof, in other words, shapes and orders.
package sandbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"opdeck/api/limit"
)

// Service is the built-in service over one data file. All state lives in the
// file: several Services on it, in one process or many, are one server.
type Service struct {
	*store
	handler http.Handler // of the routes, or what Options.Around returned
	courier courier

	running context.Context // ends with Close; for work that outlives the call that started it
	stop    context.CancelFunc
	work    sync.WaitGroup
}

// Open opens the data file, creates it with sample data if it is new, and starts
// the deliveries of webhooks. Close ends them.
func Open(ctx context.Context, o Options) (*Service, error) {
	probe := newSettings(o)
	if err := probe.apply(o); err != nil {
		return nil, err
	}
	data, err := openStore(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("sandbox: open data: %w", err)
	}
	s := &Service{store: data, courier: courier{store: data}}
	if o.Fresh || o.Living {
		if err := s.catchUp(ctx); err != nil {
			s.db.Close()
			return nil, fmt.Errorf("sandbox: bring the data up to now: %w", err)
		}
	}
	s.running, s.stop = context.WithCancel(context.Background())
	s.Go(s.courier.deliver)
	s.handler = s.newMux()
	if o.Around != nil {
		s.handler = o.Around(s, s.handler)
	}
	return s, nil
}

// Close stops the deliveries and closes the file. What is still in the outbox
// is delivered after the next Open.
func (s *Service) Close() error {
	s.stop()
	s.work.Wait()
	return s.db.Close()
}

// Handler serves the service's paths.
func (s *Service) Handler() http.Handler { return s.handler }

// Now returns the time by the service's clock.
func (s *Service) Now() time.Time { return s.clock() }

// Go runs f until Close, which ends its context and waits for it.
func (s *Service) Go(f func(ctx context.Context)) { s.work.Go(func() { f(s.running) }) }

// Defaults of Options.
const (
	DefaultOperations = 500
	DefaultLogin      = "machine@sandbox"
	DefaultPassword   = "sandbox"
	DefaultAccessTTL  = 5 * time.Minute
	DefaultRefreshTTL = 15 * time.Minute
	DefaultHookSecret = "sandbox-hook-secret-of-36-characters"
)

// Options say how the service behaves. The file is the server: options that
// are set here are written into it and hold for every process that has it
// open; options left at their zero value keep what the file says, or the
// default when the file is new. Now and Around are exceptions: they are this process's.
type Options struct {
	Path       string // SQLite file; "" keeps everything in memory
	Operations int    // sample operations of a new file, default 500; an existing file keeps its own
	Seed       uint64 // of ids and sample data; used for a new file only
	// Fresh makes the data run up to now over sixty days, and fills the time since the file was open last.
	Fresh bool
	// Living is Fresh, and switches webhooks on, to the Receiver of a process that has the file open. Changes are
	// made by Live.
	Living bool

	AccessTTL  time.Duration // default 5 min
	RefreshTTL time.Duration // default 15 min

	HookURL    string // switches webhooks on, all kinds
	HardLimits bool   // 429 above the recommended rates

	Now func() time.Time // clock; nil: time.Now
	// Around returns what answers in place of next, which answers as the service does: package faulty injects
	// faults there. nil: next itself.
	Around func(s *Service, next http.Handler) http.Handler
}

// settings are the part of the server's state that options and Configure change; one
// JSON row in the file.
type settings struct {
	Seed       uint64 `json:"seed"`
	Operations int    `json:"operations"`
	Newest     int64  `json:"newest,omitempty"` // creation of the newest sample operation, Unix nanoseconds; 0: baseTime
	Span       span   `json:"span,omitempty"`   // that sample operations are spread over; 0: minutes apart

	AccessTTL  span `json:"access_ttl"`
	RefreshTTL span `json:"refresh_ttl"`

	Login       string `json:"login"`
	Password    string `json:"password"`
	UserID      string `json:"user_id"`
	LoginCode   string `json:"login_code"`   // of a second factor, then demanded at every login and refresh
	StrictLogin bool   `json:"strict_login"` // a login kills older refresh tokens too
	SigningKey  []byte `json:"signing_key"`

	Hook         hookParameters `json:"hook"`
	HookBackoff  span           `json:"hook_backoff"` // wait before the first repeat, doubled each time
	HookAttempts int            `json:"hook_attempts"`

	HardLimits bool `json:"hard_limits"`
}

// span is a duration that reads and writes itself as text ("5m0s").
type span time.Duration

func (d span) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (d *span) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = span(v)
	return err
}

func newSettings(o Options) settings {
	s := settings{
		Seed: o.Seed, Operations: o.Operations,
		AccessTTL: span(DefaultAccessTTL), RefreshTTL: span(DefaultRefreshTTL),
		Login: DefaultLogin, Password: DefaultPassword,
		Hook:        hookParameters{JWTSecret: DefaultHookSecret},
		HookBackoff: span(time.Second), HookAttempts: 12,
	}
	if s.Operations <= 0 {
		s.Operations = DefaultOperations
	}
	if o.Fresh || o.Living {
		now := time.Now
		if o.Now != nil {
			now = o.Now
		}
		s.Newest, s.Span = now().Add(-youngest).UnixNano(), span(livingSpan)
	}
	d := newDice(s.Seed, saltSettings, 0)
	s.UserID = d.uuid().String()
	s.SigningKey = randomBytes(32)
	return s
}

// apply writes the options that are set over s.
func (s *settings) apply(o Options) error {
	set(&s.AccessTTL, span(o.AccessTTL))
	set(&s.RefreshTTL, span(o.RefreshTTL))
	set(&s.HardLimits, o.HardLimits)
	if o.HookURL != "" {
		s.Hook.URL = o.HookURL
		s.Hook.Enabled, s.Hook.Customer, s.Hook.Operation, s.Hook.Account, s.Hook.Counterparty = true, true, true, true, true
	}
	if o.Living && s.Hook.URL == "" {
		s.Hook = hookParameters{true, InProcessHook, s.Hook.JWTSecret, true, true, true, true}
	}
	if s.AccessTTL <= 0 || s.RefreshTTL <= 0 {
		return fmt.Errorf("sandbox: token lifetimes must be positive")
	}
	return nil
}

// set writes v to p unless v is the zero value.
func set[T comparable](p *T, v T) {
	var zero T
	if v != zero {
		*p = v
	}
}

// Serve listens on addr until ctx ends and then lets open calls finish. It
// writes the address, the login, where share tokens are and a config for the
// console to out.
func (s *Service) Serve(ctx context.Context, addr string, out io.Writer) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	if err := s.printBanner(ctx, listener.Addr(), out); err != nil {
		listener.Close()
		return err
	}
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("sandbox: %w", err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err = server.Shutdown(end)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	return err
}

func (s *Service) printBanner(ctx context.Context, addr net.Addr, out io.Writer) error {
	st, err := loadSettings(ctx, s.db)
	if err != nil {
		return err
	}
	base := "http://" + addr.String()
	fmt.Fprintf(out, "Sandbox service on %s\n", base)
	if tcp, isTCP := addr.(*net.TCPAddr); isTCP && !tcp.IP.IsLoopback() {
		fmt.Fprintln(out, "Warning: it can be reached from other machines.")
	}
	fmt.Fprintf(out, "Access tokens live %s, refresh tokens %s\n", time.Duration(st.AccessTTL),
		time.Duration(st.RefreshTTL))
	if n, err := count(ctx, s.db, `SELECT count(*) FROM operation`); err == nil {
		fmt.Fprintf(out, "%d operations\n", n)
	}
	hook, err := url.Parse(st.Hook.URL)
	receives := err == nil && hook.Host != ""
	fmt.Fprintln(out, "\nShare tokens: demo-individual-ok-1, demo-corporate-outstanding-1 (any ending, once each)")
	fmt.Fprintf(out, "\n"+
		"Where the console runs:\n\nexport OPDECK_PASSWORD=%s\n", st.Password)
	if receives {
		fmt.Fprintf(out, "export OPDECK_HOOK_SECRET=%s\n", st.Hook.JWTSecret)
	}
	fmt.Fprintf(out, `
Config for the console:

default_context = "demo"

[contexts.demo]
base_url = %q
login = %q
password_env = "OPDECK_PASSWORD"
kind = "test"
`, base, st.Login)
	if receives {
		fmt.Fprintf(out, `
[webhooks]
listen = %q
path = %q
secret_env = "OPDECK_HOOK_SECRET"
`, hook.Host, hook.Path)
	}
	_, err = fmt.Fprintln(out)
	return err
}

// listUsers: GET /v2/user. It lists the machine account; its two-factor login is on
// while the service demands codes.
func listUsers(c *call) (any, error) {
	return c.paged([]any{patch{"id": 1, "uuid": c.st.UserID, "username": c.st.Login, "status": "ACCEPT",
		"is2fa": c.st.LoginCode != "", "isDeleted": false}})
}

// pin makes the newest operation one to try document work on, and the second an ended one.
func pin(o *draft, n int, w *world) {
	if n > 1 {
		return
	}
	o.customer = 0
	o.account = w.byOwner[0][2] // USD
	o.account2 = -1
	o.target = w.byCoin[coinKey{0, "USD"}][0]
	o.typ, o.pay, o.status, o.flags, o.parent = typeWithdraw, paySwift, statusPending, flagVisible, -1
	o.documents, o.lockedOneOf, o.updated = 3, 3, o.created
	if n == 1 {
		o.status, o.updated = statusSuccess, o.created+90_000_000_000
	}
}

// rateWindow is the window of the recommended rates.
const rateWindow = time.Minute

// accept loads the settings and counts the request. The page behind a compliance link is not part of the service, and
// not counted.
func accept(c *call, rt route) error {
	return c.write(c.ctx, func(tx *sql.Tx) (err error) {
		if c.st, err = loadSettings(c.ctx, tx); err != nil || rt.class == classPage {
			return err
		}
		return countRate(c, tx, rt.class)
	})
}

// countRate counts the request in the window of its class. Above the recommended
// rate it warns, or refuses with hard limits; a refused request is not counted.
func countRate(c *call, tx *sql.Tx, class limit.Class) error {
	ctx, at := c.ctx, c.at.UnixNano()
	var used, oldest int64
	err := tx.QueryRowContext(ctx, `SELECT count(*), ifnull(min(at), 0) FROM request WHERE class = ? AND at > ?`, class,
		at-int64(rateWindow)).Scan(&used, &oldest)
	if err != nil {
		return err
	}
	most := int64(limit.Recommended()[class])
	if c.st.HardLimits && used >= most {
		wait := int(math.Ceil(float64(oldest+int64(rateWindow)-at) / float64(time.Second)))
		r := refuse(http.StatusTooManyRequests, "Too many requests")
		r.header = http.Header{"Retry-After": {strconv.Itoa(max(wait, 1))}}
		return r
	}
	used++
	res, err := tx.ExecContext(ctx, `INSERT INTO request(at, class) VALUES(?, ?)`, at, class)
	if err != nil {
		return err
	}
	if id, err := res.LastInsertId(); err == nil && id%256 == 0 {
		if err := execute(ctx, tx, `DELETE FROM request WHERE at < ?`, at-2*int64(rateWindow)); err != nil {
			return err
		}
	}
	if used > most {
		c.warning = fmt.Sprintf("%s: %d requests in 60 s, %d recommended", class, used, most)
	}
	return nil
}

// incremented adds one to a counter and returns it.
func incremented(ctx context.Context, q querier, name string) (n int64, err error) {
	err = q.QueryRowContext(ctx,
		`INSERT INTO counter(name, value) VALUES(?, 1) ON CONFLICT(name) DO UPDATE SET value = value + 1 RETURNING value`,
		name).Scan(&n)
	return n, err
}
