package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/reach"
	"opdeck/api/session"
	"opdeck/api/untrusted"
	"opdeck/internal/act/remedy"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/answers"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/format"
	"opdeck/internal/store"
)

// Health is the result of one check.
type Health string

// The results.
const (
	Healthy Health = "ok"
	Warned  Health = "warning" // works, but needs attention
	Failed  Health = "failed"
	Skipped Health = "skipped" // does not apply, or could not be checked
)

// Finding is one line of the report. Text and Hint hold no secret.
type Finding struct {
	Name   string `json:"name"`
	Health Health `json:"state"`
	Text   string `json:"text"`
	Hint   string `json:"hint,omitempty"`
}

// checkTime bounds each check of something that may not respond.
const checkTime = 10 * time.Second

// doctor tries each step and collects findings. What it meets itself is evidence as any other: own is what the store
// does not have of it.
type doctor struct {
	opt    Options
	file   config.Config
	report func(Finding)
	app    *App // nil: not open
	own    verdict.Facts
	told   []string // sentences of the verdict
	sick   bool
}

// Doctor tries every step between this program and its service, in order of dependency, and then says what follows, as
// every surface does; each finding is passed to report. It returns whether everything is fine. shared is an App that is
// already open; nil opens one. login: it logs in if there is no session.
func Doctor(ctx context.Context, opt Options, shared *App, login bool, report func(Finding)) bool {
	opt.Chosen = nil // the report names it
	d := &doctor{opt: opt.filled(), report: report, app: shared}
	tries := append([]string{"two-factor", "lend"}, lists...)
	c, ok := d.config(shared)
	if !ok {
		d.skip("needs the config", append([]string{"password", "name lookup", "tls", "connection", "store", "session"},
			tries...))
		return false
	}
	if shared == nil {
		a, err := Open(ctx, opt)
		if err != nil {
			d.unopened("store", err)
		} else {
			defer func() { _ = a.Close() }()
			d.app, ctx = a, api.WithActor(ctx, a.LocalActor("command"))
		}
	}
	d.password(ctx, c)
	reached := d.network(ctx, c)
	if d.app == nil {
		d.skip("needs the store", append([]string{"session", "budget", "audit", "feed"}, tries...))
		return false
	}
	reached = d.connection(ctx, d.app, reached)
	failed := d.login(ctx, d.app, login && reached)
	ready := d.twoFactor(ctx, d.app, reached, login)
	var pages []Finding // after their causes
	d.report = func(f Finding) { pages = append(pages, f) }
	d.reads(ctx, d.app, ready)
	d.report = report
	d.lend(ctx, d.app)
	d.parts(ctx, d.app, failed)
	for _, f := range pages {
		report(f)
	}
	return !d.sick
}

func (d *doctor) add(name string, h Health, text, hint string) {
	d.find(Finding{Name: name, Health: h, Text: text, Hint: hint})
}

func (d *doctor) find(f Finding) {
	d.sick = d.sick || f.Health == Failed
	d.report(f)
}

func (d *doctor) skip(why string, names []string) {
	for _, name := range names {
		d.add(name, Skipped, why, "")
	}
}

// verdict is that of every surface, with what the doctor has met itself.
func (d *doctor) verdict(ctx context.Context) verdict.Verdict {
	f := verdict.Facts{Now: d.opt.Now(), Service: d.own.Service, Fresh: true}
	if d.app != nil {
		f = factReader{app: d.app}.all(ctx)
	}
	for _, c := range d.own.Calls {
		c.At, c.Value.Failed, c.Value.Since = f.Now, f.Now, f.Now
		f.Calls = append(f.Calls, c)
	}
	if d.app == nil || f.Store.Value.State == verdict.StoreGood { // else that is why nothing is known
		f.Config, f.Password = later(d.own.Config, f.Config, f.Now), later(d.own.Password, f.Password, f.Now)
		f.Clock, f.Certificate = later(d.own.Clock, f.Clock, f.Now), later(d.own.Certificate, f.Certificate, f.Now)
	}
	return verdict.Conclude(f)
}

