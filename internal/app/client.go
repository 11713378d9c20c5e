package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/limit"
	"opdeck/api/session"
	"opdeck/api/untrusted"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/lending"
	"opdeck/internal/domain/mask"
	"opdeck/internal/domain/replace"
)

// Client is the service as people reach it: what it returns is masked unless the context
// lifts that (mask.Needed), whatever call it is of. What a route declares as not maskable passes
// as it is, after its record.
type Client struct {
	wire    *endpoint.Wire
	missing func(ctx context.Context, opid string, err error) error
	note    func(ctx context.Context, who api.Actor, e api.Event) error // of the audit trail
	explain func(ctx context.Context, r *endpoint.Route, err error) error
	named   func(ctx context.Context, out any) // gets each result, whole
}

// Call implements endpoint.Caller.
func (c *Client) Call(ctx context.Context, r endpoint.Request) (any, error) {
	route := r.Route
	if raw, is := r.In.(endpoint.Raw); is {
		route = raw.Route
	}
	if err := c.mayTake(ctx, route, r.In); err != nil {
		return nil, err
	}
	out, err := c.wire.Call(ctx, r)
	switch {
	case err == nil:
		c.named(ctx, out)
	case r.Route == endpoint.GetOperation.Route:
		err = c.missing(ctx, r.In.(string), err)
	}
	if err != nil { // of a write, one of a read before it
		err = c.explain(ctx, route, err)
	}
	whole := len(route.Masked.Only) > 0
	relayed, is := out.(*api.Relayed)
	if is && err == nil && mask.Needed(ctx) && (!whole || relayed.Status >= 300) {
		err = maskBody(r.Op, api.ActorOf(ctx).Role, relayed)
	}
	if is || whole {
		return out, err
	}
	return mask.For(ctx, out), err
}

// mayTake lets what cannot be masked through after its record in the trail, or says why not.
func (c *Client) mayTake(ctx context.Context, r *endpoint.Route, in any) error {
	if len(r.Masked.Only) == 0 {
		return nil
	}
	for _, p := range r.Masked.Only {
		if err := api.Need(ctx, string(r.Kind), p); err != nil {
			return err
		}
	}
	if err := c.note(ctx, api.ActorOf(ctx), r.Masked.Note(in)); err != nil {
		return api.NotRecorded(string(r.Kind), "nothing is read", err)
	}
	return nil
}

// Phase is what an operation's status word means.
func (c *Client) Phase(op api.Operation) api.Phase { return c.wire.Phase(op) }

// Known returns the newest known state of an operation, without a call.
func (a *App) Known(ctx context.Context, opid string) (api.Operation, time.Time, bool) {
	rec, err := a.Index.Get(ctx, opid)
	if err != nil || rec.Owed || len(rec.Op.Raw) == 0 {
		return api.Operation{}, time.Time{}, false
	}
	return rec.Op, rec.Seen, true
}

// OnOperation registers fn for every operation that is read or changed, masked for the person in ctx; stop removes
// it.
func (a *App) OnOperation(ctx context.Context, fn func(api.Operation)) (stop func()) {
	return a.changes.add(func(op api.Operation) { fn(mask.For(ctx, op)) })
}

// UnfinishedJobs lists the unfinished replacements on an operation ("": on any).
func (a *App) UnfinishedJobs(ctx context.Context, opid string) ([]replace.Job, error) {
	all, err := a.Jobs.Store.Unfinished(ctx)
	var out []replace.Job
	for _, j := range all {
		if opid == "" || j.OPID == opid {
			out = append(out, j)
		}
	}
	return mask.For(ctx, out), err
}

// tlsConfig is used for every connection of opdeck: the system's authorities plus the context's own. Verification
// cannot be switched off.
func tlsConfig(c config.Context) (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile == "" {
		return conf, nil
	}
	pem, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, &api.Error{Kind: api.BadConfig, Public: fmt.Sprintf("contexts.%s.ca_file cannot be read.", c.Name),
			Err: err}
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, &api.Error{Kind: api.BadConfig, Public: fmt.Sprintf("contexts.%s.ca_file contains no certificate.",
			c.Name)}
	}
	conf.RootCAs = pool
	return conf, nil
}

