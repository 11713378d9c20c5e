package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/reach"
	"opdeck/api/untrusted"
	"opdeck/internal/act/remedy"
	"opdeck/internal/app/config"
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

// doctor collects findings.
type doctor struct {
	opt    Options
	report func(Finding)
	sick   bool
	failed []string // names of lines
}

// Doctor checks every step between this program and its service, in order of dependency, and passes each finding to
// report at once. It returns whether everything is fine. shared is an App that is already open; nil opens one. login:
// it logs in if there is no session.
func Doctor(ctx context.Context, opt Options, shared *App, login bool, report func(Finding)) bool {
	opt.Chosen = nil // the report names it
	d := &doctor{opt: opt.filled(), report: report}
	last := append([]string{"session", "two-factor", "budget", "lend", "audit", "feed"}, lists...)
	c, ok := d.config(shared)
	if !ok {
		for _, name := range append([]string{"name lookup", "tls", "clock", "store"}, last...) {
			d.add(name, Skipped, "needs the config", "")
		}
		return false
	}
	d.password(ctx, c)
	reached := d.network(ctx, c)
	a, err := shared, error(nil)
	if a == nil {
		a, err = Open(ctx, opt)
	}
	if err != nil {
		d.unopened("store", err)
		for _, name := range last {
			d.add(name, Skipped, "needs the store", "")
		}
		return false
	}
	if shared == nil {
		defer func() { _ = a.Close() }()
		ctx = api.WithActor(ctx, a.LocalActor("command"))
	}
	reached = d.clock(ctx, a, reached)
	d.store(ctx, a)
	live := d.session(ctx, a, login && reached)
	ready := d.twoFactor(ctx, a, reached, live, login)
	trail, err := d.verified(ctx, a) // its result is a fact of the verdict
	v := Verdict(ctx, a)
	d.budget(v)
	d.lend(ctx, a)
	d.audit(v, trail, err)
	d.feed(ctx, a, v)
	d.conclude(v, verdict.PartWrites)
	d.others(v)
	d.reads(ctx, a, ready)
	return !d.sick
}

func (d *doctor) add(name string, h Health, text, hint string) {
	d.find(Finding{Name: name, Health: h, Text: text, Hint: hint})
}

func (d *doctor) find(f Finding) {
	if f.Health == Failed {
		d.sick, d.failed = true, append(d.failed, f.Name)
	}
	d.report(f)
}

