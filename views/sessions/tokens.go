// Package sessions is the screen of the session: how long the tokens are valid,
// which process replaced them and when, and problems with their causes.
package sessions

import (
	"context"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/session"
	"opdeck/api/untrusted"
	"opdeck/internal/act"
	"opdeck/internal/domain/presence"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// Session is the shared session with its operations.
type Session interface {
	Status(ctx context.Context) (session.Status, error)
	// Connected lists the other open consoles.
	Connected(ctx context.Context) ([]presence.Place, error)
	Refresh(ctx context.Context) error
	Login(ctx context.Context) error
	Reset(ctx context.Context) error
	// Doctor checks each step to the service and returns a line for each.
	Doctor(ctx context.Context) []Finding
}

// Finding is one line of the doctor: a sign's meaning, a name and a sentence.
type Finding struct {
	Tone theme.Tone
	Name string
	Text string
}

// News is the current session, sent after each change, or the error of
// its read.
type News struct {
	ui.Broadcast
	Status session.Status
	Err    *api.Error // nil: Status is valid
}

// People are those who have a console open beside this one, sent after each change while the screen is open.
type People struct {
	ui.Broadcast
	Connected []presence.Place
}

// Screen implements ui.Screen.
type Screen struct {
	ui.Page
	env     *ui.Env
	session Session
	keys    keymap.Session
	st      session.Status
	people  []presence.Place // the other open consoles
	loaded  bool
}

// New makes the screen.
func New(env *ui.Env, shared Session) *Screen {
	s := &Screen{env: env, session: shared, keys: env.Keys.Session}
	s.Page = ui.NewPage(env, s, "store", "")
	return s
}

// Reload implements ui.PageScreen.
func (s *Screen) Reload() tea.Cmd {
	shared := s.session
	type known struct {
		session.Status
		people []presence.Place
	}
	read := ui.Reading(s.env, s.Loads, func(ctx context.Context) (k known, err error) {
		if k.Status, err = shared.Status(ctx); err == nil {
			k.people, err = shared.Connected(ctx)
		}
		return k, err
	}, func(k known, _ time.Time, err error) {
		if s.Err = api.AsError(err); err == nil {
			s.people = k.people
			s.show(k.Status)
		}
	})
	return tea.Batch(s.env.ReadVerdict(), read)
}

func (s *Screen) show(st session.Status) {
	s.st, s.At, s.loaded, s.Err = st, st.AsOf.Add(-st.Ahead), true, nil
}

// now returns the time by the store's clock, which all times here use.
func (s *Screen) now() time.Time { return s.env.Now().Add(s.st.Ahead) }

// Answer implements ui.PageScreen.
func (s *Screen) Answer(msg tea.Msg) (ui.Action, tea.Cmd) {
	if now, ok := msg.(People); ok {
		s.people = now.Connected
	}
	switch news, ok := msg.(News); {
	case ok && news.Err != nil:
		s.Err = news.Err
	case ok:
		s.show(news.Status)
	case msg == ui.Shown{}:
		return nil, s.env.ReadVerdict()
	}
	return nil, nil
}

// sessionAct is a change to the session.
type sessionAct struct {
	key  *keymap.Key // its name is the act's
	what string
	done string
	run  func(Session, context.Context) error
	ask  string // the question; "": the act's own
}

func (s *Screen) acts() []sessionAct {
	return []sessionAct{
		{&s.keys.Refresh, "refresh", "The tokens were refreshed.", Session.Refresh, ""},
		{&s.keys.Login, "login", "Logged in again.", Session.Login, ""},
		{&s.keys.Reset, "reset", "The session was reset; the next call logs in.", Session.Reset, ""},
	}
}

// OwnKey implements ui.PageScreen.
func (s *Screen) OwnKey(p keymap.Press) (ui.Action, tea.Cmd, bool) {
	for _, a := range s.acts() {
		if a.key.Match(p) {
			if a.key == &s.keys.Refresh && s.loaded && !s.st.Refresh.ExpiresAt.After(s.now()) {
				a = sessionAct{&s.keys.Login, "login", "Logged in: there were no tokens to refresh.", Session.Login,
					"There are no tokens to refresh. Log in?"}
			}
			return s.ask(a), nil, true
		}
	}
	if s.keys.Doctor.Match(p) && s.Doing == "" {
		s.Doing = "doctor"
		shared := s.session
		return nil, s.env.Read(nil, func(ctx context.Context) ui.Then {
			findings := shared.Doctor(ctx)
			return func() (ui.Action, tea.Cmd) { return s.found(findings), s.env.ReadVerdict() }
		}), true
	}
	return nil, nil, false
}

// found shows what the doctor found.
func (s *Screen) found(findings []Finding) ui.Action {
	s.Doing = ""
	var facts []widget.Pair
	for _, f := range findings {
		facts = append(facts, widget.Pair{Label: s.env.Theme.Sign(f.Tone) + " " + f.Name, Value: f.Text, Tone: f.Tone,
			Long: true})
	}
	tone := theme.Good
	for _, worse := range []theme.Tone{theme.Warn, theme.Bad} {
		if slices.ContainsFunc(findings, func(f Finding) bool { return f.Tone == worse }) {
			tone = worse
		}
	}
	return ui.Explain{Title: "Doctor", Tone: tone, Lines: []string{"Each step from here to the service:"}, Facts: facts}
}

// ask puts cost and consequence before the act.
func (s *Screen) ask(a sessionAct) ui.Action {
	if why := s.busy(a.key == &s.keys.Refresh); why != "" {
		return ui.Notify{Level: ui.Denied, Text: why}
	}
	facts := s.env.Pairs(present.AskedSession(s.st), nil)
	account := untrusted.Text(s.st.Account).Line(120)
	return ui.Asking(a.key.Act, act.Object{ID: account, Kind: "session"}, ui.Confirm{ID: account, Ask: a.ask, Facts: facts,
		Yes: func(ui.Seen) tea.Cmd {
			s.Doing = a.what
			s.Layout()
			shared := s.session
			return s.env.Write(func(ctx context.Context) (ui.Then, ui.Notify) {
				err := a.run(shared, ctx)
				return func() (ui.Action, tea.Cmd) {
					s.Doing = ""
					return ui.Ended("The "+a.what, a.done, err), s.Reload()
				}, ui.EndedElsewhere("The "+a.what+" failed", a.done, err)
			})
		}})
}

// NextTick implements ui.Ticker: the lifetimes run down.
func (s *Screen) NextTick(now time.Time) time.Time {
	next := s.env.VerdictEnds(now)
	if !s.loaded {
		return next
	}
	for _, end := range []time.Time{s.st.Access.ExpiresAt, s.st.Refresh.ExpiresAt, s.st.NextRotation} {
		if end = end.Add(-s.st.Ahead); end.After(now) {
			next = ui.Sooner(next, end.Add(-end.Sub(now).Truncate(time.Second)))
			if !next.After(now) {
				next = now.Add(time.Second)
			}
		}
	}
	return next
}

// Keys implements ui.Screen.
func (s *Screen) Keys() []keymap.Key {
	k := s.keys
	for _, one := range []*keymap.Key{&k.Refresh, &k.Login, &k.Reset, &k.Doctor} {
		if why := s.busy(one == &k.Refresh); why != "" && one.Why() == "" {
			one.Off(why)
		}
	}
	return s.PageKeys(false, keymap.All(k)...)
}

// busy says why an act cannot begin now; "": it can. refresh: it is a refresh, which nobody begins during another one.
func (s *Screen) busy(refresh bool) string {
	switch {
	case s.Doing != "":
		return "A " + s.Doing + " is already in progress."
	case refresh && s.st.Holder != nil:
		return "A process is already refreshing the session, or logging in."
	}
	return ""
}

// Title implements ui.Screen.
func (s *Screen) Title() string { return "Session" }

// Place implements ui.Screen.
func (s *Screen) Place() ui.Place { return ui.Place{Kind: ui.KindSession} }
