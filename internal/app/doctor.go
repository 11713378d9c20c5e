package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
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
				return append(not, "an amount that is not known and in no sum: "+m.Holds.Line(200)+" ([service] amount_ignore)")
			}
		}
		return not
	}
	typed(ctx, d, a, lists[0], endpoint.ListOperations, func(o api.Operation) (not []string) {
		if o.OPID != "" && a.service.Phase(o) == api.PhaseUnknown {
			not = append(not, "a status word that opdeck does not know ([service] status_words)")
		}
		return amounts(not, o.SourceAmount.Sum, o.DestinationAmount.Sum, o.CommissionAmount.Sum, o.CurrentBalanceAmount.Sum)
	})
	if s, err := a.Mirror().Status(ctx); err == nil && s.Note != "" {
		d.add(lists[0], Warned, s.Note, "")
	}
	typed(ctx, d, a, lists[1], endpoint.ListCustomers, func(api.Customer) []string { return nil })
	typed(ctx, d, a, lists[2], endpoint.ListAccounts, func(c api.Account) []string {
		return amounts(nil, c.Balance.Value(), c.Hold.Value())
	})
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
