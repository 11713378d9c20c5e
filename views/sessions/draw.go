package sessions

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/session"
	"opdeck/internal/act/remedy"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// Content implements ui.Contenter: the two lifetimes, what was made of the history, who
// takes part, and the history itself.
func (s *Screen) Content() ui.Content {
	switch {
	case s.unreadable():
		return s.Failed(s.Err)
	case !s.loaded:
		return ui.Content{Lines: []string{s.env.Theme.Dim.Render(reading)}}
	}
	now := s.now()
	lines := append([]string{s.Verdict()}, "", s.life("Access", s.st.Access, now), s.life("Refresh", s.st.Refresh, now))
	sections := ui.Sections(s.facts())
	if len(s.st.Borrowers) > 0 {
		sections = append(sections, ui.Section{Title: "Borrowers", Lines: s.borrowers(s.env.Now())})
	}
	return ui.Content{Lines: append(lines, s.verdict()...), Doing: s.Doing,
		Sections: append(sections, ui.Section{Title: "Instances", Lines: s.instances(now)},
			ui.Section{Title: "History", Lines: s.history()})}
}

// unreadable reports that there is nothing to show but the error: nothing was read
// yet, or the store is lost and what it said holds no longer.
func (s *Screen) unreadable() bool {
	return s.Err != nil && (!s.loaded || s.Err.Remedy.Kind == api.RestoreStore)
}

// Verdict answers how the session stands.
func (s *Screen) Verdict() string {
	th := s.env.Theme
	switch {
	case s.unreadable():
		return th.Bad.Render(th.Signs.Bad + " " + s.Err.Public)
	case !s.loaded:
		return th.Dim.Render(reading)
	}
	sign, tone := th.Signs.Good, theme.Good
	switch s.st.State {
	case "none":
		sign, tone = th.Signs.Off, theme.Dim
	case "rotating":
		sign, tone = th.Signs.Info, theme.Info
	case "doubtful":
		sign, tone = th.Signs.Unknown, theme.Warn
	case "blocked":
		sign, tone = th.Signs.Bad, theme.Bad
	}
	meaning := map[string]string{
		"live":     "Session OK. Tokens are valid.",
		"none":     "no tokens yet; the first call logs in",
		"rotating": "refreshing; calls wait for the new tokens",
		"doubtful": "the tokens may be revoked; the next call logs in",
		"blocked":  "logins are refused; see below",
	}[s.st.State]
	if s.st.Access.Dead && s.st.State == "doubtful" {
		sign, tone, meaning = th.Signs.Bad, theme.Bad, "the tokens are revoked or expired; the next call logs in"
	}
	line := th.Tone(tone).Render(sign+" "+s.st.State) + "  " + th.Dim.Render(meaning)
	if s.Doing != "" {
		line += "  " + th.Info.Render(s.Doing+" under way …")
	}
	return line
}

const reading = "Reading the session from the store …"

// roomy is the width from which on facts are in two columns.
const roomy = 100

// life draws one token's lifetime as a bar that runs down. It is computed from
// the end time at each drawing; nothing counts.
func (s *Screen) life(name string, l session.Lifetime, now time.Time) string {
	th := s.env.Theme
	left := max(l.ExpiresAt.Sub(now), 0)
	switch said := name + " token: "; {
	case l.ExpiresAt.IsZero() && th.Linear:
		return said + "none."
	case l.ExpiresAt.IsZero():
		return th.Dim.Render(draw.Pad(strings.ToLower(name), 7) + "  none")
	case l.Dead && th.Linear:
		return said + "revoked at " + format.Clock(l.ExpiresAt, s.env.Zone()) + "."
	case left == 0 && th.Linear:
		return said + "expired."
	case th.Linear:
		return said + present.Countdown(left) + " of " + present.Countdown(l.TTL) + " left."
	}
	tone := theme.Good
	switch {
	case left == 0:
		tone = theme.Bad
	case l.TTL > 0 && left < l.TTL/5:
		tone = theme.Warn
	}
	w := min(max(s.W-46, 8), 40)
	said, until := present.Countdown(left)+" of "+present.Countdown(l.TTL), "until "
	switch {
	case l.Dead:
		said, until = "revoked", "at "
	case left == 0:
		said, until = "expired", "at "
	}
	line := th.Dim.Render(draw.Pad(strings.ToLower(name), 7)+"  ") + widget.Gauge(th, int(left.Seconds()),
		int(l.TTL.Seconds()), w, tone) + "  " + draw.PadLeft(said, 14)
	if until = "  " + until + format.Clock(l.ExpiresAt, s.env.Zone()); draw.Width(line)+draw.Width(until) <= s.W {
		line += th.Dim.Render(until)
	}
	return line
}

