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
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/limit"
	"opdeck/api/reach"
	"opdeck/api/session"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/answers"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/followup"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
)

// How long facts hold after they were seen.
const (
	readHolds    = time.Minute         // a read of the store
	callHolds    = 10 * time.Minute    // an answer of the service, or its absence
	attemptHolds = 15 * time.Minute    // a failed login: three times the longest back-off
	loginHolds   = 24 * time.Hour      // a login that succeeded, as evidence that the next one does
	blockHolds   = 30 * 24 * time.Hour // a refused login, which nobody repeats
)

// recordAnswers passes what real calls have shown to the other processes. If a background read of a list is of no use,
// another one is made: one route alone shows nothing about the service.
func recordAnswers(a *App) {
	a.answers = journal.NewAnswers(a.Store.Core)
	o := a.Session.Owner()
	r := answers.NewRecorder(a.answers, a.Scope(), fmt.Sprintf("%s, process %d", o.Host, o.PID))
	a.seen = r
	ctx, cancel := context.WithCancel(context.Background())
	var reads sync.WaitGroup
	stop := a.OnCall(func(c api.Call) {
		if c.Phase != api.CallEnded || !c.Reached() {
			return
		}
		var cert time.Time
		if until := a.certificate.Load(); until != nil {
			cert = *until
		}
		r.Seen(answers.Answer{Class: string(c.Class), Route: c.Method + " " + c.Route, Object: c.Object, Fault: c.Fault,
			Certificate: cert})
		if was := a.another.Load(); c.Useful && was != nil && was.route == c.Route {
			a.another.CompareAndSwap(was, nil) // the next failure is a new one
		}
		if c.Background && c.Object == "" && c.Fault.Class == reach.Useless && ctx.Err() == nil {
			reads.Go(func() { a.readAnother(limit.Background(ctx), c.Route) })
		}
	})
	a.closers = append(a.closers, func() error { stop(); cancel(); reads.Wait(); return r.Close() })
}

// anotherEvery is how often a process makes another read at most.
const anotherEvery = time.Minute

// anotherRead is when another read was made, because of which route.
type anotherRead struct {
	route string
	at    time.Time
}

// readAnother makes a read of another route than the one whose answer was of no use (one general or billing call), so
// that the verdict knows whether that one route fails or all do.
func (a *App) readAnother(ctx context.Context, route string) {
	now, last := a.Now(), a.another.Load()
	if last != nil && now.Sub(last.at) < anotherEvery ||
		!a.another.CompareAndSwap(last, &anotherRead{route, now}) {
		return
	}
	if route == endpoint.ListUsers.Template() {
		_, _ = endpoint.Do(ctx, a.service, endpoint.ListOperations, api.OperationQuery{Size: 1})
		return
	}
	_, _ = endpoint.Do(ctx, a.service, endpoint.ListUsers, struct{}{})
}

// Verdict concludes from what the store and this process know. It makes no call to the service.
func Verdict(ctx context.Context, a *App) verdict.Verdict {
	return verdict.Conclude(factReader{app: a}.all(ctx))
}

// Probed is Verdict, with one request without a login if nothing is known of the service and nothing else is wrong with
// it. Its good answer counts for this verdict only.
func Probed(ctx context.Context, a *App) verdict.Verdict {
	f := factReader{app: a}.all(ctx)
	v := verdict.Conclude(f)
	if v.Of(verdict.PartService) != verdict.Unknown || v.Of(verdict.PartSession) >= verdict.Warned ||
		v.Of(verdict.PartStore) != verdict.Good {
		return v
	}
	p, err := a.probe(ctx)
	if err != nil {
		return v
	}
	c := verdict.Call{Class: verdict.Unauthenticated, Route: http.MethodHead, Good: f.Now}
	if p.fault.Class != reach.None {
		c.Fault, c.Good, c.Failed, c.Since = p.fault, time.Time{}, f.Now, f.Now
	}
	f.Calls = append(f.Calls, verdict.Known(c, "a request without a login", f.Now, readHolds))
	return verdict.Conclude(f)
}