// later is a fact that was just seen, if it was, else what was known.
func later[T any](seen, known verdict.Fact[T], now time.Time) verdict.Fact[T] {
	if seen.Holds == 0 {
		return known
	}
	seen.At = now
	return seen
}

// met is a fact that the doctor has just seen.
func met[T any](v T) verdict.Fact[T] { return verdict.Known(v, "doctor", time.Time{}, readHolds) }

func (d *doctor) config(shared *App) (config.Context, bool) {
	if shared != nil {
		d.file = shared.Config
		d.add("config", Healthy, "valid, context "+shared.Context.Name, "")
		return shared.Context, true
	}
	opt := d.opt
	c, err := choose(opt)
	d.file = c.config
	if err == nil {
		err = checkEnvironment(c.context, d.opt.Getenv)
	}
	if err != nil {
		d.unopened("config", err)
		return c.context, false
	}
	if c.config.Path == "" {
		looked := config.Find(opt.ConfigFlag, opt.StateFlag, opt.Getenv, opt.System).Looked
		d.add("config", Healthy, "no file at "+strings.Join(looked, " or ")+"; the built-in service is used",
			"opdeck config init creates one.")
		return c.context, true
	}
	d.add("config", Healthy, fmt.Sprintf("%s, context %s (%s)", c.config.Path, c.context.Name, c.context.Kind), "")
	return c.context, true
}

// password tries the password.
func (d *doctor) password(ctx context.Context, c config.Context) {
	if c.Sandbox {
		d.add("password", Skipped, "not needed: built-in service", "")
		return
	}
	p := verdict.Password{Source: passwordSetting(c)}
	_, err := d.file.Password(ctx, c, d.opt.Getenv)
	if err != nil {
		p.Fault = err.Error()
	}
	if d.own.Password = met(p); err == nil {
		d.add("password", Healthy, "available", "")
		return
	}
	d.list("password", d.verdict(ctx).In(verdict.PartSession))
}

// login logs in if wanted and there is no session.
func (d *doctor) login(ctx context.Context, a *App, wanted bool) error {
	s, err := a.SharedSession().Status(ctx)
	if err == nil && wanted && s.State == "none" {
		err = a.SharedSession().Login(ctx)
	}
	return err
}

// parts says the verdict after all tries; failed is why a login failed, nil if it did not.
func (d *doctor) parts(ctx context.Context, a *App, failed error) {
	rep, err := d.verified(ctx, a) // its result is a fact of the verdict
	a.tried.Store(nil)
	v := d.verdict(ctx)
	if failed != nil && len(v.In(verdict.PartSession))+len(v.In(verdict.PartService))+len(v.In(verdict.PartStore)) == 0 {
		e := api.AsError(failed)
		d.add("session", Failed, e.Public, remedy.Command(e))
	}
	for _, p := range verdict.Parts() {
		switch {
		case d.list(string(p), v.In(p)), p == verdict.PartConfig: // its line is the first one
		case p == verdict.PartStore && v.Of(p) == verdict.Good:
			d.add(string(p), Healthy, d.where(ctx, a), "")
		case p == verdict.PartAudit && err == nil && rep != nil && rep.Intact() && v.Of(p) == verdict.Good:
			d.add(string(p), Healthy, v.Shows(p)+"; "+rep.Summary(), "")
		case v.Of(p) == verdict.Good:
			d.add(string(p), Healthy, v.Shows(p), "")
		case v.Of(p) == verdict.Unknown:
			d.add(string(p), Skipped, cmp.Or(v.Shows(p), v.Of(p).String()), "")
		}
	}
	switch {
	case err != nil:
		d.add("audit", Failed, "The trail cannot be checked: "+err.Error(), "")
	case rep == nil:
		d.add("audit", Skipped, "your role may not read the trail", "")
	case len(rep.Problems) == 0 && !rep.Intact(): // what this host cannot prove is no finding for the others
		d.add("audit", Warned, rep.Summary(), "opdeck audit verify shows every problem.")
	}
	if n, reason := setAside(ctx, a.Hooks().Inbox(), d.opt.Now().Add(-rejectedLately)); n > 0 {
		d.add("feed", Warned, fmt.Sprintf("%s of the last 24 hours cannot be used, the last one because: %s",
			plural(n, "delivery", "deliveries"), reason), "opdeck event list --filter status:quarantined shows them.")
	}
}

