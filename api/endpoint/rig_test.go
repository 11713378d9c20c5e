package endpoint_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/apitest"
	"opdeck/api/endpoint"
	"opdeck/api/limit"
	"opdeck/api/secret"
	"opdeck/api/session"
	"opdeck/api/session/sessiontest"
	"opdeck/internal/sandbox"
	"opdeck/internal/sandbox/faulty"
)

// trail is an Auditor in memory. intentErr makes it refuse intents.
type trail struct {
	mu        sync.Mutex
	intents   []api.Act
	outcomes  []api.Outcome
	notes     []api.Event
	intentErr error
}

func (t *trail) Intent(_ context.Context, _ api.Actor, a api.Act) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.intentErr != nil {
		return "", t.intentErr
	}
	t.intents = append(t.intents, a)
	return fmt.Sprint(len(t.intents)), nil
}

func (t *trail) Outcome(_ context.Context, _ string, o api.Outcome) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.outcomes = append(t.outcomes, o)
	return nil
}

func (t *trail) Note(_ context.Context, _ api.Actor, e api.Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notes = append(t.notes, e)
	return nil
}

// lending adapts the session, as the wiring does.
type lending struct{ m *session.Manager }

func (l lending) Do(ctx context.Context, route session.Route, send api.Send) error {
	return l.m.Do(ctx, route, func(ctx context.Context, a session.Access) (int, http.Header,
		error) {
		return send(ctx, a.Token)
	})
}

// rig is a client on a built-in service of its own.
type rig struct {
	t       *testing.T
	ctx     context.Context
	svc     *faulty.Service
	client  *endpoint.Wire
	opt     api.Options // of client
	trail   *trail
	gate    *api.Gate
	wire    *counter
	budgets *limit.Budgets
}

// counter counts requests by method.
type counter struct {
	next http.RoundTripper
	mu   sync.Mutex
	n    map[string]int
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.n[r.Method]++
	c.mu.Unlock()
	return c.next.RoundTrip(r)
}

func (c *counter) of(method string) int { c.mu.Lock(); defer c.mu.Unlock(); return c.n[method] }

// newRig opens a service; contract holds both sides against the OpenAPI
// document, which faults break on purpose.
func newRig(t *testing.T, contract bool, opt sandbox.Options) *rig {
	t.Helper()
	svc, err := faulty.Open(t.Context(), faulty.Options{Options: opt, Odd: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = svc.Close() })
	next := svc.Transport()
	if contract {
		next = apitest.Contract(t, next)
	}
	const base = "https://sandbox.invalid"
	key, err := session.NormalKey(base, "machine@sandbox")
	if err != nil {
		t.Fatal(err)
	}
	rows := sessiontest.NewMemory(session.SystemClock())
	many := map[limit.Class]int{}
	for _, c := range limit.Classes {
		many[c] = 10_000
	}
	budgets, err := limit.New(limit.Config{Store: rows, Key: key, PerMinute: many})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, svc: svc, trail: &trail{}, wire: &counter{next: next, n: map[string]int{}}, budgets: budgets}
	times := session.Defaults()
	times.Young = 0 // this service has no replicas
	m, err := session.New(session.Config{BaseURL: base, Account: "machine@sandbox", Store: rows, Limits: budgets,
		Auth: svc.Transport(), Constants: times, Probes: func() []session.Probe { return r.client.Probes() },
		Password: func(context.Context) (secret.Value, error) { return secret.New("sandbox"), nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close(context.Background()) })
	r.gate = &api.Gate{Audit: r.trail, Now: time.Now}
	r.ctx = api.WithActor(t.Context(), api.Actor{Name: "ana", Role: api.Operator})
	r.opt = api.Options{BaseURL: base, Transport: r.wire, Session: lending{m}.Do, Gate: r.gate, Timeout: 5 * time.Second,
		SettleWait: time.Second, Now: time.Now,
		UserAgent: "test", Sleep: func(context.Context, time.Duration) error { return nil }}
	r.remake(func(*api.Options) {})
	return r
}

// remake makes the client anew with other options.
func (r *rig) remake(change func(*api.Options)) {
	r.t.Helper()
	change(&r.opt)
	var err error
	if r.client, err = endpoint.New(r.opt); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) fault(spec string) {
	r.t.Helper()
	f, err := faulty.ParseFaults(spec)
	if err != nil {
		r.t.Fatal(err)
	}
	r.svc.SetFaults(f)
}

// pick returns an operation of the sample data for which ok holds.
func (r *rig) pick(ok func(api.Operation) bool) api.Operation {
	r.t.Helper()
	for page := range 5 {
		p, err := endpoint.Do(r.ctx, r.client, endpoint.ListOperations, api.OperationQuery{Page: page})
		if err != nil {
			r.t.Fatal(err)
		}
		for _, o := range p.Items {
			if ok(o) {
				return o
			}
		}
	}
	r.t.Fatal("no such operation in the sample data")
	return api.Operation{}
}

func open(o api.Operation) bool {
	return o.Phase() == api.PhaseOpen && len(o.Documents) > 1 && !o.Documents[0].Lock.Is()
}

func (r *rig) customer(kind string) api.Customer {
	r.t.Helper()
	p, err := endpoint.Do(r.ctx, r.client, endpoint.ListCustomers, api.CustomerQuery{})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, c := range p.Items {
		if string(c.Type) == kind {
			return c
		}
	}
	r.t.Fatal("no customer of that kind")
	return api.Customer{}
}

func wants(t *testing.T, err error, kind api.Kind, rule api.Rule) *api.Error {
	t.Helper()
	e := api.AsError(err)
	if e == nil || e.Kind != kind || e.Rule != rule || e.Public == "" {
		t.Fatalf("got %+v, want kind %s rule %s", e, kind, rule)
	}
	return e
}