// factReader reads the facts of one App.
type factReader struct {
	app *App
	// The clock of Facts.Now, that of the session's status, is ahead of the store's own clock and of this host's by:
	ofStore, ofHost time.Duration
}

// byStore converts a time of the store's own clock.
func (a factReader) byStore(t time.Time) time.Time { return limit.Moved(t, -a.ofStore) }

// byHost converts a time of this host's clock.
func (a factReader) byHost(t time.Time) time.Time { return limit.Moved(t, -a.ofHost) }

// compare reads the clocks of the store and of this host, once for all facts: each fact by a reading of its own would
// move where reading is slow.
func (a *factReader) compare(ctx context.Context) error {
	before := a.app.Now()
	now, err := a.app.Store.Core.Now(ctx)
	ahead := limit.Apart(now, before, a.app.Now())
	if a.app.Store.Core.Engine() == store.Postgres { // the status has the server's time
		a.ofStore, a.ofHost = 0, ahead
	} else { // that of this host, as it is set; the store counts on where it is set anew
		a.ofStore, a.ofHost = -ahead, 0
	}
	return err
}

// all is everything that a verdict rests on, with the beginning of what is wrong: a cause is first seen by one process,
// and that instant is kept in the store until the first verdict without it. While the store accepts nothing, it is that
// of this process.
func (a factReader) all(ctx context.Context) verdict.Facts {
	f := a.read(ctx)
	a.app.beginning.Lock()
	defer a.app.beginning.Unlock()
	stored, usable := f.Began, f.Store.Value.State == verdict.StoreGood && ctx.Err() == nil
	first := verdict.Conclude(f).FirstSeen()
	for key, at := range first {
		if mine, is := a.app.began[key]; is && mine.Before(at) {
			at = mine
		}
		if _, is := stored[key]; !is && usable {
			if kept, err := observations(a.app).First(ctx, beganPart, key, limit.Moved(at, a.ofStore)); err == nil {
				at = a.byStore(kept)
			}
		}
		first[key] = at
	}
	for key := range stored {
		if _, lasts := first[key]; !lasts && usable && verdict.SeenOn(key, f.Host) {
			_ = observations(a.app).Remove(ctx, beganPart, key) // the next verdict tries it again
		}
	}
	a.app.began, f.Began = first, first
	return f
}

// read reads everything that a verdict rests on. What cannot be read is not known; if the store is the reason, its
// error is the fact.
func (a *factReader) read(ctx context.Context) verdict.Facts {
	f := verdict.Facts{Now: a.app.Now(), Service: ServiceHost(a.app.Context), Host: a.app.Session.Owner().Host,
		Account: session.MaskAccount(a.app.Context.Login), Began: map[string]time.Time{}}
	st, err := a.app.Session.Status(ctx)
	if key, lost := keyFault(err, f.Now); lost {
		f.Key = key
		return f
	}
	if err != nil {
		f.Store = a.faulty(err, f.Now)
		return f
	}
	f.Now = st.AsOf
	if err := a.compare(ctx); err != nil {
		f.Store = a.faulty(err, f.Now)
		return f
	}
	f.Store = a.storeFact(ctx, f.Now)
	f.Session = verdict.Known(sessionFact(st), "the stored session", f.Now, readHolds)
	f.Attempts, f.Clock, f.Key = attempts(st), a.clockFact(st), a.keyFact(f.Now)
	f.Config = verdict.Known(verdict.Config{Ignored: ignoredProxies(a.app.Context, a.app.getenv)}, "this process", f.Now,
		readHolds)
	for _, read := range []func(context.Context, *verdict.Facts, session.Status) error{a.callFacts, a.budgetFacts,
		a.indexFacts, a.writeFacts, a.jobFacts, a.feedFacts, a.passwordFact, a.noted, a.auditFact} {
		if err := read(ctx, &f, st); err != nil && ctx.Err() == nil {
			if trouble := (*store.Error)(nil); errors.As(err, &trouble) && trouble.Kind != store.IndexDamaged {
				f.Store = a.faulty(err, f.Now)
			}
		}
	}
	return f
}