// verified checks the trail; nil without an error: the role may not read it.
func (d *doctor) verified(ctx context.Context, a *App) (*audit.Report, error) {
	if !api.ActorOf(ctx).Role.May(api.MayAudit) {
		return nil, nil
	}
	rep, err := VerifyAudit(ctx, a)
	return &rep, err
}

// where describes the store and its size on disk.
func (d *doctor) where(ctx context.Context, a *App) string {
	text := "in memory: lost at the end"
	switch {
	case a.Store.Core.Engine() == store.Postgres:
		text = "PostgreSQL"
	case a.Store.Core.Path() != "":
		text = "SQLite at " + a.Store.Core.Path() + ", on a local disk"
	}
	sizes, err := a.Store.Sizes(ctx)
	if err != nil {
		return text + "; its size cannot be read: " + err.Error()
	}
	return text + sizesOf(sizes)
}

// list adds findings that no line has yet, and reports whether there are any.
func (d *doctor) list(name string, found []verdict.Finding) bool {
	for _, f := range found {
		if slices.Contains(d.told, f.Sentence) {
			continue
		}
		d.told = append(d.told, f.Sentence)
		health := Warned
		if f.Severity == verdict.Critical {
			health = Failed
		}
		text := f.What()
		if f.Next.Command == "opdeck doctor" { // this is it
			f.Next.Command = ""
		}
		d.find(Finding{Name: name, Health: health, Text: text, Hint: f.Do()})
	}
	return len(found) > 0
}

// unopened adds why there is no App: as the verdict says it if it knows the cause.
func (d *doctor) unopened(name string, err error) {
	if !d.list(name, Unopened(err, d.opt.Now()).Findings) {
		e := api.AsError(err)
		d.add(name, Failed, e.Public, remedy.Command(e))
	}
}

// sizesOf describes the size of the databases on disk.
func sizesOf(sizes []store.Size) string {
	text := ""
	for _, s := range sizes {
		text += "; " + s.Name + " " + format.Size(s.Data)
		if s.Log > 0 {
			text += ", log " + format.Size(s.Log)
		}
	}
	return text
}

// twoFactor asks the service whether the machine account has two-factor login on, which no machine can answer (one
// general call). It renews a session only if renew is true. If the service does not report it, the finding says so. It
// reports whether the call was answered.
func (d *doctor) twoFactor(ctx context.Context, a *App, reached, renew bool) bool {
	const name = "two-factor"
	if !reached {
		d.add(name, Skipped, "the service does not answer", "")
		return false
	}
	s, err := a.SharedSession().Status(ctx)
	if err != nil || s.State != "live" || s.Access.Remaining <= 0 && !renew {
		d.add(name, Skipped, "needs the service and a live session", "opdeck doctor --login creates one.")
		return false
	}
	page, err := endpoint.Do(ctx, a.service, endpoint.ListUsers, struct{}{})
	if err != nil && api.AsError(err).Fault.Class == reach.Useless {
		a.readAnother(ctx, endpoint.ListUsers.Template())
	}
	u, found := api.UserNamed(page.Items, a.Context.Login)
	on, known := u.TwoFactor()
	switch {
	case err != nil && api.AsError(err).Status == 0:
		d.add(name, Skipped, "no answer: "+api.AsError(err).Own(), "")
	case err != nil:
		e := api.AsError(err)
		d.add(name, Skipped, "not known: "+e.Own(),
			"Ask the service's support whether the machine account has it switched on; it must be off.")
	case !found:
		d.add(name, Skipped, "not known: the first page of the service's users does not show the machine account", "")
	case !known:
		d.add(name, Skipped, "not known: the machine account's record has no is2fa that can be read", "")
	case on:
		d.add(name, Failed,
			"is switched on for the machine account: the next login will be refused, because a machine account cannot give "+
				"a code",
			"Switch it off in the service's panel, or ask the service's support to do it, before the session ends.")
	default:
		d.add(name, Healthy, "off (required)", "")
	}
	return err == nil || api.AsError(err).Status != 0
}

