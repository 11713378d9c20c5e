package sessions

import (
	"context"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/golden"

	"opdeck/api"
	"opdeck/api/apitest"
	"opdeck/api/reach"
	"opdeck/api/session"
	"opdeck/internal/domain/presence"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/domain/verdict/verdicttest"
	"opdeck/ui"
	"opdeck/ui/theme"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

type fake struct {
	st     session.Status
	err    error
	act    error
	calls  int
	acts   []string
	people []presence.Place

	refused bool // the service refuses a refresh, so that it becomes a login
}

func (f *fake) Status(context.Context) (session.Status, error) { f.calls++; return f.st, f.err }
func (f *fake) Connected(context.Context) ([]presence.Place, error) {
	f.calls++
	return f.people, f.err
}
func (f *fake) did(what string) error { f.calls++; f.acts = append(f.acts, what); return f.act }
func (f *fake) Refresh(context.Context) error {
	if f.st.From = session.ByRefresh; f.refused {
		f.st.From = session.ByLogin
	}
	return f.did("refresh")
}
func (f *fake) Login(context.Context) error { return f.did("login") }
func (f *fake) Reset(context.Context) error { return f.did("reset") }
func (f *fake) Doctor(context.Context) []Finding {
	f.calls++
	return []Finding{{Tone: theme.Good, Name: "name", Text: "resolves"}, {Tone: theme.Bad, Name: "login", Text: "A code is demanded: two-factor authentication is on."}}
}

var start = uitest.NewClock().Now()

// live is a session half way through its access token, with a history.
func live() session.Status {
	me := session.Owner{ID: "a", Host: "desk-1", PID: 4711, User: "ana", Version: "1.0"}
	return session.Status{BaseURL: "https://stage.example.com", Account: "m•••@example.com", State: "live", Generation: 4, AsOf: start,
		Access:       session.Lifetime{TTL: 5 * time.Minute, Remaining: 150 * time.Second, ExpiresAt: start.Add(150 * time.Second)},
		Refresh:      session.Lifetime{TTL: 15 * time.Minute, Remaining: 750 * time.Second, ExpiresAt: start.Add(750 * time.Second)},
		NextRotation: start.Add(120 * time.Second), Instances: 2, Counts: session.Counts{Logins: 1, Refreshes: 3, Unauthorized: 2},
		From: session.ByLogin, By: me, Seen: []session.Instance{{Owner: me, Ago: 4 * time.Second}},
		History: []session.Event{
			{At: start.Add(-20 * time.Minute), Kind: session.EventLogin, Outcome: session.OK, Reason: "no_pair", Took: 84 * time.Millisecond, Gen: 1, Status: 200, Owner: me},
			{At: start.Add(-3 * time.Minute), Kind: session.EventUnauthorized, Reason: "foreign_login", Gen: 3, Status: 401, Owner: me},
			{At: start.Add(-2 * time.Minute), Kind: session.EventRefresh, Outcome: session.OK, Reason: "due", Gen: 4, Status: 200, Owner: me},
		}}
}

func hostile() session.Status {
	st := live()
	st.Account, st.BaseURL = "m"+apitest.Hostile, "https://x"+apitest.Hostile
	bad := session.Owner{Host: "h" + apitest.Hostile, User: "u" + apitest.Hostile, Version: "v" + apitest.Hostile, PID: 1}
	st.By, st.Holder, st.Seen = bad, &bad, []session.Instance{{Owner: bad}}
	st.Borrowers = []session.Borrower{{Name: "b" + apitest.Hostile, Last: start, Running: true}}
	for i := range st.History {
		st.History[i].Owner, st.History[i].Detail, st.History[i].Reason = bad, "d"+apitest.Hostile, "r"+apitest.Hostile
		st.History[i].Kind = session.EventKind("k" + apitest.Hostile)
	}
	return st
}

func state(name string, change func(*session.Status)) session.Status {
	st := live()
	st.State = name
	change(&st)
	return st
}

func open(t *testing.T, f *fake, opts ...shelltest.Option) (*uitest.Run, *uitest.Clock) {
	t.Helper()
	clock := uitest.NewClock()
	factory := func(env *ui.Env, _ ui.Place) ui.Screen { return New(env, f) }
	return shelltest.Open(t, clock, factory, ui.Place{Kind: ui.KindSession}, opts...), clock
}

// incident is what is known in one of the shared incidents.
func incident(name string) verdict.Facts { return verdicttest.Incidents()[name].Facts }

// hostileFacts are those of a refused login, in words that must not be drawn.
func hostileFacts() verdict.Facts {
	return verdicttest.Login(reach.Fault{Class: reach.Refused, Status: 403, Said: "no" + apitest.Hostile})
}

func TestScreens(t *testing.T) {
	for name, c := range map[string]struct {
		f     *fake
		known verdict.Facts
		keys  []string
	}{
		"live":    {f: &fake{st: live()}, known: verdicttest.Live()},
		"foreign": {f: &fake{st: state("doubtful", func(*session.Status) {})}, known: incident("28 foreign")},
		"blocked": {f: &fake{st: state("blocked", func(s *session.Status) {
			s.LoginWait, s.Access, s.Refresh = 42*time.Second, session.Lifetime{}, session.Lifetime{}
		})}, known: incident("20 two-factor")},
		"outage": {f: &fake{st: live()}, known: incident("70 live, then 503")},
		"lent": {f: &fake{st: state("live", func(s *session.Status) {
			s.Borrowers = []session.Borrower{{Name: "nightly", Role: "viewer", Priority: "background", LastMinute: 7, Calls: 1204, Waits: 31, Waited: 80.5, Refused: 2, Last: start.Add(-20 * time.Second), Running: true},
				{Name: "report", Role: "analyst", Priority: "background", Calls: 3, Last: start.Add(-3 * time.Hour)}}
		})}, known: incident("28 foreign")},
		"people": {f: &fake{st: live(), people: []presence.Place{{Person: "ana", Host: "desk-1", Object: "operation", ID: "237f91db-a65d-4f18-a240-17ab808bf1b4",
			Since: start.Add(-4 * time.Minute), Dialog: true}, {Person: "b" + apitest.Hostile, Host: "h" + apitest.Hostile, Object: "limits", Since: start.Add(-3 * time.Hour)}}},
			known: verdicttest.Live()},
		"error": {f: &fake{err: &api.Error{Kind: api.Unavailable, Public: "The store does not answer.", Hint: "opdeck doctor checks it."}},
			known: verdict.Facts{Now: verdicttest.Noon, Store: incident("39 database down").Store}},
		"hostile":  {f: &fake{st: hostile()}, known: hostileFacts()},
		"question": {f: &fake{st: live()}, known: verdicttest.Live(), keys: []string{"Z"}},
		"doctor":   {f: &fake{st: live()}, known: verdicttest.Live(), keys: []string{"D"}},
	} {
		for size, wh := range shelltest.Drawn(name, "lent", "outage") {
			t.Run(name+"-"+size, func(t *testing.T) {
				r, _ := open(t, c.f, shelltest.Found(c.known))
				r.Send(uitest.Size(wh[0], wh[1]))
				for _, k := range c.keys {
					r.Send(uitest.Key(k))
				}
				golden.RequireEqual(t, r.View())
			})
		}
	}
}

// TestLifetimesRunDown by the clock, and only as often as the text changes.
func TestLifetimesRunDown(t *testing.T) {
	f := &fake{st: live()}
	r, clock := open(t, f)
	r.Says("2m 30s of 5m", "12m 30s of 15m", "until 12:02:30")
	calls, ticks := f.calls, r.Ticks
	r.Send(clock.Wait(10 * time.Second))
	r.Says("2m 20s of 5m", "12m 20s of 15m")
	if n := r.Ticks - ticks; n < 9 || n > 12 {
		t.Errorf("%d wake-ups in ten seconds", n)
	}
	r.Send(clock.Wait(5 * time.Minute))
	r.Says("expired", "7m 20s of 15m")
	if f.calls != calls {
		t.Errorf("%d questions by time alone", f.calls-calls)
	}
	r.Send(clock.Wait(time.Hour))
	ticks = r.Ticks
	r.Send(clock.Wait(50 * time.Second))
	if n := r.Ticks - ticks; n > 10 {
		t.Errorf("%d wake-ups though nothing counts", n)
	}
}

func TestActsAskWithTheirCost(t *testing.T) {
	for key, c := range map[string]struct {
		act  string
		want []string
		done string
	}{
		"Z": {"refresh", []string{"Refresh the tokens now?", "one refresh per minute", "lose their session", "generation 4"}, "The tokens were refreshed."},
		"I": {"login", []string{"Log in again?", "six logins per minute", "log in without opdeck lose"}, "Logged in again."},
		"X": {"reset", []string{"Erase the stored session and unblock logins?", "Sends nothing now", "the next call " +
			"logs in"}, "The session was reset"},
	} {
		f := &fake{st: live()}
		r, clock := open(t, f)
		r.Send(uitest.Key(key))
		r.Says(c.want...)
		r.Send(clock.Wait(shelltest.Armed), uitest.Key("enter"))
		if len(f.acts) != 0 {
			t.Fatal("enter is yes")
		}
		r.Send(uitest.Key(key), clock.Wait(shelltest.Armed), uitest.Key("y"))
		r.Says(c.done)
		if len(f.acts) != 1 || f.acts[0] != c.act {
			t.Errorf("did %v", f.acts)
		}
		f.act = &api.Error{Kind: api.RateLimited, Public: "The one refresh of this minute is used up.", Hint: "Wait 40s."}
		r.Send(uitest.Key(key), clock.Wait(shelltest.Armed), uitest.Key("y"))
		r.Says("The one refresh of this minute is used up.")
	}
}

// TestARefusedRefreshIsALogin: it is not called a refresh.
func TestARefusedRefreshIsALogin(t *testing.T) {
	f := &fake{st: live(), refused: true}
	r, clock := open(t, f)
	r.Send(uitest.Key("Z"), clock.Wait(shelltest.Armed), uitest.Key("y"))
	r.Says("Logged in, since the refresh did not work")
}

// TestADeadToken: it has nothing left, and what is not known is not made up.
func TestADeadToken(t *testing.T) {
	f := &fake{st: state("doubtful", func(s *session.Status) {
		s.Access.Remaining, s.Access.ExpiresAt, s.Access.Dead, s.Refresh = 0, start.Add(-48*time.Second), true, session.Lifetime{}
	})}
	r, clock := open(t, f)
	r.Says("state in doubt", "revoked", "at 11:59:12", "refresh none")
	r.Send(uitest.Key("Z"), clock.Wait(shelltest.Armed))
	r.Says("There are no tokens to refresh. Log in?", "six logins per minute")
	r.Send(uitest.Key("y"))
	r.Says("Logged in: there were no tokens to refresh.")
	if len(f.acts) != 1 || f.acts[0] != "login" {
		t.Errorf("did %v", f.acts)
	}

	f.st = state("live", func(s *session.Status) { s.By, s.From = session.Owner{}, "" })
	r, _ = open(t, f)
	r.HasNot("made by")
}

// TestWhatEndedIt: the page says what happened to the session last, with what shows it, also when that is over.
func TestWhatEndedIt(t *testing.T) {
	r, _ := open(t, &fake{st: state("live", func(s *session.Status) {
		s.History = append(s.History, session.Event{At: start.Add(-30 * time.Second), Kind: session.EventUnauthorized,
			Reason: session.OtherPair, Gen: 4}, session.Event{At: start.Add(-20 * time.Second), Kind: session.EventReset})
	})})
	r.Send(uitest.Size(99, 40))
	r.Says("✓ No fault known.", "One of our own processes replaced the tokens during a call; the call was sent again. Resolved at 11:59:40 UTC",
		"a call with generation 4 was refused at 11:59:30 UTC")
}

// TestAWrongClockHere: the host's clock is an hour behind the store's. Ends, causes and
// history use the store's, and what is left is right.
func TestAWrongClockHere(t *testing.T) {
	const ahead = time.Hour
	st := state("live", func(s *session.Status) {
		s.AsOf, s.Ahead = s.AsOf.Add(ahead), ahead
		for _, at := range []*time.Time{&s.Access.ExpiresAt, &s.Refresh.ExpiresAt, &s.NextRotation} {
			*at = at.Add(ahead)
		}
		for i := range s.History {
			s.History[i].At = s.History[i].At.Add(ahead)
		}
	})
	r, clock := open(t, &fake{st: st})
	r.Send(uitest.Size(120, 40))
	r.Says("2m 30s of 5m until 13:02:30", "12m 30s of 15m until 13:12:30", "12:58:00 ✓ refresh ok", "next refresh 13:02:00", "from the store, now")
	r.Send(clock.Wait(10 * time.Second))
	r.Says("2m 20s of 5m until 13:02:30")
	r.Send(uitest.Key("Z"))
	r.Says("Refresh the tokens now?")
}

// TestNothingOfAPageIsCut: the page scrolls, so a value continues below itself in a narrow window.
func TestNothingOfAPageIsCut(t *testing.T) {
	r, _ := open(t, &fake{st: live()})
	r.Send(uitest.Size(40, 40))
	r.Says("login of desk-1, process 4711", "12:02:00", "https://stage.example.com")
}

func TestNewsReplacesAnError(t *testing.T) {
	f := &fake{err: &api.Error{Kind: api.Unavailable, Public: "The store does not answer."}}
	r, _ := open(t, f)
	r.Says("The store does not answer.")
	r.Send(News{Status: live()})
	r.Says("2m 30s of 5m")
}

func TestUpdateAndViewNeverWait(t *testing.T) {
	f := &fake{st: live()}
	factory := func(env *ui.Env, _ ui.Place) ui.Screen { return New(env, f) }
	shelltest.PressAll(uitest.NewClock(), factory, ui.Place{Kind: ui.KindSession}, News{Status: f.st})
	if f.calls != 0 {
		t.Errorf("%d questions outside a command", f.calls)
	}
}

func TestEverySize(t *testing.T) {
	r, _ := open(t, &fake{st: hostile()})
	shelltest.Sizes(r)
}

// TestViewIsPure: whether frames are drawn makes no difference.
func TestViewIsPure(t *testing.T) {
	uitest.Pure(t, func(c *uitest.Clock) tea.Model {
		factory := func(env *ui.Env, _ ui.Place) ui.Screen { return New(env, &fake{st: live()}) }
		return ui.New(shelltest.Options(c, factory, ui.Place{Kind: ui.KindSession}))
	}, func(c *uitest.Clock) []tea.Msg {
		return []tea.Msg{c.Wait(5 * time.Second), uitest.Key("Z"), c.Wait(time.Second), uitest.Key("y"), uitest.Size(60, 10), uitest.Keys("j", "j"), c.Wait(time.Minute), uitest.Size(120, 40)}
	})
}

// TestANextStepNamesTheKeysThatWork: the keys of a next step are those that the config gives them, without the one of
// the place that is open.
func TestANextStepNamesTheKeysThatWork(t *testing.T) {
	t.Parallel()
	known := shelltest.Found(incident("18 locked 423"))
	r, _ := open(t, &fake{}, known, func(o *ui.Options) { o.Keys = map[string]string{"session.reset": "f5"} })
	r.Has("(press f5)")
	r.HasNot("press 6", "press X")
	r, _ = open(t, &fake{}, known)
	r.Has("(press X)")
}

// While a process refreshes the session, the key of a refresh is off and says why; a login stays possible.
func TestNoSecondRefresh(t *testing.T) {
	st := live()
	st.State, st.Holder = "rotating", &session.Owner{Host: "desk-2", PID: 4712}
	r, _ := open(t, &fake{st: st})
	r.Send(uitest.Key("Z"))
	r.Says("A process is already refreshing the session")
	r.Send(uitest.Key("I"))
	r.Says("Log in again?")
}
