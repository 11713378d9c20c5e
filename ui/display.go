package ui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
)

// revealFor is how long M shows masked values.
const revealFor = 30 * time.Second

func (s *Shell) showUTC(utc bool) tea.Cmd {
	word := "Times are now in UTC."
	s.win.shown.zone = time.UTC
	if !utc {
		s.win.shown.zone = s.win.shown.local
		word = "Times are now local (" + s.win.now().In(s.win.shown.zone).Format("MST, -07:00") + ")."
	}
	return tea.Batch(s.status.notify(Info, word), s.route.broadcast(DisplayChanged{}))
}

func (s *Shell) reveal() tea.Cmd {
	if !s.win.shown.masked {
		return s.status.notify(Info, "Nothing is masked: masking is off in the configuration.")
	}
	if !s.win.shown.revealed.IsZero() {
		s.win.shown.revealed = time.Time{}
		return tea.Batch(s.status.notify(Info, "Values are masked again."), s.route.broadcast(DisplayChanged{}))
	}
	if s.win.opt.Reveal == nil {
		return s.revealed(revealedMsg{})
	}
	ask, ctx, at := s.win.opt.Reveal, s.win.root, Place{}
	if st := s.stack.top(); st != nil {
		at = st.screen.Place()
	}
	return func() tea.Msg { return revealedMsg{ask(ctx, at)} }
}

// revealedMsg is the answer whether masked values may be shown.
type revealedMsg struct{ err error }

func (s *Shell) revealed(m revealedMsg) tea.Cmd {
	if m.err != nil {
		return s.status.notify(Denied, api.AsError(m.err).Public)
	}
	s.win.shown.revealed = s.win.now().Add(revealFor)
	return tea.Batch(s.status.notify(Warning, "Masked values are shown for 30 s."), s.route.broadcast(DisplayChanged{}))
}

// maskAgain masks revealed values after revealFor.
func (s *Shell) maskAgain(now time.Time) tea.Cmd {
	if s.win.shown.revealed.IsZero() || now.Before(s.win.shown.revealed) {
		return nil
	}
	s.win.shown.revealed = time.Time{}
	return s.route.broadcast(DisplayChanged{})
}

// themeKept is the result of saving the person's theme.
type themeKept struct {
	shown string // the theme's name
	err   error
}

// onThemeKept says whether the theme will be the same the next time.
func (s *Shell) onThemeKept(msg themeKept) tea.Cmd {
	if msg.err != nil {
		return s.status.notify(Warning, "Theme "+msg.shown+" until you quit: the choice could not be saved.")
	}
	return s.status.notify(Info, "Theme "+msg.shown+", saved for you.")
}