// storeFact is what would keep a write from being stored, or that nothing would.
func (a factReader) storeFact(ctx context.Context, now time.Time) verdict.Fact[verdict.Store] {
	for _, db := range []*store.DB{a.app.Store.Core, a.app.Store.Bulk} {
		if err := db.Usable(ctx); err != nil && ctx.Err() == nil && !store.IsKind(err, store.IndexDamaged) {
			return a.faulty(err, now)
		}
	}
	if err := a.app.Store.Core.Free(ctx); err != nil {
		return a.faulty(err, now)
	}
	return verdict.Known(verdict.Store{State: verdict.StoreGood, Engine: a.engine(), Where: a.app.Store.Core.Path()},
		"a read of the store", now, readHolds)
}

// ServiceHost is how sentences name the service: with its port, if base_url has one.
func ServiceHost(c config.Context) string {
	if u, err := url.Parse(c.BaseURL); err == nil && u.Host != "" {
		return u.Host
	}
	return c.BaseURL
}

// Unopened is the verdict on what Open returned: a mistake in the config, or the store. It finds nothing in any other
// error.
func Unopened(err error, now time.Time) verdict.Verdict {
	f := verdict.Facts{Now: now, Fresh: true}
	var e *store.Error
	var mistakes config.Mistakes
	key, lost := keyFault(err, now)
	switch known := api.AsError(err); {
	case lost:
		f.Key = key
	case store.IsKind(err, store.IndexDamaged) && errors.As(err, &e):
		f.Index = damagedIndex(e.Where, now)
	case errors.As(err, &e):
		engine := "PostgreSQL"
		if filepath.IsAbs(e.Where) {
			engine = sqlite
		}
		f.Store = unusable(err, engine, "opening the store", now)
	case errors.Is(err, errNoAuditKey):
		f.Audit = verdict.Known(verdict.Audit{NoKey: true, Writable: true}, "opening the audit trail", now, readHolds)
	case errors.As(err, &mistakes):
		var c verdict.Config
		for _, m := range mistakes {
			c.Mistakes = append(c.Mistakes, fullStop(m.Error())) // it begins with a file name
			if info, err := os.Stat(m.File); err == nil {
				c.Changed = info.ModTime().UTC().Truncate(time.Second)
			}
		}
		f.Config = verdict.Known(c, "reading the config", now, readHolds)
	case known.Kind == api.BadConfig:
		f.Config = verdict.Known(verdict.Config{Mistakes: []string{known.Public}}, "reading the config", now, readHolds)
	}
	v := verdict.Conclude(f)
	if errors.As(err, new(unconfigured)) {
		for i := range v.Findings {
			if next := &v.Findings[i].Next; next.Command == "opdeck migrate" { // it needs a config, or the sandbox by name
				next.Command += " -c sandbox"
			}
		}
	}
	return v
}

// unconfigured is an error of the store of the built-in service, which is used because there is no config.
type unconfigured struct{ error }

func (e unconfigured) Unwrap() error { return e.error }

// Unanswered is the verdict where a check of opt does not end, with the name of its context: the lock of the store's
// file, if a process holds it.
func Unanswered(opt Options) (context string, v verdict.Verdict) {
	c, err := choose(opt.filled())
	if err != nil {
		return "", v
	}
	places := placesOf(c.config, c.state)
	for _, file := range []string{places.core, places.bulk} {
		busy := &store.Error{Kind: store.Busy, Where: file}
		if file != "" && len(busy.Holders()) > 0 && !busy.InTurn() {
			return c.context.Name, Unopened(busy, time.Now())
		}
	}
	return c.context.Name, v
}

// faulty is the fact that the store cannot be read or written.
func (a factReader) faulty(err error, now time.Time) verdict.Fact[verdict.Store] {
	return unusable(err, a.engine(), "a read of the store", now)
}

// unusable is what err shows of the store. Nothing, if it was only not this process's turn to use the file, or its own
// time was over: the store is not known then.
func unusable(err error, engine, from string, now time.Time) (none verdict.Fact[verdict.Store]) {
	var e *store.Error
	if is := errors.As(err, &e); is && e.InTurn() ||
		!is && engine == sqlite && errors.Is(err, context.DeadlineExceeded) {
		return none
	}
	return verdict.Known(storeFault(err, engine), from, now, readHolds)
}

