package app

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/reach"
	"opdeck/api/untrusted"
	"opdeck/internal/app/config"
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
	// Differs lists how the service's answers differ from the expected ones: names of fields and kinds of values,
	// never a value.
	Differs []string `json:"differs,omitempty"`
	// Settings are config lines to paste that fix it.
	Settings []string `json:"settings,omitempty"`
}

// Depth is how far the doctor checks.
type Depth int

// The depths. Deep also makes a session and reads a page of each list.
const (
	Shallow Depth = iota // one call without a login, for the clock; with a live session, also one for the account
	WithLogin
	Deep
)

// checkTime bounds each check of something that may not respond.
const checkTime = 10 * time.Second

// doctor collects findings.
type doctor struct {
	mends  []string // lines of [service], found by the deep check
	opt    Options
	report func(Finding)
	sick   bool
	failed []string // names of lines
}

// Doctor checks every step between this program and its service, in order of dependency, and passes each finding to
// report at once. It returns whether everything is fine. shared is an App that is already open; nil opens one.
func Doctor(ctx context.Context, opt Options, shared *App, depth Depth, report func(Finding)) bool {
	opt.Chosen = nil // the report names it
	d := &doctor{opt: opt.filled(), report: report}
	last := []string{"session", "two-factor", "budget", "lend", "audit", "feed"}
	if depth == Deep {
		last = append(last, deepNames...)
	}
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
	live := d.session(ctx, a, depth != Shallow && reached)
	d.twoFactor(ctx, a, reached, live, depth != Shallow)
	trail, err := d.verified(ctx, a) // its result is a fact of the verdict
	v := Verdict(ctx, a)
	d.budget(v)
	d.lend(ctx, a)
	d.audit(v, trail, err)
	d.feed(ctx, a, v)
	d.conclude(v, verdict.PartWrites)
	d.others(v)
	if depth == Deep {
		d.deep(ctx, a, reached && live)
	}
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
// general call). It renews a session only if renew is true. If the service does not report it, the finding says so.
func (d *doctor) twoFactor(ctx context.Context, a *App, reached, live, renew bool) {
	const name = "two-factor"
	if !reached {
		d.add(name, Skipped, "the service does not answer", "")
		return
	}
	s, err := a.SharedSession().Status(ctx)
	if err != nil || !live || s.State != "live" || s.Access.Remaining <= 0 && !renew {
		d.add(name, Skipped, "needs the service and a live session", "opdeck doctor --login creates one.")
		return
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
