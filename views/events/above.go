package events

import (
	"slices"
	"strings"

	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui/draw"
)

// HeadLines implements list.Screen: what is shown, and why it may be less than there is.
func (s *Screen) HeadLines() []string {
	w, h := s.W, s.H
	warnings := s.warnings(w)
	if s.Loaded && s.Err == nil && len(s.rows.All()) == 0 && s.Filter.Text == "" && s.cfg.Listen == "" &&
		len(s.env.Verdict().In(verdict.PartFeed)) == 0 {
		return s.switchOn(w, h)
	}
	return append([]string{s.Head(s.following())}, warnings...)
}

// unreceived says that this host receives no webhooks.
const unreceived = "No receiver is configured"

// following returns the number of events, and of those that need attention.
func (s *Screen) following() string {
	th := s.env.Theme
	head := th.Strong.Render(format.Plural(s.rows.Len(), "event", "events"))
	if s.older != 0 {
		head += th.Dim.Render(", older ones above")
	}
	switch {
	case s.follow:
		head += th.Good.Render("  " + th.Signs.Down + " following")
	default:
		head += th.Dim.Render("  " + th.Signs.Off + " not following; " + s.keys.Follow.Help().Key + " follows")
	}
	for _, x := range []struct {
		st   receiver.Status
		sign string
	}{{receiver.Quarantined, th.Signs.Locked}, {receiver.Conflict, th.Signs.Bad}} {
		if n := s.counts[x.st]; n > 0 {
			head += th.Bad.Render("  " + x.sign + " " + format.Count(int(n)) + " " + string(x.st))
		}
	}
	return head
}

// unheard says that this host receives nothing, and what to do; in a small window with a
// shorter reason. key shows the settings.
func unheard(key string, w int) string {
	cure := " " + key + " shows the webhook settings."
	return draw.Fitting(w, "This console runs no receiver ([webhooks] listen is empty); the events come from other "+
		"processes."+cure,
		"This console runs no receiver; the events come from other processes."+cure,
		"No receiver here: set [webhooks] listen."+cure, "No receiver here."+cure,
		"No receiver here; "+key+" shows more.")
}

// warnings returns the reasons why events may be missing.
func (s *Screen) warnings(w int) []string {
	th := s.env.Theme
	var out []string
	for _, f := range s.env.Verdict().In(verdict.PartFeed) {
		n, _ := s.pages.bad.Refusals()
		if f.Cause == verdict.RejectedWebhooks && n > 0 && !th.Linear { // the page has the rest
			out = append(out, th.Warn.Render(draw.Cut(th.Signs.Warn+" "+format.Plural(int(n), "delivery", "deliveries")+
				" rejected, "+s.keys.Rejected.Help().Key+" shows why", w)))
			continue
		}
		out = append(out, s.env.Sentence(present.FindingStep(s.env.Present(), f), w)...)
	}
	if s.broken != nil {
		out = append(out, th.Warn.Render(draw.Cut(th.Signs.Warn+" Live updates stopped: "+line(s.broken.Public, 200)+
			" r restarts it.", w)))
	}
	if s.cfg.Listen == "" && len(s.rows.All()) > 0 {
		out = append(out, th.Dim.Render(unheard(s.keys.Settings.Help().Key, w)))
	}
	return out
}

// switchOn returns the page for a host without a receiver and without events; it omits
// paragraphs that do not fit.
func (s *Screen) switchOn(w, h int) []string {
	th := s.env.Theme
	title, settings := th.Title.Render(draw.Cut(unreceived, w)),
		s.keys.Settings.Help().Key+" shows and changes the webhook settings."
	page := func(lines ...string) (out []string) {
		for _, l := range lines {
			if strings.HasPrefix(l, " ") { // of the config
				out = append(out, th.Accent.Render(l))
			} else {
				out = append(out, draw.Wrap(l, max(w, 1))...)
			}
		}
		return out
	}
	for _, out := range [][]string{
		page(title, "", "The service sends a webhook for each change. To receive webhooks, add to the config:", "",
			"  [webhooks]", `  listen = "127.0.0.1:8788"  # where to listen`, `  path = "/hooks"`,
			`  verify = "jwt"             # how a delivery proves its origin`, `  secret_env = "OPDECK_HOOK_SECRET"`, "",
			"and restart. If other hosts send to the receiver, it needs TLS or a proxy in front of it. Without a console: "+
				"opdeck serve", "",
			settings+" "+s.env.Keys.Global.Reload.Help().Key+" checks for events from other processes."),
		page(title, "Add to the config and restart:", "  [webhooks]", `  listen = "127.0.0.1:8788"`, `  verify = "jwt"`,
			`  secret_env = "OPDECK_HOOK_SECRET"`, settings),
	} {
		if len(out) <= h && !slices.ContainsFunc(out, func(l string) bool { return draw.Width(l) > w }) {
			return draw.Lay(out, w, h)
		}
	}
	return []string{th.Dim.Render(th.Signs.Off + " " + unreceived)}
}
