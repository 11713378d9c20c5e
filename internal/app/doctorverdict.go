package app

import (
	"context"
	"fmt"
	"slices"
	"time"

	"opdeck/api"
	"opdeck/internal/act/remedy"
	"opdeck/internal/domain/verdict"
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
	text := fmt.Sprintf("%s as %s, generation %d, access token %ds left", s.State, s.Account, s.Generation,
		int(max(0, s.Access.Remaining).Seconds()))
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
	found := v.In(part)
	for _, f := range found {
		health := Warned
		if f.Severity == verdict.Critical {
			health = Failed
		}
		d.find(Finding{Name: string(part), Health: health, Text: f.What(), Hint: f.Do()})
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
