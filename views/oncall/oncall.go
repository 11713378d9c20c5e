// Package oncall is the page of the person on call: session, budgets, feed, index and writes
// in doubt on one screen. For session, budgets and feed it shows the content of
// their own screens, which it embeds; it costs no call.
package oncall

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/domain/followup"
	"opdeck/internal/domain/index"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// Store reads the data of the page that no other screen has.
type Store struct {
	Freshness func(ctx context.Context) (index.Freshness, error) // how complete and how old the index is
	Pending   func(ctx context.Context) ([]followup.Row, error)  // the writes whose outcome is not known, oldest first
}

// Part is a screen that this page holds.
type Part interface {
	ui.Screen
	ui.Contenter
	ui.Ticker
	Reload() tea.Cmd
	// Verdict returns the line about its state. Its Content begins with this line or
	// derives from the same data.
	Verdict() string
}

// Screen implements ui.Screen.
type Screen struct {
	ui.Page
	env   *ui.Env
	store Store
	parts []Part

	fresh    index.Freshness
	freshErr error
	writes   []followup.Row
	wroteErr error
	read     bool
}

// New returns the page of parts, most urgent first; the parts have the same env.
func New(env *ui.Env, store Store, parts ...Part) *Screen {
	s := &Screen{env: env, store: store, parts: parts}
	s.Page = ui.NewPage(env, s, "store", "")
	return s
}

// Reload implements ui.PageScreen.
func (s *Screen) Reload() tea.Cmd {
	cmds := []tea.Cmd{s.load()}
	for _, p := range s.parts {
		cmds = append(cmds, p.Reload())
	}
	return tea.Batch(cmds...)
}

// load reads the data of the Store.
func (s *Screen) load() tea.Cmd {
	store, now := s.store, s.env.Now
	return s.env.Read(s.Loads, func(ctx context.Context) ui.Then {
		fresh, freshErr := store.Freshness(ctx)
		writes, wroteErr := store.Pending(ctx)
		at := now()
		return func() (ui.Action, tea.Cmd) {
			s.fresh, s.freshErr, s.writes, s.wroteErr, s.At, s.read = fresh, freshErr, writes, wroteErr, at, true
			return nil, nil
		}
	})
}

// Answer implements ui.PageScreen: it passes news to the parts, as to their own screens.
func (s *Screen) Answer(msg tea.Msg) (ui.Action, tea.Cmd) {
	var acts ui.Many
	var cmds []tea.Cmd
	for _, p := range s.parts {
		a, cmd := ui.Update(p, msg)
		if a != nil {
			acts = append(acts, a)
		}
		cmds = append(cmds, cmd)
	}
	changed, ok := msg.(ui.Changed)
	if _, shown := msg.(ui.Shown); shown || ok && (changed.Kind == ui.KindOperations || changed.Kind == ui.KindAudit) {
		cmds = append(cmds, s.load())
	}
	if acts == nil {
		return nil, tea.Batch(cmds...)
	}
	return acts, tea.Batch(cmds...)
}

// OwnKey implements ui.PageScreen.
func (s *Screen) OwnKey(p keymap.Press) (ui.Action, tea.Cmd, bool) {
	if s.env.Keys.List.Open.Match(p) && s.Link().ID != "" {
		return ui.Open{Place: ui.Place{Kind: s.Link().ID}}, nil, true
	}
	return nil, nil, false
}

// partHeight is the height that parts get: what they say is not to be filled up.
const partHeight = 4

// Refresh implements ui.PageScreen: the parts are as wide as their sections.
func (s *Screen) Refresh() {
	left, right := s.Widths()
	for i, p := range s.parts {
		w := left
		if s.beside(i) && right > 0 {
			w = right
		}
		p.Update(tea.WindowSizeMsg{Width: w, Height: partHeight})
	}
}

// beside reports whether a part is to the right of the first one.
func (s *Screen) beside(i int) bool { return i == 1 }

// titles is the width of the titles of the verdicts with the gap after them.
const titles = 9

// Content implements ui.Contenter: the verdicts first, then what each rests on.
func (s *Screen) Content() ui.Content {
	how := ui.Section{Title: "Status", Hang: titles + draw.Width(s.env.Theme.Sign(theme.Good)) + 1}
	if s.W >= 60 {
		how.Hint = s.env.Keys.List.Open.Help().Key + " opens the screen of the line"
	}
	verdict := func(title, line, place string) {
		if !s.env.Theme.Linear {
			title = draw.Fit(title, titles)
		} else {
			title += ": "
		}
		how.Lines = append(how.Lines, s.env.Theme.Dim.Render(title)+line)
		how.Links = append(how.Links, widget.Link{ID: place, Opens: true})
	}
	c := ui.Content{}
	var more []ui.Section // of the parts, where there is room
	for i, p := range s.parts {
		part := p.Content()
		verdict(p.Title(), p.Verdict(), p.Place().Kind)
		if lines := rest(part.Lines, p.Verdict()); len(lines) > 0 {
			c.Sections = append(c.Sections, ui.Section{Title: p.Title(), Lines: lines, Beside: s.beside(i)})
		}
		if _, right := s.Widths(); right > 0 {
			more = append(more, part.Sections...)
		}
	}
	verdict("Index", s.index(), ui.KindOperations)
	verdict("Writes", s.doubt(), ui.KindAudit)
	c.Sections = append([]ui.Section{how}, c.Sections...)
	if len(s.writes) > 0 {
		c.Sections = append(c.Sections, s.list())
	}
	c.Sections = append(c.Sections, more...)
	return c
}

// rest is lines without the verdict, when they begin with it, and without blank lines at
// both ends.
func rest(list []string, verdict string) []string {
	for len(list) > 0 && (list[0] == "" || list[0] == verdict) {
		list = list[1:]
	}
	for len(list) > 0 && list[len(list)-1] == "" {
		list = list[:len(list)-1]
	}
	return list
}

// line is a verdict with its sign.
func (s *Screen) line(tone theme.Tone, text string) string {
	return s.env.Theme.Tone(tone).Render(s.env.Theme.Sign(tone)+" ") + text
}

// index returns the line about age and completeness of the index.
func (s *Screen) index() string {
	switch {
	case !s.read:
		return s.env.Theme.Dim.Render("being read …")
	case s.freshErr != nil:
		return s.line(theme.Bad, "cannot be read")
	}
	v := present.IndexVerdict(s.env.Present(), s.fresh)
	return s.line(v.Tone, v.Text)
}

// doubt returns the line about writes without a known outcome.
func (s *Screen) doubt() string {
	switch {
	case !s.read:
		return s.env.Theme.Dim.Render("being read …")
	case s.wroteErr != nil:
		return s.line(theme.Bad, "the audit trail cannot be read")
	}
	v := present.UnsettledVerdict(len(s.writes))
	return s.line(v.Tone, v.Text)
}

// list names the writes without a known outcome.
func (s *Screen) list() ui.Section {
	return ui.Section{Title: "Writes without a known outcome", Hang: len("15:04:05  "),
		Lines: ui.Rows(s.env, s.env.Present(), present.UnsettledShort, s.writes, ui.PlainWidth)}
}

// NextTick implements ui.Ticker.
func (s *Screen) NextTick(now time.Time) time.Time {
	_, next := format.Ago(s.fresh.AsOf, now)
	if s.fresh.AsOf.IsZero() {
		next = time.Time{}
	}
	for _, p := range s.parts {
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
