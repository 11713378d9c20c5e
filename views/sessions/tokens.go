// Package sessions is the screen of the session: how long the token pair lives,
// who replaced it and when, what went wrong and why.
package sessions

import (
	"cmp"
	"context"
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/session"
	"opdeck/internal/act"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// Client reads and acts on the shared session.
type Client interface {
	SessionStatus(ctx context.Context) (session.Status, error)
	RefreshSession(ctx context.Context) error
	LoginSession(ctx context.Context) error
	ResetSession(ctx context.Context) error
	// Doctor looks at every step to the service and tells a line of each.
	Doctor(ctx context.Context) []Finding
}

// Finding is one line of the doctor: a sign's meaning, a name and a sentence.
type Finding struct {
	Tone theme.Tone
	Name string
	Text string
}

// News is the session as it is now, told whenever it changes.
type News struct {
	ui.Broadcast
	Status session.Status
}

// Screen implements ui.Screen.
type Screen struct {
	ui.Page
	env    *ui.Env
	client Client
	loads  *ui.Requests
	keys   keymap.Session
	st     session.Status
	loaded bool
	err    *api.Error
	acting string // what is being done by hand; empty: nothing
}

// New makes the screen.
func New(env *ui.Env, client Client) *Screen {
	s := &Screen{env: env, client: client, loads: env.Requests(), keys: env.Keys.Session}
	s.Page = ui.NewPage(env, s.lines)
	return s
}

type loadedMsg struct {
	ui.Ticket
	st  session.Status
	err error
}

type doctorMsg struct {
	ui.Ticket
	findings []Finding
}

type actedMsg struct {
	ui.Ticket
	act sessionAct
	err error
}

// Init implements ui.Screen.
func (s *Screen) Init() tea.Cmd { return s.load() }

func (s *Screen) load() tea.Cmd {
	t, ctx := s.loads.Start(s.env.Ctx)
	client := s.client
	return func() tea.Msg {
		st, err := client.SessionStatus(ctx)
		return loadedMsg{t, st, err}
	}
}

// Update implements ui.Screen.
func (s *Screen) Update(msg tea.Msg) (ui.Action, tea.Cmd) {
	defer s.Layout()
	switch msg := msg.(type) {
	case loadedMsg:
		if !s.loads.Accept(msg.Ticket) {
			return nil, nil
		}
		if s.err = api.AsError(msg.err); msg.err == nil {
			s.st, s.loaded = clean(msg.st), true
		}
	case News:
		s.st, s.loaded, s.err = clean(msg.Status), true, nil
	case actedMsg:
		return s.onActed(msg)
	case doctorMsg:
		s.acting = ""
		var facts []widget.Pair
		for _, f := range msg.findings {
			facts = append(facts, widget.Pair{Label: s.sign(f.Tone) + " " + f.Name, Value: f.Text, Tone: f.Tone, Long: true})
		}
		return ui.Explain{Title: "Doctor", Lines: []string{"Each step from here to the service:"}, Facts: facts}, nil
	case keymap.Press:
		return s.Key(msg, s.key)
	}
	return nil, nil
}

// sign tells by its shape what the tone tells by colour.
func (s *Screen) sign(t theme.Tone) string {
	signs := s.env.Theme.Signs
	return cmp.Or(map[theme.Tone]string{theme.Good: signs.Good, theme.Warn: signs.Warn, theme.Bad: signs.Bad}[t], signs.Sep)
}

// sessionAct is a change to the session.
type sessionAct struct {
	key  *keymap.Key // its name is the act's
	what string
	done string
	run  func(Client, context.Context) error
	ask  string // the question; "": the act's own
}

func (s *Screen) acts() []sessionAct {
	return []sessionAct{
		{&s.keys.Refresh, "refresh", "The pair was refreshed.", Client.RefreshSession, ""},
		{&s.keys.Login, "login", "Logged in again.", Client.LoginSession, ""},
		{&s.keys.Reset, "reset", "The session was reset; the next call logs in.", Client.ResetSession, ""},
	}
}

func (s *Screen) key(p keymap.Press) (ui.Action, tea.Cmd, bool) {
	for _, a := range s.acts() {
		if a.key.Match(p) {
			if a.key == &s.keys.Refresh && s.loaded && !s.st.Refresh.ExpiresAt.After(s.env.Now()) {
				a = sessionAct{&s.keys.Login, "login", "Logged in: there was no pair to refresh.", Client.LoginSession, "There is no pair to refresh. Log in?"}
			}
			return s.ask(a), nil, true
		}
	}
	switch {
	case s.env.Keys.Global.Reload.Match(p):
		return nil, s.load(), true
	case s.keys.Doctor.Match(p) && s.acting == "":
		s.acting = "doctor"
		t, ctx, client := s.env.Ticket(), s.env.Ctx, s.client
		return nil, func() tea.Msg { return doctorMsg{t, client.Doctor(ctx)} }, true
	}
	return nil, nil, false
}

// ask puts cost and consequence before the act.
func (s *Screen) ask(a sessionAct) ui.Action {
	if s.acting != "" {
		return ui.Notify{Level: ui.Denied, Text: "A " + s.acting + " is under way already."}
	}
	facts := []widget.Pair{{Label: "state", Value: s.st.State},
		{Label: "generation", Value: fmt.Sprint(s.st.Generation)}, {Label: "instances", Value: s.st.InstancesText()}}
	return ui.Asking(a.key.Name, act.Object{ID: s.st.Account, Kind: "session"}, ui.Confirm{ID: s.st.Account, Ask: a.ask, Facts: facts,
		Yes: func(ui.Seen) tea.Cmd {
			s.acting = a.what
			s.Layout()
			t, ctx, client := s.env.Ticket(), s.env.Root, s.client
			return func() tea.Msg { return actedMsg{t, a, a.run(client, ctx)} }
		}})
}

func (s *Screen) onActed(msg actedMsg) (ui.Action, tea.Cmd) {
	s.acting = ""
	if msg.err != nil {
		return ui.Failure("The "+msg.act.what, msg.err), s.load()
	}
	return ui.Notify{Level: ui.Success, Text: msg.act.done}, s.load()
}

// NextTick implements ui.Ticker: the lifetimes run down.
func (s *Screen) NextTick(now time.Time) time.Time {
	if !s.loaded {
		return time.Time{}
	}
	var next time.Time
	for _, end := range []time.Time{s.st.Access.ExpiresAt, s.st.Refresh.ExpiresAt, s.st.NextRotation} {
		if end.After(now) {
			next = ui.Sooner(next, end.Add(-end.Sub(now).Truncate(time.Second)))
			if !next.After(now) {
				next = now.Add(time.Second)
			}
		}
	}
	return next
}

// Keys implements ui.Screen.
func (s *Screen) Keys() []keymap.Key { return s.PageKeys(false, keymap.All(s.keys)...) }

// Title implements ui.Screen.
func (s *Screen) Title() string { return "Session" }

// Place implements ui.Screen.
func (s *Screen) Place() ui.Place { return ui.Place{Kind: ui.KindSession} }

// Source implements ui.Screen.
func (s *Screen) Source() ui.Source {
	return ui.Source{Origin: "store", At: s.st.AsOf, Loading: s.loads.Busy(), Problem: ui.Problem(s.err)}
}
