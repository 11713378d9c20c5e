// Package oncall is the page of the person on call: what is wrong, what to do and who can do it; what still works and
// what changed before; and the state of each part, whose screen has the rest. It prints the verdict and costs no call.
package oncall

import (
	"context"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/domain/verdict"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// Around is what the verdict does not know.
type Around struct {
	Others  int // other people with a console on this store
	Changes []present.Change
}

// Screen implements ui.Screen.
type Screen struct {
	ui.Page
	env    *ui.Env
	read   func(ctx context.Context) (Around, error)
	around Around
	since  time.Time // the beginning of the cause for which around was read
}

// New returns the page; read reads the store.
func New(env *ui.Env, read func(ctx context.Context) (Around, error)) *Screen {
	s := &Screen{env: env, read: read}
	s.Page = ui.NewPage(env, s, "store", "")
	return s
}

// Reload implements ui.PageScreen.
func (s *Screen) Reload() tea.Cmd { return tea.Batch(s.env.ReadVerdict(), s.load()) }

// load reads what is around the verdict. What cannot be read is not shown: the verdict says that of the store.
func (s *Screen) load() tea.Cmd {
	return ui.Reading(s.env, s.Loads, s.read, func(a Around, at time.Time, err error) {
		if s.around, s.At = a, at; err != nil {
			s.around = Around{}
		}
	})
}

// Answer implements ui.PageScreen: another cause has another past.
func (s *Screen) Answer(msg tea.Msg) (ui.Action, tea.Cmd) {
	switch msg.(type) {
	case ui.Shown:
		return nil, s.Reload()
	case ui.VerdictFacts:
		if f, _ := s.env.Verdict().First(); !f.Since.Equal(s.since) {
			s.since = f.Since
			return nil, s.load()
		}
	}
	return nil, nil
}

// OwnKey implements ui.PageScreen.
func (s *Screen) OwnKey(p keymap.Press) (ui.Action, tea.Cmd, bool) {
	if !s.env.Keys.List.Open.Match(p) {
		return nil, nil, false
	}
	for _, r := range rows() {
		if string(r.part) == s.Link().ID {
			return ui.Open{Place: ui.Place{Kind: r.place}}, nil, true
		}
	}
	return nil, nil, false
}

// row is the line of a part: its title, and the screen that enter opens.
type row struct {
	part         verdict.Part
	title, place string
}

// rows are the lines of the parts, in the order in which a person reads them.
func rows() []row {
	return []row{{verdict.PartService, "Service", ui.KindSession}, {verdict.PartSession, "Session", ui.KindSession},
		{verdict.PartStore, "Store", ui.KindSession}, {verdict.PartBudget, "Limits", ui.KindLimits},
		{verdict.PartFeed, "Events", ui.KindEvents}, {verdict.PartIndex, "Index", ui.KindOperations},
		{verdict.PartWrites, "Writes", ui.KindAudit}, {verdict.PartAudit, "Audit", ui.KindAudit},
		{verdict.PartCertificate, "Certificate", ui.KindSession}, {verdict.PartClock, "Clock", ui.KindSession},
		{verdict.PartServe, "Server", ui.KindSession}, {verdict.PartConfig, "Config", ui.KindSession}}
}

// titles is the width of the titles of the lines with the gap after them.
const titles = 13

// Content implements ui.Contenter: what is wrong, what is around it, and the parts.
func (s *Screen) Content() ui.Content {
	return ui.Content{Lines: s.found(), Sections: []ui.Section{s.parts()}}
}

// low is the height below which what, do and who are cut to five lines.
const low = 8

// found is the first line of the verdict with what is around it; in plain mode, which has no room for the parts, it is
// every finding.
func (s *Screen) found() []string {
	v := s.env.Verdict()
	f, wrong := v.First()
	if wrong && s.H < low && !s.env.Theme.Linear {
		return s.short(f)
	}
	out := s.env.VerdictLines(s.W)
	for i, f := range v.Findings {
		if s.env.Theme.Linear && (i > 0 || !wrong) {
			out = append(out, s.env.Sentence(present.FindingLine(s.env.Present(), f), s.W)...)
		}
	}
	return append(out, s.env.Labelled(present.Around(v, s.around.Others, s.around.Changes), s.W)...)
}

// short is what, do and who in five lines, for a window that has no more; the lines of the parts and their screens have
// all of it.
func (s *Screen) short(f verdict.Finding) []string {
	advice := present.Advice(s.env.Present(), f)
	out := cut(s.env.Sentence(present.FindingSays(f), s.W), 2)
	out = append(out, cut(s.env.Labelled(advice[:1], s.W), 2)...)
	return append(out, cut(s.env.Labelled(advice[1:], s.W), 1)...)
}

// cut leaves at most n lines, the last of which says that there are more.
func cut(lines []string, n int) []string {
	if len(lines) <= n {
		return lines
	}
	last := lines[n-1]
	return append(lines[:n-1:n-1], draw.Cut(last, max(draw.Width(last)-1, 0)))
}

// parts are a line for each part, and one for those of which nothing is known and nothing has to be.
func (s *Screen) parts() ui.Section {
	th, v := s.env.Theme, s.env.Verdict()
	out := ui.Section{Title: "Status", Hang: titles + draw.Width(th.Sign(theme.Good)) + 1}
	if s.W >= 60 {
		out.Hint = s.env.Keys.List.Open.Help().Key + " opens the screen of the line"
	}
	var unknown []string
	for i, r := range rows() {
		if i >= optional && v.Of(r.part) == verdict.Unknown {
			if v.Off(r.part) {
				continue
			}
			unknown = append(unknown, string(r.part))
			continue
		}
		title, line := r.title+": ", present.PartLine(v, r.part)
		if !th.Linear {
			title = th.Dim.Render(draw.Fit(r.title, titles)) + th.Tone(line.Tone).Render(th.SignOf(line.Sign)+" ")
		}
		out.Lines = append(out.Lines, title+line.Text)
		out.Links = append(out.Links, widget.Link{ID: string(r.part), Opens: true})
	}
	if len(unknown) > 0 {
		doctor := "opdeck doctor"
		if !th.Linear {
			doctor = "the doctor (" + s.env.Keys.Press("session.status") + ", then " + s.env.Keys.Press("doctor") + ")"
		}
		out.Lines = append(out.Lines, th.Dim.Render("Not checked: "+strings.Join(unknown, ", ")+"; "+doctor+" checks them."))
	}
	return out
}

// optional is the first of rows of which nothing has to be known.
const optional = 8

// NextTick implements ui.Ticker.
func (s *Screen) NextTick(now time.Time) time.Time { return s.env.VerdictEnds(now) }

// Keys implements ui.Screen.
func (s *Screen) Keys() []keymap.Key { return s.PageKeys(false) }

// Title implements ui.Screen.
func (s *Screen) Title() string { return "On call" }

// Place implements ui.Screen.
func (s *Screen) Place() ui.Place { return ui.Place{Kind: ui.KindOnCall} }
