package sessions

import (
	"slices"
	"strings"

	"opdeck/internal/domain/verdict"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// Content implements ui.Contenter: what is wrong, then the session.
func (s *Screen) Content() ui.Content {
	c := s.Details()
	c.Lines = append(append(s.verdict(), ""), c.Lines...)
	if c.Problem > 0 {
		c.Problem += len(s.verdict()) + 1
	}
	return c
}

// verdict is the first line of the verdict, with its evidence if it is about the session.
func (s *Screen) verdict() []string {
	out := s.env.VerdictLines(s.W)
	if f, wrong := s.env.Verdict().First(); wrong && f.Part == verdict.PartSession {
		for _, e := range present.EvidenceOf(s.present(), f) {
			out = append(out, s.env.Sentence(present.Sentence{Look: present.Look{Sign: present.SignNext, Tone: theme.Dim},
				Text: e},
				s.W)...)
		}
	}
	return out
}

// Details are the two lifetimes, the processes, the history and its findings. The on-call page shows them below its
// own first line.
func (s *Screen) Details() ui.Content {
	switch {
	case s.Err != nil:
		return s.Failed(s.Err)
	case s.env.Verdict().Of(verdict.PartStore) == verdict.Bad:
		return ui.Content{Lines: []string{s.env.Theme.Dim.Render("The session cannot be read now.")}}
	case !s.loaded:
		return ui.Content{Lines: []string{s.env.Theme.Dim.Render(reading)}}
	}
	lines := s.lives()
	if s.Doing != "" && s.st.Holder == nil { // else the state says it
		lines = append(lines, s.env.Theme.Info.Render(s.Doing+" in progress …"))
	}
	sections := append(s.findings(), ui.Sections(s.facts())...)
	if title, past := present.SessionProblem(s.present(), s.st, s.env.Verdict()); past != nil {
		sections = append(sections, ui.Section{Title: title, Lines: past, Hang: 2})
	}
	if all := s.st.Borrowers; len(all) > 0 {
		sections = append(sections, ui.Section{Title: "Borrowers",
			Lines: listed(s, s.env.Present(), present.BorrowerColumns, all[:min(len(all), most)], "")})
	}
	if len(s.people) > 0 {
		sections = append(sections, ui.Section{Title: "People",
			Lines: listed(s, s.env.Present(), present.ConnectedColumns, s.people[:min(len(s.people), most)], "")})
	}
	history := slices.Clone(s.st.History)
	slices.Reverse(history)
	return ui.Content{Lines: lines, Doing: s.Doing,
		Sections: append(sections, ui.Section{Title: "Processes",
			Lines: listed(s, s.present(), present.InstanceColumns, s.st.Seen[:min(len(s.st.Seen), most)], "none yet")},
			ui.Section{Title: "History", Lines: listed(s, s.present(), present.SessionEventColumns, history, "nothing yet")})}
}

// findings are those about the session that the first line does not say.
func (s *Screen) findings() []ui.Section {
	v := s.env.Verdict()
	if f, wrong := v.First(); wrong && f.Part == verdict.PartSession {
		v.Findings = v.Findings[1:]
	}
	return s.env.Sections(present.Findings(s.present(), v, verdict.PartSession), nil)
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
		if l.Tone == theme.Good && !s.env.StoreKnown() {
			l.Tone = theme.Plain
		}
		name := th.Dim.Render(draw.Pad(l.Token, 7) + "  ")
		switch {
		case th.Linear:
			out = append(out, strings.ToUpper(l.Token[:1])+l.Token[1:]+" token: "+l.Line()+".")
			continue
		case l.Until == "":
			out = append(out, name+th.Dim.Render(l.Says))
			continue
		}
		line := name + widget.Gauge(th, int(l.Left.Seconds()), int(l.TTL.Seconds()), min(max(s.W-52, 8), 80), l.Tone) +
			"  " + draw.PadLeft(l.Says, 16)
		if until := "  " + l.Until; draw.Width(line)+draw.Width(until) <= s.W {
			line += th.Dim.Render(until)
		}
		out = append(out, line)
	}
	return out
}

func (s *Screen) facts() []widget.Pair {
	state := present.Fact{Label: "state", Value: present.SessionStateBy(s.present(), s.st)}
	pair := present.Section{Title: "Tokens",
		Facts: append([]present.Fact{state}, present.SessionPair(s.present(), s.st)...)}
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
	return ui.Rows(s.env, o, columns, records, s.Inner(s.W))
}