func (d *doctor) config(shared *App) (config.Context, bool) {
	if shared != nil {
		d.add("config", Healthy, "valid, context "+shared.Context.Name, "")
		return shared.Context, true
	}
	opt := d.opt
	c, err := choose(opt)
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

// password checks that the password is available. It does not run a command, which may ask a person.
func (d *doctor) password(ctx context.Context, c config.Context) {
	switch {
	case c.Sandbox:
		d.add("password", Skipped, "not needed: built-in service", "")
	default:
		if _, err := c.Password(ctx, d.opt.Getenv); err != nil {
			now := d.opt.Now()
			d.says("password", verdict.Facts{Now: now, Password: verdict.Known(verdict.Password{Source: passwordSetting(c),
				Fault: err.Error()}, "doctor", now, readHolds)})
			return
		}
		d.add("password", Healthy, "available", "")
	}
}

func (d *doctor) store(ctx context.Context, a *App) {
	if d.conclude(Verdict(ctx, a), verdict.PartStore) {
		return
	}
	where := "in memory: lost at the end"
	switch {
	case a.Store.Core.Engine() == store.Postgres:
		where = "PostgreSQL"
	case a.Store.Core.Path() != "":
		where = "SQLite at " + a.Store.Core.Path() + ", on a local disk"
	}
	for _, db := range []*store.DB{a.Store.Core, a.Store.Bulk} {
		if err := errors.Join(db.Usable(ctx), db.Write(ctx, func(*store.Tx) error { return nil })); err != nil {
			if !d.list("store", Unopened(err, d.opt.Now()).Findings) {
				d.add("store", Failed, err.Error(), "Check the disk, the folder's permissions or the database.")
			}
			return
		}
	}
	sizes, err := a.Store.Sizes(ctx)
	if err != nil {
		d.add("store", Warned, where+"; writable; its size cannot be read: "+err.Error(), "")
		return
	}
	d.add("store", Healthy, where+"; writable"+sizesOf(sizes), "")
}

// sizesOf describes the size of the databases on disk.
func sizesOf(sizes []store.Size) string {
	text := ""
	for _, s := range sizes {
		text += "; " + s.Name + " " + format.Size(s.Data)
		if s.Log > 0 {
			text += " and a log of " + format.Size(s.Log)
		}
	}
	return text
}

// twoFactor asks the service whether the machine account has two-factor login on, which no machine can answer (one
// general call). It renews a session only if renew is true. If the service does not report it, the finding says so. It
// reports whether the call was answered.
func (d *doctor) twoFactor(ctx context.Context, a *App, reached, live, renew bool) bool {
	const name = "two-factor"
	if !reached {
		d.add(name, Skipped, "the service does not answer", "")
		return false
	}
	s, err := a.SharedSession().Status(ctx)
	if err != nil || !live || s.State != "live" || s.Access.Remaining <= 0 && !renew {
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
		if o.OPID != "" && a.service.Phase(o) == api.PhaseUnknown {
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
		if e.Status == 0 || e.Status == http.StatusForbidden || e.Kind == api.RateLimited {
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
		found := d.lookup(ctx, c, proxy.Hostname(), reach.Fault{Class: reach.ProxyFault, Target: proxy.Host})
		d.add("tls", Skipped, "the proxy makes the connection", "")
		if !found {
			d.add("clock", Skipped, "there is no connection to the service", "")
		}
		return found
	}
	if !d.lookup(ctx, c, u.Hostname(), reach.Fault{Class: reach.NoName}) {
		d.add("tls", Skipped, "needs the address", "")
		d.add("clock", Skipped, "there is no connection to the service", "")
		return false
	}
	if !d.handshake(ctx, c, u) {
		d.add("clock", Skipped, "there is no connection to the service", "")
		return false
	}
	return true
}

// lookup resolves a name; without an address that is the fault.
func (d *doctor) lookup(ctx context.Context, c config.Context, host string, fault reach.Fault) bool {
	if net.ParseIP(host) != nil {
		d.add("name lookup", Healthy, host+" is an address", "")
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	began := time.Now()
	addrs, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		d.unreached("name lookup", c, fault)
		return false
	}
	d.add("name lookup", Healthy,
		fmt.Sprintf("%s has %s, found in %s", host, plural(int64(len(addrs)), "address", "addresses"),
			format.Duration(time.Since(began))), "")
	return true
}

// unreached says what keeps calls from the service, as the verdict does.
func (d *doctor) unreached(name string, c config.Context, f reach.Fault) {
	now := d.opt.Now()
	ignored := verdict.Config{Ignored: ignoredProxies(c, d.opt.Getenv)}
	d.says(name, verdict.Facts{Now: now, Service: ServiceHost(c),
		Config: verdict.Known(ignored, "doctor", now, readHolds), Calls: []verdict.Fact[verdict.Call]{verdict.Known(
			verdict.Call{Failed: now, Since: now, Fault: f}, "doctor", now, readHolds)}})
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
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		d.unreached("tls", c, reach.OfError(err, false, d.opt.Now()))
		return false
	}
	defer conn.Close()
	if u.Scheme == "http" {
		d.add("tls", Skipped, "plain HTTP to this host, port "+port+" answers", "")
		return true
	}
	conf.ServerName = u.Hostname()
	t := tls.Client(conn, conf)
	if err := t.HandshakeContext(ctx); err != nil {
		d.unreached("tls", c, reach.OfError(err, false, d.opt.Now()))
		return false
	}
	st := t.ConnectionState()
	until := st.PeerCertificates[0].NotAfter
	now := d.opt.Now()
	if !d.says("tls", verdict.Facts{Now: now, Service: ServiceHost(c),
		Certificate: verdict.Known(verdict.Certificate{Until: until}, "doctor", now, readHolds)}) {
		d.add("tls", Healthy, fmt.Sprintf("%s, certificate valid for %d days", tls.VersionName(st.Version),
			int(until.Sub(now).Hours()/24)), "")
	}
	return true
}

// clock asks for an answer that needs no login, and compares this host's clock with its Date header. It reports
// whether the service answers.
func (d *doctor) clock(ctx context.Context, a *App, reached bool) bool {
	if !reached {
		return false // reported by network
	}
	rt, close, err := a.plainCarrier()
	if err != nil {
		d.add("clock", Skipped, api.AsError(err).Public, "")
		return reached
	}
	defer close()
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, a.Context.BaseURL, nil)
	if err != nil {
		d.add("clock", Skipped, "base_url is not a valid address", "")
		return false
	}
	began := d.opt.Now()
	res, err := rt.RoundTrip(req)
	if err != nil {
		d.unreached("connection", a.Context, reach.OfError(err, true, d.opt.Now()))
		d.add("clock", Skipped, "the service does not answer", "")
		return false
	}
	_ = res.Body.Close()
	d.add("connection", Healthy, "the service answers", "")
	middle := began.Add(d.opt.Now().Sub(began) / 2)
	date, err := http.ParseTime(res.Header.Get("Date"))
	if err != nil {
		d.add("clock", Skipped, "the service's answer has no Date", "")
		return true
	}
	skew := middle.Sub(date.Add(500 * time.Millisecond)) // Date has whole seconds
	now := d.opt.Now()
	c := verdict.Clock{Host: a.Session.Owner().Host, Ahead: skew}
	if st, err := a.Session.Status(ctx); err == nil && a.Store.Core.Engine() == store.Postgres {
		c.Database = skew + st.Ahead
	}
	switch {
	case d.says("clock", verdict.Facts{Now: now, Clock: verdict.Known(c, "doctor", now, readHolds)}):
	case skew.Abs() < 1500*time.Millisecond:
		d.add("clock", Healthy, "this clock agrees with the service's", "")
	default:
		d.add("clock", Healthy, "this clock and the service's differ by "+format.Duration(skew.Abs()), "")
	}
	return true
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

// session checks the session, and logs in if there is none and login is true. It reports whether calls are possible.
func (d *doctor) session(ctx context.Context, a *App, login bool) bool {
	s, err := a.SharedSession().Status(ctx)
	if err == nil && login && s.State == "none" {
		if err = a.SharedSession().Login(ctx); err == nil {
			s, err = a.SharedSession().Status(ctx)
		}
	}
	if err != nil {
		e := api.AsError(err)
		d.add("session", Failed, e.Public, remedy.Command(e))
		return false
	}
	v := Verdict(ctx, a)
	d.conclude(v, verdict.PartService)
	if d.conclude(v, verdict.PartSession) {
		return s.State != "blocked"
	}
	text := fmt.Sprintf("%s as %s, generation %d, access token %s left", s.State, s.Account, s.Generation,
		format.Duration(max(0, s.Access.Remaining).Truncate(time.Second)))
	wrong := v.Of(verdict.PartService) == verdict.Bad
	switch {
	case s.State == "doubtful" && s.Access.Dead:
		d.add("session", Warned, fmt.Sprintf("the tokens of generation %d were revoked at %s", s.Generation,
			s.Access.ExpiresAt.UTC().Format(time.RFC3339)), "The next call logs in.")
	case s.State == "doubtful":
		d.add("session", Warned, text, "The next call resolves it.")
	case s.State == "none" && wrong, s.Access.Remaining <= 0 && wrong:
		d.add("session", Skipped, "no valid tokens; a login needs the service", "")
	case s.State == "none":
		d.add("session", Healthy, "none yet for "+s.Account+"; the first call logs in", "")
	case s.Access.Remaining <= 0 && s.State == "live":
		d.add("session", Healthy,
			fmt.Sprintf("the tokens of generation %d have expired; the next call renews them", s.Generation), "")
	default:
		d.add("session", Healthy, text, "")
	}
	return true
}

// conclude adds the findings of the verdict about a part, and reports whether there is any.
func (d *doctor) conclude(v verdict.Verdict, part verdict.Part) bool {
	return d.list(string(part), v.In(part))
}

// says adds what follows from facts that the doctor has just seen, and reports whether anything is wrong.
func (d *doctor) says(name string, f verdict.Facts) bool {
	return d.list(name, verdict.Conclude(f).Findings)
}

// unopened adds why there is no App: as the verdict says it if it knows the cause.
func (d *doctor) unopened(name string, err error) {
	if !d.list(name, Unopened(err, d.opt.Now()).Findings) {
		e := api.AsError(err)
		d.add(name, Failed, e.Public, remedy.Command(e))
	}
}

func (d *doctor) list(name string, found []verdict.Finding) bool {
	for _, f := range found {
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

// others adds critical findings about parts that no line has called failed yet.
func (d *doctor) others(v verdict.Verdict) {
	for _, part := range verdict.Parts() {
		if v.Of(part) == verdict.Bad && !slices.Contains(d.failed, string(part)) {
			d.conclude(v, part)
		}
	}
}

// part adds the findings about a part, or that it is good or not known, with what shows that.
func (d *doctor) part(v verdict.Verdict, part verdict.Part) {
	if d.conclude(v, part) {
		return
	}
	health := Skipped
	if v.Of(part) == verdict.Good {
		health = Healthy
	}
	d.add(string(part), health, cmp.Or(v.Shows(part), v.Of(part).String()), "")
}

func (d *doctor) budget(v verdict.Verdict) { d.part(v, verdict.PartBudget) }

// verified checks the trail; nil without an error: the role may not read it.
func (d *doctor) verified(ctx context.Context, a *App) (*audit.Report, error) {
	if !api.ActorOf(ctx).Role.May(api.MayAudit) {
		return nil, nil
	}
	rep, err := VerifyAudit(ctx, a)
	return &rep, err
}

func (d *doctor) audit(v verdict.Verdict, rep *audit.Report, err error) {
	const name = string(verdict.PartAudit)
	switch {
	case err != nil:
		d.add(name, Failed, "The trail cannot be checked: "+err.Error(), "")
	case rep == nil:
		d.add(name, Skipped, "your role may not read the trail", "")
	case len(rep.Problems) == 0 && !rep.Intact(): // what this host cannot prove is no finding for the others
		d.conclude(v, verdict.PartAudit)
		d.add(name, Warned, rep.Summary(), "opdeck audit verify shows every problem.")
	case d.conclude(v, verdict.PartAudit):
	case !rep.Intact():
		d.add(name, Failed, rep.Summary(), "opdeck audit verify shows every problem.")
	case rep.Records == 0:
		d.add(name, Healthy, "the trail is empty", "")
	default:
		d.add(name, Healthy, rep.Summary(), "")
	}
}

func (d *doctor) feed(ctx context.Context, a *App, v verdict.Verdict) {
	const name = string(verdict.PartFeed)
	found := d.conclude(v, verdict.PartFeed)
	switch n, reason := setAside(ctx, a.Hooks().Inbox(), d.opt.Now().Add(-rejectedLately)); {
	case n > 0:
		d.add(name, Warned, fmt.Sprintf("%s of the last 24 hours cannot be used, the last one because: %s",
			plural(n, "delivery", "deliveries"), reason), "opdeck event list --filter status:quarantined shows them.")
	case found:
	case a.Living && a.Config.Webhooks.Listen == "":
		d.add(name, Skipped,
			"the built-in service hands its webhooks to an open console or server directly, without an address", "")
	case a.Config.Webhooks.Listen == "":
		d.add(name, Skipped, "no webhooks are received ([webhooks] listen is empty)", "")
	default:
		d.part(v, verdict.PartFeed)
	}
}