func (a factReader) engine() string {
	if a.app.Store.Core.Engine() == store.Postgres {
		return "PostgreSQL"
	}
	return sqlite
}

// sqlite is the engine of a file, for people.
const sqlite = "SQLite"

// storeFault names what is wrong with the store.
func storeFault(err error, engine string) verdict.Store {
	out := verdict.Store{State: verdict.StoreAbsent, Engine: engine, Where: "[store] url"}
	var e *store.Error
	if !errors.As(err, &e) {
		return out
	}
	out.Where = strings.TrimPrefix(e.Place(), engine+" at ")
	switch e.Kind {
	case store.Busy:
		out.State, out.Holder = verdict.StoreLocked, "which one is not known"
		if pids := e.Holders(); len(pids) > 0 {
			out.Holder = fmt.Sprintf("process %d of this host", pids[0])
		}
	case store.Full:
		out.State = verdict.StoreFull
	case store.Damaged:
		out.State = verdict.StoreDamaged
	case store.Failing:
		out.State = verdict.StoreFailing
	case store.Newer:
		out.State = verdict.StoreNewer
	case store.Older:
		out.State = verdict.StoreOlder
	case store.Lost:
		out.State = verdict.StoreDeleted
	case store.ReadOnly:
		if out.State = verdict.StoreDenied; e.Mounted() {
			out.State = verdict.StoreReadOnly
		}
	case store.NoRight:
		out.State, out.Says = verdict.StoreDenied, store.Says(err)
	case store.Unavailable:
		switch e.Code() {
		case "28P01", "28000":
			out.State, out.Says = verdict.StoreLogin, store.Says(err)
		case "3D000":
			out.State = verdict.StoreMissing
		case "53300":
			out.State = verdict.StoreBusy
		}
	}
	return out
}

func (a factReader) callFacts(ctx context.Context, f *verdict.Facts, _ session.Status) error {
	a.app.seen.Flush()
	all, _, err := a.app.answers.All(ctx, a.app.Scope())
	at := a.byStore
	for _, l := range all {
		c := verdict.Call{Class: l.Class, Route: l.Route, Good: at(l.Good), Failed: at(l.Failed), Since: at(l.Since),
			Over: at(l.Over), Fault: l.Fault, Objects: len(l.Objects)}
		newest := c.Good
		if c.Failed.After(newest) {
			newest = c.Failed
		}
		f.Calls = append(f.Calls, verdict.Known(c, l.By, newest, callHolds))
		if !l.Certificate.IsZero() && c.Good.After(f.Certificate.At) {
			f.Certificate = verdict.Known(verdict.Certificate{Until: l.Certificate}, "a connection of "+l.By, c.Good, noteHolds)
		}
	}
	return err
}

// mostUsers bounds how many users of a budget are named.
const mostUsers = 3

func (a factReader) budgetFacts(ctx context.Context, f *verdict.Facts, _ session.Status) error {
	use, err := a.app.Limits.Usage(ctx)
	now := a.app.Now()
	for _, u := range use {
		at := func(d time.Duration) time.Time { return now.Add(d) }
		if u.At != 0 && !a.app.ownClock { // the same for every process and at each read
			at = func(d time.Duration) time.Time { return a.byStore(time.Unix(0, int64(u.At+d)).UTC()) }
		}
		if u.Class == limit.Login || u.Class == limit.Refresh { // what uses them up is an attempt
			continue
		}
		next := at(time.Duration(u.NextSlot * float64(time.Second)))
		b := verdict.Budget{Class: string(u.Class), Room: u.Room, Next: next, Warns: u.Warns, Asked: u.Blocked > 0,
			Until: at(u.Blocked)}
		if b.Asked {
			b.AskedT = at(-u.Refused).Round(time.Second)
		}
		if u.Full > 0 {
			b.Full = at(-u.Full).Round(time.Second)
		}
		for _, who := range u.Users[:min(len(u.Users), mostUsers)] {
			b.Users = append(b.Users, fmt.Sprintf("%s used %d of the %d", who.Who, who.Calls, u.Recommended))
		}
		f.Budgets = append(f.Budgets, verdict.Known(b, "the shared budgets", f.Now, readHolds))
	}
	return err
}

