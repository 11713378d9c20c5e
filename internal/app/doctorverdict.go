package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"opdeck/api"
	"opdeck/internal/act/remedy"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/format"
)

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