// newTransport is the transport of API calls, without a proxy.
func newTransport(conf *tls.Config) *http.Transport {
	d := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		DialContext:           d.DialContext,
		TLSClientConfig:       conf,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 0, // the call's own deadline applies
		IdleConnTimeout:       60 * time.Second,
		MaxIdleConnsPerHost:   4,
		ForceAttemptHTTP2:     true,
	}
}

// checkEnvironment refuses debugging switches that print tokens (security rule
// 3.2.3), outside of tests against the built-in service.
func checkEnvironment(c config.Context, env func(string) string) error {
	if c.Sandbox {
		return nil
	}
	if strings.Contains(env("GODEBUG"), "http2debug") {
		return &api.Error{Kind: api.BadConfig, Public: "GODEBUG=http2debug prints tokens; opdeck does not start with it."}
	}
	if c.Kind == config.Production && env("SSLKEYLOGFILE") != "" {
		return &api.Error{Kind: api.BadConfig,
			Public: "SSLKEYLOGFILE is set; opdeck does not start with it in a production context."}
	}
	return nil
}

// errNoContext lists the existing contexts.
func errNoContext(name string, names []string) error {
	return &api.Error{Kind: api.BadConfig, Public: fmt.Sprintf("There is no context %q.", name),
		Remedy: api.Remedy{Kind: api.ChooseContext, Names: names}, Err: errors.New("context")}
}

// outbound returns the proxy between opdeck and the service of a context, nil for none. It uses proxies of the
// environment only if the config says so: passwords and tokens must not go where a stray variable points.
func outbound(c config.Context) (*url.URL, error) {
	base, err := url.Parse(c.BaseURL)
	if err != nil || c.Sandbox || base.Scheme != "https" { // plain HTTP stays on this host
		return nil, err
	}
	var u *url.URL
	switch c.Proxy {
	case "":
		return nil, nil
	case config.EnvironmentProxy:
		u, err = http.ProxyFromEnvironment(&http.Request{URL: base})
	default:
		u, err = url.Parse(c.Proxy)
	}
	if err != nil { // the error's text may hold a password
		return nil, &api.Error{Kind: api.BadConfig, Public: "The proxy is not a valid address.",
			Remedy: api.Remedy{Kind: api.FixSettings, ID: "[service]", Names: []string{"proxy"}}}
	}
	return u, nil
}

// proxyName is a proxy for people, without credentials; "" for none.
func proxyName(u *url.URL) string {
	if u == nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// through returns the Proxy function of a transport.
func through(u *url.URL) func(*http.Request) (*url.URL, error) {
	if u == nil {
		return nil
	}
	return http.ProxyURL(u)
}

// ignoredProxies are the variables of the environment that name a proxy for the service and have no effect.
func ignoredProxies(c config.Context, env func(string) string) []string {
	base, err := url.Parse(c.BaseURL)
	if err != nil || c.Sandbox || c.Proxy != "" || base.Scheme != "https" {
		return nil
	}
	var out []string
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		if env(name) != "" {
			out = append(out, name)
		}
	}
	return out
}

// proxy reports how calls leave this host, if through a proxy.
func (d *doctor) proxy(c config.Context) *url.URL {
	u, err := outbound(c)
	switch {
	case err != nil:
		d.add("proxy", Failed, api.AsError(err).Public, "Correct [service] proxy, or the variable it is taken from.")
	case u != nil && c.Proxy == config.EnvironmentProxy:
		d.add("proxy", Healthy, "calls go through "+proxyName(u)+", from the environment", "")
	case u != nil:
		d.add("proxy", Healthy, "calls go through "+proxyName(u), "")
	case len(ignoredProxies(c, d.opt.Getenv)) > 0:
		d.add("proxy", Healthy, "none: "+strings.Join(ignoredProxies(c, d.opt.Getenv), ", ")+" is set and not used",
			`[service] proxy = "environment" uses it, if calls must leave through it.`)
	}
	return u
}