// damagedIndex is the fact that the index file at path is damaged, since a process met that first.
func damagedIndex(path string, now time.Time) verdict.Fact[verdict.Index] {
	since := store.DamagedSince(path)
	if since.IsZero() {
		since = now
	}
	return verdict.Known(verdict.Index{Damaged: path, DamagedSince: since}, "a read of "+path, now, readHolds)
}

func (a factReader) indexFacts(ctx context.Context, f *verdict.Facts, _ session.Status) error {
	if path := a.app.Store.Bulk.Path(); path != "" && !store.DamagedSince(path).IsZero() {
		f.Index = damagedIndex(path, f.Now)
		return nil
	}
	if !a.app.Config.Index.Enabled {
		return nil
	}
	fresh, err := a.app.Index.Freshness(ctx)
	if err != nil || fresh.AsOf.IsZero() {
		return err
	}
	at := func(t time.Time) time.Time { return a.byHost(t).Round(time.Second) }
	i := verdict.Index{AsOf: at(fresh.AsOf), Looked: at(fresh.WholeAt), Whole: fresh.Complete,
		Error: fresh.Progress.Trouble, Says: fresh.Says(a.app.Now(), time.UTC), Every: fresh.MaxAge}
	if i.Error != "" { // without a failure, a large list may take hours
		i.Due = indexDue
	}
	f.Index = verdict.Known(i, "the index", f.Now, readHolds)
	return nil
}

// indexDue is a third of the age from which on a failed sync matters.
const indexDue = 20 * time.Minute

func (a factReader) writeFacts(ctx context.Context, f *verdict.Facts, _ session.Status) error {
	rows, err := a.app.Follow.Pending(ctx)
	if err != nil {
		return err
	}
	// of a write whose state was seen, a person has nothing to check: only its time is left
	rows = slices.DeleteFunc(rows, func(r followup.Row) bool { return r.State == followup.Seen })
	w := verdict.Writes{Doubtful: int64(len(rows))}
	if len(rows) > 0 {
		w.Oldest = a.byHost(rows[0].Sent)
	}
	f.Writes = verdict.Known(w, "the writes with an unknown outcome", f.Now, readHolds)
	return nil
}

func (a factReader) feedFacts(ctx context.Context, f *verdict.Facts, _ session.Status) error {
	t, err := a.app.Hooks().Trouble(ctx)
	if err != nil {
		return err
	}
	host := a.app.Now()
	came, err := a.app.Hooks().Inbox().Arrivals(ctx, 100)
	if err == nil && host.Sub(came.Last) > receiver.Silence { // more of them, so that a quiet night is among them
		came, err = a.app.Hooks().Inbox().Arrivals(ctx, 5000)
	}
	if err != nil {
		return err
	}
	at := a.byHost
	d := verdict.Feed{Expected: a.app.Hooks().At() != "", Stalled: came.Stalled(host), Waiting: t.Backlog.Waiting}
	if came.N > 0 {
		d.Last, d.Usual = at(came.Last), came.Most
	}
	if n, last := t.Refusals(); n > 0 && host.Sub(last.Last) <= rejectedLately {
		d.Rejected, d.Why, d.At = n, last.Detail, at(last.Last)
	}
	if d.Waiting > 0 {
		d.Oldest = at(t.Backlog.Oldest)
	}
	f.Feed = verdict.Known(d, "the inbox", f.Now, readHolds)
	return nil
}

// What processes note for each other, and how long it holds.
const (
	servePart, auditPart = "serve", "audit"
	outdatedPart         = "config" // a process with an older config than the file, by its owner's id
	beganPart            = "began"  // when a cause was first seen, by its key
	noteHolds            = 24 * time.Hour
	stuckAfter           = 2 * time.Minute // since the last step of a replacement
)

