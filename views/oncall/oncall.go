// Package oncall is the page of the person on call: what is wrong, the state of each part, and below it session,
// budgets and the writes with an unknown outcome. It prints the verdict, embeds the content of other screens, and costs
// no call.
package oncall

import (
	"context"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/domain/followup"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// Pending reads the writes whose outcome is unknown, oldest first.
type Pending func(ctx context.Context) ([]followup.Row, error)

// Embedded is a screen whose details this page shows.
type Embedded interface {
	ui.Screen
	ui.Ticker
	Reload() tea.Cmd
	// Details is its content without the verdict.
	Details() ui.Content
}

// Screen implements ui.Screen.
type Screen struct {
	ui.Page
	env      *ui.Env
	pending  Pending
	embedded []Embedded
	writes   []followup.Row
}

// New returns the page with embedded screens, which have the same env.
func New(env *ui.Env, pending Pending, embedded ...Embedded) *Screen {
	s := &Screen{env: env, pending: pending, embedded: embedded}
	s.Page = ui.NewPage(env, s, "store", "")
	return s
}

// Reload implements ui.PageScreen.
func (s *Screen) Reload() tea.Cmd {
	cmds := []tea.Cmd{s.env.ReadVerdict(), s.load()}
	for _, p := range s.embedded {
		cmds = append(cmds, p.Reload())
	}
	return tea.Batch(cmds...)
}

// load reads the writes with an unknown outcome.
func (s *Screen) load() tea.Cmd {
	return ui.Reading(s.env, s.Loads, s.pending, func(rows []followup.Row, at time.Time, err error) {
		if s.Err = api.AsError(err); err == nil {
			s.writes, s.At = rows, at
		}
	})
}

// Answer implements ui.PageScreen: it passes news to the embedded screens.
func (s *Screen) Answer(msg tea.Msg) (ui.Action, tea.Cmd) {
	var acts ui.Many
	var cmds []tea.Cmd
	for _, p := range s.embedded {
		a, cmd := ui.Update(p, msg)
		if a != nil {
			acts = append(acts, a)
		}
		cmds = append(cmds, cmd)
	}
	changed, ok := msg.(ui.Changed)
	if _, shown := msg.(ui.Shown); shown || ok && changed.Kind == ui.KindAudit {
		cmds = append(cmds, s.env.ReadVerdict(), s.load())
	}
	if acts == nil {
		return nil, tea.Batch(cmds...)
	}
	return acts, tea.Batch(cmds...)
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

// embeddedHeight is the height that embedded screens get: what they say is not to be filled up.
const embeddedHeight = 4

// Refresh implements ui.PageScreen: the embedded screens are as wide as their sections.
func (s *Screen) Refresh() {
	left, right := s.Widths()
	for i, p := range s.embedded {
		w := left
		if s.beside(i) && right > 0 {
			w = right
		}
		p.Update(tea.WindowSizeMsg{Width: s.Inner(w), Height: embeddedHeight})
	}
}

// beside reports whether an embedded screen is to the right of the first one.
func (s *Screen) beside(i int) bool { return i == 1 }

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
		{verdict.PartConfig, "Config", ui.KindSession}}
}

// titles is the width of the titles of the lines with the gap after them.
const titles = 13

// Content implements ui.Contenter: what is wrong, the parts, and then what they rest on.
func (s *Screen) Content() ui.Content {
	c := ui.Content{Lines: s.found(), Sections: []ui.Section{s.parts()}}
	var more []ui.Section // of the embedded screens, where there is room
	for i, p := range s.embedded {
		details := p.Details()
		c.Sections = append(c.Sections, ui.Section{Title: p.Title(), Lines: details.Lines, Beside: s.beside(i)})
		if _, right := s.Widths(); right > 0 {
			more = append(more, details.Sections...)
		}
	}
	if len(s.writes) > 0 && s.Err == nil {
		c.Sections = append(c.Sections, s.list())
	}
	c.Sections = append(c.Sections, more...)
	return c
}

// found is the first line of the verdict; in plain mode, which has no room for the parts, it is every finding.
func (s *Screen) found() []string {
	out := s.env.VerdictLines(s.W)
	if !s.env.Theme.Linear {
		return out
	}
	v := s.env.Verdict()
	for i, f := range v.Findings {
		if _, wrong := v.First(); i > 0 || !wrong {
			out = append(out, s.env.Sentence(present.FindingLine(s.env.Present(), f), s.W)...)
		}
	}
	return out
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

// list names the writes without a known outcome.
func (s *Screen) list() ui.Section {
	return ui.Section{Title: "Writes with an unknown outcome", Hang: len("15:04:05  "),
		Lines: ui.Rows(s.env, s.env.Present(), present.UnsettledShort, s.writes, ui.PlainWidth)}
}

// NextTick implements ui.Ticker.
func (s *Screen) NextTick(now time.Time) time.Time {
	next := s.env.VerdictEnds(now)
	for _, p := range s.embedded {
		next = ui.Sooner(next, p.NextTick(now))
	}
	return next
}

// Keys implements ui.Screen.
func (s *Screen) Keys() []keymap.Key { return s.PageKeys(false) }

// Title implements ui.Screen.
func (s *Screen) Title() string { return "On call" }

// Place implements ui.Screen.
func (s *Screen) Place() ui.Place { return ui.Place{Kind: ui.KindOnCall} }