// lists are the findings about a page of each list.
var lists = []string{"operations", "customers", "accounts"}

// reads makes one typed read of each class that has no line yet (a billing, a customer and an account call), and says
// what of the answer was not understood, with the setting that decides it. ready: a call was just answered.
func (d *doctor) reads(ctx context.Context, a *App, ready bool) {
	if !ready {
		for _, name := range lists {
			d.add(name, Skipped, "needs the service and a live session", "")
		}
		return
	}
	amounts := func(not []string, all ...api.Money) []string {
		for _, m := range all {
			if m.Unclear {
				return append(not, "an amount that is not known and in no sum: "+m.Holds()+" ([service] amount_ignore)")
			}
		}
		return not
	}
	typed(ctx, d, a, lists[0], endpoint.ListOperations, func(o api.Operation) (not []string) {
		if o.OPID != "" && o.Status != "" && a.service.Phase(o) == api.PhaseUnknown {
			not = append(not, "a status word that opdeck does not know ([service] status_words)")
		}
		if o.OPID != "" {
			not = append(not, unread(o.Raw, o.Unknown(), "status", "createdAt", "sourceAmount", "customer")...)
		}
		return amounts(not, o.SourceAmount.Sum, o.DestinationAmount.Sum, o.CommissionAmount.Sum, o.CurrentBalanceAmount.Sum)
	})
	if s, err := a.Mirror().Status(ctx); err == nil && s.Note != "" {
		d.add(lists[0], Warned, s.Note, "")
	}
	typed(ctx, d, a, lists[1], endpoint.ListCustomers, func(c api.Customer) []string { return unread(c.Raw, c.Unknown()) })
	typed(ctx, d, a, lists[2], endpoint.ListAccounts, func(c api.Account) []string {
		return amounts(unread(c.Raw, c.Unknown()), c.Balance.Value(), c.Hold.Value())
	})
}

// unread names the members of a record that are missing, though the documents have them, or that have another type.
func unread(raw json.RawMessage, fields []api.Field, required ...string) (not []string) {
	record := api.ObjectOf(raw)
	for _, name := range required {
		if record.Exists() && !record.Has(name) {
			not = append(not, "no "+name)
		}
	}
	for _, f := range fields {
		if member, _, listed := strings.Cut(f.Path, "["); f.Odd && !listed {
			kind := api.ParseJSON(f.Value).KindWord()
			not = append(not, "the member "+untrusted.Text(member).Line(60)+" of another type ("+kind+")")
		}
	}
	return not
}

// typed reads the first page of a list and counts its records by what of them was not understood.
func typed[In, T any](ctx context.Context, d *doctor, a *App, name string,
	list endpoint.Endpoint[In, api.Page[T]], not func(T) []string) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	var in In
	page, err := endpoint.Do(ctx, a.service, list, in)
	if err != nil {
		e, health := api.AsError(err), Failed
		if e.Status == 0 || e.Status >= 400 || e.Kind == api.RateLimited {
			health = Skipped // that says nothing about how an answer is read
		}
		d.add(name, health, e.Own(), remedy.Command(e))
		return
	}
	health, text, counts := Healthy, plural(int64(len(page.Items)), "record", "records")+" read", map[string]int64{}
	for _, it := range page.Items {
		for _, what := range not(it) {
			counts[what]++
		}
	}
	if page.Unusable > 0 {
		counts["no identifier, and cannot be used"] = int64(page.Unusable)
	}
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		health, text = Warned, text+"; "+plural(counts[what], "has", "have")+" "+what
	}
	d.add(name, health, text, "")
}

// setAside returns how many deliveries since then were accepted but unusable, counted up to 100, and why the last one
// is.
func setAside(ctx context.Context, in receiver.Inbox, since time.Time) (n int64, why string) {
	rows, err := in.List(ctx, receiver.Filter{Statuses: []receiver.Status{receiver.Quarantined}, Since: since})
	if err != nil || len(rows) == 0 {
		return 0, ""
	}
	return int64(len(rows)), untrusted.Text(rows[0].Detail).Line(200)
}