func observations(a *App) *journal.Observations {
	return journal.NewObservations(a.Store.Core, a.Scope())
}

// ServePort is a port of opdeck serve; err is why it cannot be opened, nil if it listens.
func ServePort(name, addr string, err error) verdict.Port {
	if err == nil {
		return verdict.Port{Name: name, Addr: addr}
	}
	return verdict.Port{Name: name, Addr: addr, Fault: portFault(err)}
}

// NoteServe notes for other processes that this one is opdeck serve with these ports, or ends. That it still runs is
// told by its reports as a user of the session.
func NoteServe(ctx context.Context, a *App, ports []verdict.Port, ends bool) {
	o := a.Session.Owner()
	s := verdict.Serve{Host: o.Host, PID: o.PID, Ports: ports}
	if ends {
		s.Ended = a.Now()
	}
	body, err := json.Marshal(s)
	if err == nil {
		err = observations(a).Put(ctx, servePart, o.ID, body)
	}
	if err != nil {
		a.Log.Warn("opdeck serve is not noted for other processes", "err", err)
	}
}

// justBegun is how long a process that has noted itself may not be among the users of the session yet: its note stays.
const justBegun = 15 * time.Second

// serveFacts adds what notes and reports tell of opdeck serve on each host. Where one runs, those that ended are
// history; of a host that is not this one, it is so after a day.
func (a factReader) serveFacts(ctx context.Context, f *verdict.Facts, st session.Status, notes []journal.Observation,
	now time.Time) {
	here, expected := a.app.Session.Owner(), a.servesHere()
	byHost := map[string]verdict.Serve{}
	over := func(id string) { _ = observations(a.app).Remove(ctx, servePart, id) } // the next verdict tries it again
	slices.SortFunc(notes, func(a, b journal.Observation) int { return b.Seen.Compare(a.Seen) })
	for _, o := range notes {
		var s verdict.Serve
		if json.Unmarshal(o.Body, &s) != nil {
			over(o.Name)
			continue
		}
		last := a.byStore(o.Seen)
		if !s.Ended.IsZero() {
			s.Ended = last
		} else if at := slices.IndexFunc(st.Seen, func(i session.Instance) bool { return i.Owner.ID == o.Name }); at >= 0 {
			in := st.Seen[at]
			last, s.Runs = in.SeenAt, !in.Gone
			if s.Runs && in.Ago > stuckAfter && o.Name != here.ID {
				s.Silent, s.Runs = in.SeenAt.Round(time.Second), in.Sure
			}
		}
		was, is := byHost[s.Host]
		switch {
		case is && !s.Runs && now.Sub(o.Seen) < justBegun:
		case is && !s.Runs, s.Host == here.Host && !expected && !s.Runs,
			s.Host != here.Host && !s.Runs && f.Now.Sub(last) > noteHolds:
			over(o.Name)
		case is && was.Runs: // two at a time
		default:
			if s.Host == here.Host {
				freePorts(s.Ports)
			}
			byHost[s.Host] = s
		}
	}
	if _, seen := byHost[here.Host]; expected && !seen {
		byHost[here.Host] = verdict.Serve{Host: here.Host}
	}
	for _, host := range slices.Sorted(maps.Keys(byHost)) {
		f.Serves = append(f.Serves, verdict.Known(byHost[host], "what opdeck serve on "+host+" noted", f.Now, readHolds))
	}
}

// servesHere reports whether the config of this host has something for opdeck serve in this context.
func (a factReader) servesHere() bool {
	c, x := a.app.Config, a.app.Context
	usual, _, _ := pick(c, "")
	return (x.Name == usual.Name || x.Serve != config.Place{}) && c.Served()
}

// dialTime bounds the try of an address that another program had.
const dialTime = 200 * time.Millisecond

// freePorts clears the fault of each address that another program had and where nothing answers now.
func freePorts(ports []verdict.Port) {
	for i, p := range ports {
		if p.Fault != portTaken {
			continue
		}
		conn, err := net.DialTimeout("tcp", p.Addr, dialTime)
		if err == nil {
			_ = conn.Close()
		} else if errors.Is(err, syscall.ECONNREFUSED) {
			ports[i].Fault = ""
		}
	}
}

