package sessions

import (
	"slices"
	"strings"

	"opdeck/api"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// Content implements ui.Contenter: the two lifetimes, the diagnosis of the history, the
// processes, and the history itself.
func (s *Screen) Content() ui.Content {
	switch {
	case s.unreadable():
		return s.Failed(s.Err)
	case !s.loaded:
		return ui.Content{Lines: []string{s.env.Theme.Dim.Render(reading)}}
	}
	lines := append([]string{s.Verdict(), ""}, s.lives()...)
	sections := ui.Sections(s.facts())
	if all := s.st.Borrowers; len(all) > 0 {
		sections = append(sections, ui.Section{Title: "Borrowers",
			Lines: listed(s, s.env.Present(), present.BorrowerColumns, all[:min(len(all), most)], "")})
	}
	history := slices.Clone(s.st.History)
	slices.Reverse(history)
	return ui.Content{Lines: append(lines, s.trouble()...), Doing: s.Doing,
		Sections: append(sections, ui.Section{Title: "Instances",
			Lines: listed(s, s.present(), present.InstanceColumns, s.st.Seen[:min(len(s.st.Seen), most)], "none yet")},
			ui.Section{Title: "History", Lines: listed(s, s.present(), present.SessionEventColumns, history, "nothing yet")})}
}

// unreadable reports that there is nothing to show but the error: nothing was read
// yet, or the store is lost and what it said holds no longer.
func (s *Screen) unreadable() bool {
	return s.Err != nil && (!s.loaded || s.Err.Remedy.Kind == api.RestoreStore)
}

// Verdict returns the line about the state of the session.
func (s *Screen) Verdict() string {
	th := s.env.Theme
	switch {
	case s.unreadable():
		return th.Bad.Render(th.Signs.Bad + " " + s.Err.Public)
	case !s.loaded:
		return th.Dim.Render(reading)
	}
	state, means := present.SessionState(s.st)
	line := th.Tone(state.Tone).Render(th.SignOf(state.Sign)+" "+state.Word) + "  " + th.Dim.Render(means)
	if s.Doing != "" {
		line += "  " + th.Info.Render(s.Doing+" in progress …")
	}
	return line
}

const reading = "Reading the session from the store …"

// roomy is the width from which facts are in two columns.
const roomy = 100

// present is how the session is presented, by the store's clock.
func (s *Screen) present() present.Options {
	o := s.env.Present()
	o.Now = s.now()
	return o
}

// lives draw what is left of the tokens as bars that run down. They are computed from the end times at each drawing;
// nothing counts.
func (s *Screen) lives() []string {
	th := s.env.Theme
	var out []string
	for _, l := range present.SessionLives(s.present(), s.st) {
		name := th.Dim.Render(draw.Pad(l.Token, 7) + "  ")
		switch {
		case th.Linear:
			out = append(out, strings.ToUpper(l.Token[:1])+l.Token[1:]+" token: "+l.Line()+".")
			continue
		case l.Until == "":
			out = append(out, name+th.Dim.Render(l.Says))
			continue
		}
		line := name + widget.Gauge(th, int(l.Left.Seconds()), int(l.TTL.Seconds()), min(max(s.W-46, 8), 40), l.Tone) +
			"  " + draw.PadLeft(l.Says, 14)
		if until := "  " + l.Until; draw.Width(line)+draw.Width(until) <= s.W {
			line += th.Dim.Render(until)
		}
		out = append(out, line)
	}
	return out
}

// trouble is what is or was wrong, with its evidence.
func (s *Screen) trouble() []string {
	th, t := s.env.Theme, present.SessionTrouble(s.present(), s.st)
	var out []string
	say := func(tone theme.Tone, sign, text string) {
		for _, l := range draw.Hang(sign+text, draw.Width(sign), max(s.W, 1)) {
			out = append(out, th.Tone(tone).Render(l))
		}
	}
	if t.Warning != "" {
		say(theme.Warn, th.Signs.Warn+" ", t.Warning)
	}
	if t.Cause != "" {
		tone := theme.Strong
		if t.Over {
			tone = theme.Dim
		}
		say(tone, "", t.Cause)
	}
	for _, e := range t.Evidence {
		say(theme.Dim, "  "+th.Signs.Sep+" ", e)
	}
	if advice := t.Advice(); advice != "" {
		say(theme.Info, "", advice)
	}
	if len(out) > 0 {
		return append([]string{""}, out...)
	}
	return nil
}

func (s *Screen) facts() []widget.Pair {
	pair := present.Section{Title: "Pair", Facts: present.SessionPair(s.present(), s.st)}
	if s.W < roomy { // one column: the history is not pushed off the screen
		pair.Facts = append(pair.Facts, present.SessionCountsLine(s.st.Counts))
		return s.env.Headed([]present.Section{pair})
	}
	return s.env.Headed([]present.Section{pair, {Title: "Counts", Facts: present.SessionCounts(s.st.Counts)}})
}

// most is the maximum of listed scripts and processes.
const most = 12

// listed are records in rows; none is what is said where there are none.
func listed[T any](s *Screen, o present.Options, columns []present.Column[T], records []T, none string) []string {
	if len(records) == 0 {
		return []string{s.env.Theme.Dim.Render(none)}
	}
	return ui.Rows(s.env, o, columns, records, s.W)
}
