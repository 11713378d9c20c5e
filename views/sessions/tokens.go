// Package sessions is the screen of the session: how long the tokens are valid,
// which process replaced them and when, and problems with their causes.
package sessions

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/session"
	"opdeck/api/untrusted"
	"opdeck/internal/act"
	"opdeck/internal/domain/presence"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
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
	worst := []theme.Tone{theme.Bad, theme.Warn} // first: the rest may not fit
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Compare(uint(slices.Index(worst, a.Tone)), uint(slices.Index(worst, b.Tone)))
	})
	for _, f := range findings {
		sign := s.env.Theme.Sign(f.Tone)
		if f.Tone == theme.Dim {
			sign = s.env.Theme.Signs.Off
		}
		facts = append(facts, widget.Pair{Label: sign + " " + f.Name, Value: f.Text, Tone: f.Tone,
			Long: true})
	}
	tone := theme.Good
	for _, worse := range []theme.Tone{theme.Warn, theme.Bad} {
		if slices.ContainsFunc(findings, func(f Finding) bool { return f.Tone == worse }) {
			tone = worse
		}
	}
	return ui.Explain{Title: "Doctor", Tone: tone, Facts: facts,
		Lines: []string{"Each step from here to the service, what is wrong first:"}}
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
				err, done := a.run(shared, ctx), a.done
				if st, lost := shared.Status(ctx); a.what == "refresh" && lost == nil && st.From == session.ByLogin {
					done = "Logged in, since the refresh did not work: the history says why."
				}
				return func() (ui.Action, tea.Cmd) {
					s.Doing = ""
					return ui.Ended("The "+a.what, done, err), s.Reload()
				}, ui.EndedElsewhere("The "+a.what+" failed", done, err)
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

// Content implements ui.Contenter: what is wrong, then the session.
func (s *Screen) Content() ui.Content {
	c := s.details()
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

// details are the two lifetimes, the processes, the history and its findings.
func (s *Screen) details() ui.Content {
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
	if title, says, past := present.SessionProblem(s.present(), s.st, s.env.Verdict()); title != "" {
		if says != "" {
			past = slices.Insert(past, 0, says)
		}
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