// portTaken is the fault of an address that another program has.
const portTaken = "another program uses the address"

func portFault(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return portTaken
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "this host does not have the address"
	case errors.Is(err, syscall.EACCES):
		return "the system does not allow it to this user"
	}
	return strings.TrimRight(api.AsError(err).Public, ". ")
}

// auditNote is the last check of the trail.
type auditNote struct {
	Broken  []string `json:"broken,omitempty"`
	Another bool     `json:"another,omitempty"`
}

// VerifyAudit checks the trail and notes the result for other processes.
func VerifyAudit(ctx context.Context, a *App) (audit.Report, error) {
	rep, err := a.Audit.Prover.Verify(ctx)
	if err != nil {
		return rep, err
	}
	NoteAudit(ctx, a, rep)
	return rep, nil
}

// NoteAudit notes the result of a check of the trail for other processes. A host that knows too few keys to prove
// anything notes nothing.
func NoteAudit(ctx context.Context, a *App, rep audit.Report) {
	if len(rep.Problems) == 0 && len(rep.Unknown) > 0 {
		return
	}
	var note auditNote
	if !rep.Intact() {
		note.Broken = []string{rep.Summary()}
	}
	if rep.Exchanged() {
		note = auditNote{Broken: []string{rep.Problems[0].Text}, Another: true}
	}
	body, err := json.Marshal(note)
	if err == nil {
		err = observations(a).Put(ctx, auditPart, "verified", body)
	}
	if err != nil {
		a.Log.Warn("the check of the audit trail is not noted for other processes", "err", err)
	}
}

// noted reads what processes noted for each other.
func (a factReader) noted(ctx context.Context, f *verdict.Facts, st session.Status) error {
	a.noteOutdated(ctx)
	list, now, err := observations(a.app).All(ctx)
	var serves []journal.Observation
	for _, o := range list {
		at := a.byStore(o.Seen)
		switch o.Part {
		case servePart:
			serves = append(serves, o)
		case auditPart:
			var n auditNote
			if json.Unmarshal(o.Body, &n) == nil && len(n.Broken) > 0 {
				f.Audit.Value.Broken, f.Audit.Value.Another = n.Broken, n.Another
			}
		case outdatedPart:
			a.outdated(ctx, f, st, o, at)
		case beganPart:
			f.Began[o.Name] = at
		case triedPart:
			_ = json.Unmarshal(o.Body, &f.Audit.Value.Says)
		}
	}
	if err == nil {
		a.serveFacts(ctx, f, st, serves, now)
	}
	return err
}

// tried is the newest try of this process to record a write.
type tried struct {
	at   time.Time // of this host
	says string    // the store's own words; "": it worked
}

const (
	triedPart = "recording" // a refused try, until one works
	triedFor  = 5 * time.Minute
	tryTime   = 2 * time.Second // so that a check answers in time
)

// configDigest identifies the content of a config file; "": there is none that can be read.
func configDigest(path string) string {
	text, err := os.ReadFile(path)
	if path == "" || err != nil {
		return ""
	}
	return api.HashHex(text)
}

// noteOutdated notes for other processes whether this one has read an older config than the file has now.
func (a factReader) noteOutdated(ctx context.Context) {
	now := configDigest(a.app.Config.Path)
	is := now != "" && a.app.configRead != "" && now != a.app.configRead
	if !a.app.outdated.CompareAndSwap(!is, is) {
		return
	}
	o, err := a.app.Session.Owner(), error(nil)
	if is {
		body, _ := json.Marshal(verdict.Outdated{Host: o.Host, PID: o.PID, File: a.app.Config.Path})
		err = observations(a.app).Put(ctx, outdatedPart, o.ID, body)
	} else {
		err = observations(a.app).Remove(ctx, outdatedPart, o.ID)
	}
	if err != nil {
		a.app.outdated.Store(!is) // the next verdict tries it again
	}
}

