// Package sessions is the screen of the session: how long the token pair lives,
// who replaced it and when, what went wrong and why.
package sessions

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/session"
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
	env    *ui.Env
	client Client
	loads  *ui.Loads
	keys   keymap.Session
	st     session.Status
	loaded bool
	err    *api.Error
	acting string // what is being done by hand; empty: nothing
	view   *widget.Viewer
	w, h   int
}

// New makes the screen.
func New(env *ui.Env, client Client) *Screen {
	return &Screen{env: env, client: client, loads: env.Loads(), keys: env.Keys.Session, view: widget.NewViewer(env.Theme, env.Keys).Footed()}
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
	what string
	err  error
}

// Init implements ui.Screen.
func (s *Screen) Init() tea.Cmd { return s.load() }

func (s *Screen) load() tea.Cmd {
	t, ctx := s.loads.Next(s.env.Ctx)
	client := s.client
	return func() tea.Msg {
		st, err := client.SessionStatus(ctx)
		return loadedMsg{t, st, err}
	}
}

// Update implements ui.Screen.
func (s *Screen) Update(msg tea.Msg) (ui.Action, tea.Cmd) {
	switch msg := msg.(type) {
	case loadedMsg:
		if !s.loads.Current(msg.Ticket) {
			return nil, nil
		}
		if s.err = api.AsError(msg.err); msg.err == nil {
			s.st, s.loaded = clean(msg.st), true
		}
		s.draw()
	case News:
		s.st, s.loaded, s.err = clean(msg.Status), true, nil
		s.draw()
	case actedMsg:
		return s.acted(msg)
	case doctorMsg:
		s.acting = ""
		var facts []widget.Pair
		for _, f := range msg.findings {
			facts = append(facts, widget.Pair{Label: s.sign(f.Tone) + " " + f.Name, Value: f.Text, Tone: f.Tone, Long: true})
		}
		return ui.Explain{Title: "Doctor", Lines: []string{"Each step from here to the service:"}, Facts: facts}, nil
	case ui.DisplayChanged:
		s.draw()
	case keymap.Press:
		return s.key(msg)
	}
	return nil, nil
}

// sign tells by its shape what the tone tells by colour.
func (s *Screen) sign(t theme.Tone) string {
	signs := s.env.Theme.Signs
	switch t {
	case theme.Good:
		return signs.Good
	case theme.Warn:
		return signs.Warn
	case theme.Bad:
		return signs.Bad
	}
	return signs.Sep
}

func (s *Screen) key(msg keymap.Press) (ui.Action, tea.Cmd) {
	k := s.env.Keys.Global
	switch {
	case s.view.Searching():
		s.view.Update(msg)
		return nil, nil
	case (k.Back.Match(msg) || k.Quit.Match(msg)) && s.view.Clear():
		return ui.Handled{}, nil
	case k.Reload.Match(msg):
		return nil, s.load()
	case s.keys.Refresh.Match(msg):
		return s.ask("Refresh the token pair now", "Refresh", "refresh",
			"Costs the one refresh that is recommended per minute. Every other client of this account, ours excepted, loses its session.",
			s.client.RefreshSession), nil
	case s.keys.Login.Match(msg):
		return s.ask("Log in anew", "Log in", "login",
			"Costs one of six logins recommended per minute. Access tokens issued before end at once; ours is replaced for all instances.",
			s.client.LoginSession), nil
	case s.keys.Reset.Match(msg):
		return s.ask("Forget the session and what blocks it", "Reset", "reset",
			"Sends nothing now: the stored pair is erased, refused passwords are forgiven, and the next call logs in.",
			s.client.ResetSession), nil
	case s.keys.Doctor.Match(msg) && s.acting == "":
		s.acting = "doctor"
		t, ctx, client := s.env.Ticket(), s.env.Ctx, s.client
		return nil, func() tea.Msg { return doctorMsg{t, client.Doctor(ctx)} }
	}
	s.view.Update(msg)
	return nil, nil
}

// ask puts cost and consequence before the act.
func (s *Screen) ask(question, verb, what, risk string, act func(context.Context) error) ui.Action {
	if s.acting != "" {
		return ui.Notify{Kind: ui.Refused, Text: "A " + s.acting + " is under way already."}
	}
	env := s.env
	return ui.Confirm{ID: s.st.Account, Title: "Session", Ask: question + "?", Risk: risk, Verb: verb,
		Facts: []widget.Pair{{Label: "state", Value: s.st.State},
			{Label: "generation", Value: fmt.Sprint(s.st.Generation)}, {Label: "instances", Value: s.st.InstancesText()}},
		Yes: func(ui.Seen) tea.Cmd {
			s.acting = what
			t, ctx := env.Ticket(), env.Root
			return func() tea.Msg { return actedMsg{t, what, act(ctx)} }
		}}
}

func (s *Screen) acted(msg actedMsg) (ui.Action, tea.Cmd) {
	s.acting = ""
	if msg.err != nil {
		return ui.Failure("The "+msg.what, msg.err), s.load()
	}
	return ui.Notify{Kind: ui.Done, Text: map[string]string{"refresh": "The pair was refreshed.", "login": "Logged in anew.",
		"reset": "The session was reset; the next call logs in."}[msg.what]}, s.load()
}

// Counts implements ui.Counter: the lifetimes run down.
func (s *Screen) Counts(now time.Time) time.Time {
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

// View implements ui.Screen.
func (s *Screen) View() string {
	s.draw()
	return strings.Join(s.view.Lines(), "\n")
}

func (s *Screen) draw() { s.view.SetLines(s.lines()) }

// SetSize implements ui.Screen.
func (s *Screen) SetSize(w, h int) {
	s.w, s.h = w, h
	s.view.SetSize(w, h)
	s.draw()
}

// Help implements ui.Screen.
func (s *Screen) Keys() []keymap.Key {
	hits, k := s.view.Hints(), s.env.Keys
	if s.view.Searching() {
		return hits
	}
	return append(append(append(hits, keymap.All(s.keys)...), k.Global.Reload, k.Viewer.Search), keymap.All(k.Nav)...)
}

// Editing implements ui.Screen.
func (s *Screen) Editing() bool { return s.view.Searching() }

// Title implements ui.Screen.
func (s *Screen) Title() string { return "Session" }

// Place implements ui.Screen.
func (s *Screen) Place() ui.Place { return ui.Place{Kind: ui.KindSession} }

// Source implements ui.Screen.
func (s *Screen) Source() ui.Source {
	src := ui.Source{Origin: "store", At: s.st.AsOf, Loading: s.loads.Busy()}
	if s.err != nil {
		src.Problem = s.err.Public
	}
	return src
}