// verdict is what the detective makes of the history, with its evidence.
func (s *Screen) verdict() []string {
	th := s.env.Theme
	var out []string
	if s.st.Warning != "" {
		for i, l := range draw.Wrap(s.st.Warning, max(s.W-2, 1)) {
			sign := "  "
			if i == 0 {
				sign = th.Signs.Warn + " "
			}
			out = append(out, th.Warn.Render(sign+l))
		}
	}
	if v := s.st.Verdict; v.Sentence != "" && v.Sentence != s.st.Warning {
		tone, said := th.Strong, v.Sentence
		if v.Healed {
			over, _ := format.Ago(v.Over, s.now())
			tone, said = th.Dim, "Resolved at "+format.Clock(v.Over, s.env.Zone())+" ("+over+"). "+v.Full()
		}
		for _, l := range draw.Wrap(said, max(s.W, 1)) {
			out = append(out, tone.Render(l))
		}
		for _, e := range v.Evidence {
			for i, l := range draw.Wrap(e, max(s.W-4, 1)) {
				sign := th.Signs.Sep
				if i > 0 {
					sign = " "
				}
				out = append(out, th.Dim.Render("  "+sign+" "+l))
			}
		}
	}
	if len(out) > 0 {
		if s.st.Verdict.Cause == session.ForeignClient {
			for _, l := range draw.Wrap(lendInstead, max(s.W, 1)) {
				out = append(out, th.Info.Render(l))
			}
		}
		out = append([]string{""}, out...)
	}
	return out
}

// lendInstead is what can be done about a script that logs in by itself.
var lendInstead = remedy.Screen(&api.Error{Remedy: api.Remedy{Kind: api.LendSession}})

// borrowers are the scripts that use the session.
func (s *Screen) borrowers(now time.Time) []string {
	th := s.env.Theme
	var out []string
	for _, b := range s.st.Borrowers[:min(len(s.st.Borrowers), 12)] {
		ago, _ := format.Ago(b.Last, now)
		line := fmt.Sprintf("%s  %3d a minute  %d calls, %d waited, %d refused", draw.Fit(b.Name, 18), b.LastMinute, b.Calls,
			b.Waits, b.Refused)
		seen := "last " + ago
		if !b.Running {
			seen = "ended"
		}
		out = append(out, draw.Cut(line, max(s.W-14, 1))+"  "+th.Dim.Render(seen))
	}
	return out
}

func (s *Screen) facts() []widget.Pair {
	pair := present.Section{Title: "Pair", Facts: present.SessionPair(s.env.Present(), s.st)}
	if s.W < roomy { // one column: the history is not pushed off the screen
		pair.Facts = append(pair.Facts, present.SessionCountsLine(s.st.Counts))
		return s.env.Headed([]present.Section{pair})
	}
	return s.env.Headed([]present.Section{pair, {Title: "Counts", Facts: present.SessionCounts(s.st.Counts)}})
}

func (s *Screen) instances(now time.Time) []string {
	th := s.env.Theme
	if len(s.st.Seen) == 0 {
		return []string{th.Dim.Render("none yet")}
	}
	var out []string
	for _, i := range s.st.Seen[:min(len(s.st.Seen), 12)] {
		ago, _ := format.Ago(now.Add(-i.Ago), now)
		line := fmt.Sprintf("%s  process %-7d  %s  %s", draw.Fit(i.Owner.Host, 18), i.Owner.PID, draw.Fit(i.Owner.User, 12),
			draw.Fit(i.Owner.Version, 12))
		seen := "seen " + ago
		if i.Gone {
			seen = "ended"
		}
		out = append(out, draw.Cut(line, max(s.W-14, 1))+"  "+th.Dim.Render(seen))
	}
	return out
}

func (s *Screen) history() []string {
	if len(s.st.History) == 0 {
		return []string{s.env.Theme.Dim.Render("nothing yet")}
	}
	var out []string
	for _, e := range slices.Backward(s.st.History) {
		out = append(out, s.event(e))
	}
	return out
}

func (s *Screen) event(e session.Event) string {
	th := s.env.Theme
	sign, tone := th.Signs.Info, theme.Plain
	switch {
	case e.Outcome == session.OK:
		sign, tone = th.Signs.Good, theme.Good
	case e.Outcome == session.Refused || e.Outcome == session.TwoFactor || e.Kind == session.EventBlocked ||
		e.Kind == session.EventPremature:
		sign, tone = th.Signs.Bad, theme.Bad
	case e.Outcome != "" || e.Kind == session.EventUnauthorized:
		sign, tone = th.Signs.Warn, theme.Warn
	}
	what := string(e.Kind)
	if e.Outcome != "" {
		what += " " + string(e.Outcome)
	}
	line := th.Dim.Render(format.Clock(e.At, s.env.Zone())) + "  " + th.Tone(tone).Render(sign+" "+draw.Fit(what, 20)) +
		"  " +
		fmt.Sprintf("gen %-4d", e.Gen)
	said := []string{e.Reason, e.Detail} // in words, see clean
	if e.Took > 0 {
		said = append(said, "took "+format.Duration(e.Took))
	}
	if e.Status > 0 {
		said = append(said, fmt.Sprintf("status %d", e.Status))
	}
	said = slices.DeleteFunc(said, func(s string) bool { return s == "" })
	rest := strings.TrimSpace(strings.Join(said, ", ") + "  " + e.Owner.Host + "/" + fmt.Sprint(e.Owner.PID))
	return line + "  " + th.Dim.Render(draw.Cut(rest, max(s.W-draw.Width(line)-2, 0)))
}