// rejectedLately is how long a rejected delivery is a warning.
const rejectedLately = 24 * time.Hour

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(n, 10) + " " + many
}

// lend reports whether scripts can borrow the session, and lists those that do.
func (d *doctor) lend(ctx context.Context, a *App) {
	c := a.Config.Lend
	s, err := a.SharedSession().Status(ctx)
	running, calls := 0, 0
	for _, b := range s.Borrowers {
		if b.Running {
			running++
			calls += b.LastMinute
		}
	}
	const how = "A script does not need to log in: start it with opdeck session exec, or run opdeck session proxy."
	switch _, keyErr := a.BorrowerKeys(d.opt.Getenv); {
	case err != nil:
		d.add("lend", Failed, "The use of the session by scripts cannot be read: "+api.AsError(err).Public, "")
	case running > 0:
		d.add("lend", Healthy, fmt.Sprintf("%s the session, %s in the last minute",
			plural(int64(running), "script borrows", "scripts borrow"), plural(int64(calls), "call", "calls")), "")
	case c.Socket == "" && c.Listen == "":
		d.add("lend", Skipped, "the session is not lent to scripts ([lend] is empty)", how)
	case keyErr != nil:
		d.add("lend", Warned, api.AsError(keyErr).Public, "Set the key where opdeck serve or opdeck session proxy runs.")
	default:
		d.add("lend", Healthy, "no script borrows the session now", how)
	}
}

