package shelltest

import (
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/uitest"
)

type screen struct {
	ui.Wanted
	env  *ui.Env
	w, h int
	asks *int
	p    ui.Place
}

func (s *screen) Init() tea.Cmd { return s.load() }
func (s *screen) load() tea.Cmd { return func() tea.Msg { *s.asks++; return nil } }
func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.w, s.h = msg.Width, msg.Height
	case keymap.Press:
		if s.env.Keys.Global.Reload.Match(msg) {
			return s, s.load()
		}
	}
	return s, nil
}
func (s *screen) View() string       { return strings.Repeat("\n", max(s.h-1, 0)) }
func (s *screen) Keys() []keymap.Key { return nil }
func (s *screen) Editing() bool      { return false }
func (s *screen) Title() string      { return "Empty" }
func (s *screen) Place() ui.Place    { return s.p }
func (s *screen) Source() ui.Source  { return ui.Source{Class: "billing"} }

func TestAnEmptyScreen(t *testing.T) {
	asks := 0
	factory := func(env *ui.Env, p ui.Place) ui.Screen { return &screen{env: env, asks: &asks, p: p} }
	p := ui.Place{Kind: ui.KindLimits}
	PressAll(uitest.NewClock(), factory, p)
	if asks != 0 {
		t.Errorf("%d requests though no command was run", asks)
	}
	r := Open(t, uitest.NewClock(), factory, p, Production, ReadOnly, Dark, Unmasked)
	r.Send(uitest.Key("r"))
	if asks != 2 {
		t.Errorf("%d requests, not two", asks)
	}
	Sizes(r)
	if !strings.Contains(r.View(), "PRODUCTION") || !strings.Contains(r.View(), "reload") {
		t.Errorf("\n%s", r.View())
	}
}
