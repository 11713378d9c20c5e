package ui

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
)

// revealFor is how long M shows masked values.
const revealFor = 30 * time.Second

// viewMode is the theme, the time zone and the masking of shown values.
type viewMode struct{ route *router }

func (s *viewMode) toggleZone() tea.Cmd { return s.showUTC(s.route.win.shown.zone != time.UTC) }

func (s *viewMode) showUTC(utc bool) tea.Cmd {
	word := "Times are now in UTC."
	s.route.win.shown.zone = time.UTC
	if !utc {
		s.route.win.shown.zone = s.route.win.shown.local
		word = "Times are now local (" + s.route.win.now().In(s.route.win.shown.zone).Format("MST, -07:00") + ")."
	}
	return tea.Batch(s.route.status.notify(Info, word), s.route.broadcast(DisplayChanged{}))
}

func (s *viewMode) reveal() tea.Cmd {
	if !s.route.win.shown.masked {
		return s.route.status.notify(Info, "Nothing is masked: masking is off in the configuration.")
	}
	if !s.route.win.shown.revealed.IsZero() {
		s.route.win.shown.revealed = time.Time{}
		return tea.Batch(s.route.status.notify(Info, "Values are masked again."), s.route.broadcast(DisplayChanged{}))
	}
	if s.route.win.opt.Reveal == nil {
		return s.revealed(revealedMsg{})
	}
	ask, ctx, at := s.route.win.opt.Reveal, s.route.win.root, Place{}
	if st := s.route.stack.top(); st != nil {
		at = st.screen.Place()
	}
	return func() tea.Msg { return revealedMsg{ask(ctx, at)} }
}

// revealedMsg is the answer whether masked values may be shown.
type revealedMsg struct{ err error }

func (s *viewMode) revealed(m revealedMsg) tea.Cmd {
	if m.err != nil {
		return s.route.status.notify(Denied, api.AsError(m.err).Public)
	}
	s.route.win.shown.revealed = s.route.win.now().Add(revealFor)
	return tea.Batch(s.route.status.notify(Warning, "Masked values are shown for 30 s."),
		s.route.broadcast(DisplayChanged{}))
}

// maskAgain masks revealed values after revealFor.
func (s *viewMode) maskAgain(now time.Time) tea.Cmd {
	if s.route.win.shown.revealed.IsZero() || now.Before(s.route.win.shown.revealed) {
		return nil
	}
	s.route.win.shown.revealed = time.Time{}
	return s.route.broadcast(DisplayChanged{})
}

// themeKept is the result of saving the person's theme.
type themeKept struct {
	shown string // the theme's name
	err   error
}

// keepTheme saves the theme of a name for the person and says so; shown is the name to read.
func (s *viewMode) keepTheme(shown, name string) tea.Cmd {
	keep, ctx := s.route.win.opt.KeepTheme, context.WithoutCancel(s.route.win.root)
	if keep == nil {
		return s.route.status.notify(Info, "Theme "+shown+" until you quit. To keep it, set [ui] theme in the config.")
	}
	return func() tea.Msg { return themeKept{shown, keep(ctx, name)} }
}

// onThemeKept says whether the theme will be the same the next time.
func (s *viewMode) onThemeKept(msg themeKept) tea.Cmd {
	if msg.err != nil {
		return s.route.status.notify(Warning, "Theme "+msg.shown+" until you quit: the choice could not be saved.")
	}
	return s.route.status.notify(Info, "Theme "+msg.shown+", saved for you.")
}