// network resolves the service's name and makes a TLS handshake. It reports whether the service is reachable.
func (d *doctor) network(ctx context.Context, c config.Context) bool {
	if c.Sandbox {
		d.add("name lookup", Skipped, "the built-in service runs in this process", "")
		d.add("tls", Skipped, "no network is used", "")
		return true
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil { // the config's check has parsed it
		d.add("name lookup", Failed, "base_url is not a valid address", "")
		return false
	}
	if proxy := d.proxy(c); proxy != nil {
		d.add("tls", Skipped, "the proxy makes the connection", "")
		return d.lookup(ctx, c, proxy.Hostname(), reach.Fault{Class: reach.ProxyFault, Target: proxy.Host})
	}
	if !d.lookup(ctx, c, u.Hostname(), reach.Fault{Class: reach.NoName}) {
		d.add("tls", Skipped, "needs the address", "")
		return false
	}
	return d.handshake(ctx, c, u)
}

// lookup resolves a name; without an address that is the fault.
func (d *doctor) lookup(ctx context.Context, c config.Context, host string, fault reach.Fault) bool {
	if net.ParseIP(host) != nil {
		d.add("name lookup", Healthy, host+" is an address", "")
		return true
	}
	limited, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	began := time.Now()
	addrs, err := net.DefaultResolver.LookupHost(limited, host)
	if err != nil {
		d.unreached(ctx, "name lookup", c, fault)
		return false
	}
	d.add("name lookup", Healthy,
		fmt.Sprintf("%s has %s, found in %s", host, plural(int64(len(addrs)), "address", "addresses"),
			format.Duration(time.Since(began))), "")
	return true
}

// unreached says what keeps calls from the service, as the verdict does. It is evidence unless the verdict has it: then
// since when and until when is known.
func (d *doctor) unreached(ctx context.Context, name string, c config.Context, f reach.Fault) {
	d.own.Service, d.own.Config = ServiceHost(c), met(verdict.Config{Ignored: ignoredProxies(c, d.opt.Getenv)})
	found := d.verdict(ctx).In(verdict.PartService)
	is := func(one verdict.Finding) bool { return one.Cause == verdict.Cause(f.Class) }
	if !slices.ContainsFunc(found, is) {
		d.own.Calls = append(d.own.Calls, met(verdict.Call{Class: verdict.Unauthenticated, Route: name, Fault: f}))
		found = d.verdict(ctx).In(verdict.PartService)
	}
	if !d.list(name, found) {
		d.add(name, Skipped, f.String(), "")
	}
}

// handshake connects and, over https, checks the certificate.
func (d *doctor) handshake(ctx context.Context, c config.Context, u *url.URL) bool {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	conf, err := tlsConfig(c)
	if err != nil {
		e := api.AsError(err)
		d.add("tls", Failed, e.Public, remedy.Command(e))
		return false
	}
	limited, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(limited, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		d.unreached(ctx, "tls", c, reach.OfError(err, false, d.opt.Now()))
		return false
	}
	defer conn.Close()
	if u.Scheme == "http" {
		d.add("tls", Skipped, "plain HTTP to this host, port "+port+" answers", "")
		return true
	}
	conf.ServerName = u.Hostname()
	t := tls.Client(conn, conf)
	if err := t.HandshakeContext(limited); err != nil {
		d.unreached(ctx, "tls", c, reach.OfError(err, false, d.opt.Now()))
		return false
	}
	st := t.ConnectionState()
	until := st.PeerCertificates[0].NotAfter
	d.own.Certificate = met(verdict.Certificate{Until: until})
	d.add("tls", Healthy, fmt.Sprintf("%s, certificate valid for %d days", tls.VersionName(st.Version),
		int(until.Sub(d.opt.Now()).Hours()/24)), "")
	return true
}

// connection asks for an answer that needs no login, whose Date shows the service's clock. It reports whether the
// service answers, which ends what kept calls from it, in every process.
func (d *doctor) connection(ctx context.Context, a *App, reached bool) bool {
	const name = "connection"
	if !reached {
		d.add(name, Skipped, "there is no connection to the service", "") // network has said why
		return false
	}
	p, err := a.probe(ctx)
	switch {
	case err != nil:
		d.add(name, Skipped, api.AsError(err).Public, "")
		return true
	case p.fault.Class != reach.None:
		d.unreached(ctx, name, a.Context, p.fault)
		return false
	}
	a.seen.Seen(answers.Answer{Class: verdict.Unauthenticated, Route: http.MethodHead})
	d.add(name, Healthy, "the service answers", "")
	if p.date.IsZero() {
		return true
	}
	c := verdict.Clock{Host: a.Session.Owner().Host, Ahead: p.at.Sub(p.date.Add(500 * time.Millisecond))}
	if st, err := a.Session.Status(ctx); err == nil && a.Store.Core.Engine() == store.Postgres {
		c.Database = c.Ahead + st.Ahead
	}
	d.own.Clock = met(c)
	return true
}

// probe is what a request without a login has shown.
type probe struct {
	fault reach.Fault // Class None: there is a connection to the service
	date  time.Time   // by the service's clock, whole seconds; zero: not told
	at    time.Time   // in the middle of the request, by this host's
}

// probe asks the service for an answer without a login. The error is one of the config.
func (a *App) probe(ctx context.Context) (p probe, err error) {
	rt, done, err := a.plainCarrier()
	if err != nil {
		return p, err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, a.Context.BaseURL, nil)
	if err != nil {
		return p, err
	}
	var connected atomic.Bool
	req = req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}))
	began := a.Now()
	res, err := rt.RoundTrip(req)
	if err != nil {
		p.fault = reach.OfError(err, connected.Load(), a.Now())
		return p, nil
	}
	_ = res.Body.Close()
	p.at = began.Add(a.Now().Sub(began) / 2)
	p.date, _ = http.ParseTime(res.Header.Get("Date"))
	p.fault = reach.Fault{Class: reach.OfStatus(res.StatusCode), Status: res.StatusCode,
		After: session.RetryAfter(res.Header)}
	if !p.fault.Outage() { // the address of a service need not be a page
		p.fault = reach.Fault{}
	}
	return p, nil
}

// plainCarrier is a separate transport for a request without a login.
func (a *App) plainCarrier() (rt http.RoundTripper, close func(), err error) {
	if a.Sandbox != nil {
		return a.Sandbox.Transport(), func() {}, nil
	}
	conf, err := tlsConfig(a.Context)
	if err != nil {
		return nil, nil, err
	}
	t := newTransport(conf)
	proxy, err := outbound(a.Context)
	if err != nil {
		return nil, nil, err
	}
	t.Proxy, t.OnProxyConnectResponse = through(proxy), reach.ProxyAnswer
	return t, t.CloseIdleConnections, nil
}