// SecretEnv is an environment that takes the configured secret variables from getenv and all others from
// rest; a nil function has none.
func (a *App) SecretEnv(getenv, rest func(string) string) func(string) string {
	named := a.Config.SecretNames()
	return func(name string) string {
		switch {
		case slices.Contains(named, name):
			return getenv(name)
		case rest != nil:
			return rest(name)
		}
		return ""
	}
}

// sessionWait is the least wait of a person's call for a session (session protocol, caller deadline): longer than the
// lease takeover after a crash.
const sessionWait = 60 * time.Second

// sessionAdapter connects the session to the client and converts its errors.
type sessionAdapter struct {
	m interface {
		Do(ctx context.Context, route session.Route, send session.Send) error
	}
	wait    time.Duration // of a person's call for pair and slot; background work waits without limit
	awaited time.Duration // of a background call that a person waits for
	host    string
	explain func(context.Context, error) error // converts the session's errors; nil: SessionError
}

// waitFor is a wait that includes all of [limits] max_wait.
func waitFor(maxWait time.Duration) time.Duration { return max(sessionWait, maxWait+sessionWait/2) }

func (s sessionAdapter) Do(ctx context.Context, route session.Route, send api.Send) error {
	bound := ctx
	if limit.IsAwaited(ctx) {
		wait := s.wait
		if limit.IsBackground(ctx) {
			wait = s.awaited
		}
		var stop context.CancelFunc
		bound, stop = context.WithTimeout(ctx, wait)
		defer stop()
	}
	err := s.m.Do(limit.By(bound, callerOf(ctx, s.host)), route, func(_ context.Context, a session.Access) (int,
		http.Header, error) {
		return send(ctx, a.Token) // the sent request has its own deadline
	})
	if s.explain == nil {
		return SessionError(err)
	}
	return s.explain(ctx, err)
}

// maxCaller bounds the name of a caller, in characters.
const maxCaller = 80

// callerOf names who makes a call, for the budgets: "borrower nightly on alpha".
func callerOf(ctx context.Context, host string) string {
	who := api.ActorOf(ctx)
	if who.Name == "" {
		return ""
	}
	name := untrusted.Text(who.Name).Line(maxCaller)
	if who.Via == lending.Via {
		name = "borrower " + name
	}
	return name + " on " + untrusted.Text(host).Line(maxCaller)
}

// sentence gives a text a capital letter and a full stop.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return fullStop(strings.ToUpper(s[:1]) + s[1:])
}

// fullStop gives a text a full stop unless it has one, or asks.
func fullStop(s string) string {
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}

func namesOf(c config.Service) session.Names {
	return session.Names{Access: c.AccessToken, Refresh: c.RefreshToken, AccessTTL: c.AccessTTL, RefreshTTL: c.RefreshTTL}
}

func serviceOf(c config.Service) api.Service {
	words := map[string]api.Phase{"open": api.PhaseOpen, "completed": api.PhaseCompleted, "failed": api.PhaseFailed,
		"canceled": api.PhaseCanceled}
	out := api.Service{ShareTokenField: c.ShareTokenField, ListField: c.ListField, UploadIDField: c.UploadIDField,
		LinkField: c.LinkField, PageSize: c.ListPageSize,
		Paging: api.Paging{Way: api.PagingWay(c.Paging), PageName: c.PageName, SizeName: c.PageSizeName,
			First: c.FirstPage, CursorName: c.CursorName, CursorField: c.CursorField},
		Phases: map[string]api.Phase{}}
	if c.Paging == "auto" {
		out.Paging.Way = ""
	}
	for word, phase := range c.StatusWords {
		out.Phases[word] = words[phase]
	}
	return out
}