// outdated is the fact of a process that still runs; that of another one is removed.
func (a factReader) outdated(ctx context.Context, f *verdict.Facts, st session.Status, o journal.Observation,
	at time.Time) {
	lives := o.Name == a.app.Session.Owner().ID || slices.ContainsFunc(st.Seen, func(i session.Instance) bool {
		return i.Owner.ID == o.Name && !i.Gone && (i.Sure || i.Ago < stuckAfter)
	})
	var p verdict.Outdated
	if err := json.Unmarshal(o.Body, &p); err == nil && lives {
		f.Outdated = append(f.Outdated, verdict.Known(p, o.Name, at, noteHolds))
	} else {
		_ = observations(a.app).Remove(ctx, outdatedPart, o.Name)
	}
}

// auditFact is the trail as this process sees it. Whether a write can be recorded is tried now and then, and at each
// read while the store refuses it here or elsewhere.
func (a factReader) auditFact(ctx context.Context, f *verdict.Facts, _ session.Status) error {
	health, last := a.app.Audit.Health(), a.app.tried.Load()
	refused := health.Err != nil && !errors.Is(health.Err, errNewHost) || f.Audit.Value.Says != ""
	if last == nil || last.says != "" || refused || a.app.Now().Sub(last.at).Abs() > triedFor {
		var err error
		if last, err = a.tryToRecord(ctx, f.Audit.Value.Says); err != nil {
			return err
		}
	}
	out := f.Audit.Value // what is noted
	out.Says, out.Writable, out.NoKey = last.says, last.says == "", a.app.Audit.Unrecorded() != nil
	if bad := health.Tampered(); bad != nil {
		out.Broken, out.Another = []string{bad.Error()}, false
	}
	f.Audit = verdict.Known(out, "this process", f.Now.Add(last.at.Sub(a.app.Now())), triedFor+readHolds)
	return nil
}

// tryToRecord tries what a write needs of the store, and notes a refusal for other processes until a try works. noted
// is the refusal that is noted. The error is one of the whole store.
func (a factReader) tryToRecord(ctx context.Context, noted string) (*tried, error) {
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	err := journal.Recordable(ctx, a.app.Store.Core, a.app.Scope())
	trouble := (*store.Error)(nil)
	if errors.As(err, &trouble) && trouble.Kind != store.NoRight || err != nil && ctx.Err() != nil {
		return nil, err
	}
	now := &tried{at: a.app.Now()}
	if err != nil {
		now.says = cmp.Or(store.Says(err), err.Error())
	}
	a.app.tried.Store(now)
	switch {
	case now.says == noted:
		return now, nil
	case err == nil:
		err = observations(a.app).Remove(ctx, triedPart, "")
	default:
		body, _ := json.Marshal(now.says)
		err = observations(a.app).Put(ctx, triedPart, "", body)
	}
	if err != nil {
		a.app.Log.Warn("the try to record a write is not noted for other processes", "err", err)
	}
	return now, nil
}

// refused tries at once whether a write can be recorded, since the store has refused one.
func (a factReader) refused(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), explainTime)
	defer cancel()
	a.app.tried.Store(nil)
	_ = a.all(ctx)
}

// jobFacts adds the replacements that stopped between two steps.
func (a factReader) jobFacts(ctx context.Context, f *verdict.Facts, _ session.Status) error {
	jobs, err := a.app.Jobs.Store.Unfinished(ctx)
	if err != nil {
		return err
	}
	host := a.app.Now()
	for _, j := range jobs {
		if host.Sub(j.Updated) < stuckAfter {
			continue
		}
		w := &f.Writes.Value
		w.Stuck++
		if at := a.byHost(j.Updated); w.StuckSince.IsZero() || at.Before(w.StuckSince) {
			w.StuckSince = at
		}
	}
	return nil
}

// watchCertificate notes until when the certificate of each connection to the service is valid.
func watchCertificate(a *App, conf *tls.Config) {
	conf.VerifyConnection = func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) > 0 {
			until := s.PeerCertificates[0].NotAfter
			a.certificate.Store(&until)
		}
		return nil
	}
}
