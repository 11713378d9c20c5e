package oncall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/golden"

	"opdeck/api/limit"
	"opdeck/api/session"
	"opdeck/internal/domain/presence"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/domain/verdict/verdicttest"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/theme"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
	"opdeck/views/limits"
	"opdeck/views/sessions"
)

type sessionCalls = sessions.Session

// world is what the pages ask; what none of them may call ends the test.
type world struct {
	sessionCalls
	around Around
	err    error
	reads  int
}

func (w *world) Status(context.Context) (session.Status, error) {
	w.reads++
	return session.Status{State: "live", AsOf: uitest.NewClock().Now()}, w.err
}
func (w *world) Connected(context.Context) ([]presence.Place, error) { w.reads++; return nil, w.err }
func (w *world) Usage(context.Context) ([]limit.Usage, error)        { w.reads++; return nil, w.err }
func (w *world) read(context.Context) (Around, error)                { w.reads++; return w.around, w.err }

// newWorld is a store with two other people, on which a server was started, and where two files changed since.
func newWorld() *world {
	return &world{around: Around{Others: 2, Changes: []present.Change{
		{At: verdicttest.Noon.Add(-2 * time.Hour), What: "opdeck 1.4.0 started on edge-1"},
		{At: verdicttest.Noon.Add(-90 * time.Second), What: "/etc/opdeck/con\x1b[31mfig.toml changed"},
		{At: verdicttest.Noon.Add(-25 * time.Hour), What: "opdeck 1.3.0 started on edge-1"},
		{At: verdicttest.Noon.Add(-time.Second), What: "opdeck 1.4.0 started on edge-2"}}}}
}

// trouble is a service that is gone, with an index that is old and a write in doubt.
func trouble() verdict.Facts {
	f := verdicttest.Incidents()["75 live, then gone"].Facts
	f.Writes = verdicttest.Incidents()["writes in doubt"].Facts.Writes
	f.Index = verdicttest.Incidents()["57 index old"].Facts.Index
	return f
}

// gone is a store of which the file was deleted: nothing else can be read.
func gone() verdict.Facts {
	return verdict.Facts{Now: verdicttest.Noon, Store: verdicttest.Incidents()["36 store deleted"].Facts.Store}
}

func factory(w *world, places *[]ui.Place) ui.Factory {
	return func(env *ui.Env, p ui.Place) ui.Screen {
		if p.Kind == ui.KindOnCall {
			return New(env, w.read)
		}
		if places != nil {
			*places = append(*places, p)
		}
		return sessions.New(env, w)
	}
}

func open(t *testing.T, w *world, places *[]ui.Place, opts ...shelltest.Option) (*uitest.Run, *uitest.Clock) {
	t.Helper()
	clock := uitest.NewClock()
	return shelltest.Open(t, clock, factory(w, places), ui.Place{Kind: ui.KindOnCall}, opts...), clock
}

func TestScreens(t *testing.T) {
	for name, facts := range map[string]verdict.Facts{"trouble": trouble(), "well": verdicttest.Live(), "store": gone()} {
		for _, wh := range [][2]int{{40, 10}, {80, 24}, {160, 45}} {
			t.Run(fmt.Sprintf("%s-%dx%d", name, wh[0], wh[1]), func(t *testing.T) {
				r, _ := open(t, newWorld(), nil, shelltest.Found(facts))
				r.Send(uitest.Size(wh[0], wh[1]))
				golden.RequireEqual(t, r.View())
			})
		}
	}
}

// TestItOpensAtItsTop: a small window shows the first sentence first; the first key that needs the cursor scrolls to it
// and opens nothing.
func TestItOpensAtItsTop(t *testing.T) {
	for _, key := range []string{"j", "tab", "enter"} {
		var places []ui.Place
		r, _ := open(t, newWorld(), &places, shelltest.Found(trouble()))
		r.Send(uitest.Size(40, 12))
		r.Has("stage.example.com refuses")
		r.Send(uitest.Key(key))
		if r.Has("▌ Service"); len(places) > 0 {
			t.Errorf("%s opened %v", key, places)
		}
		if r.Send(uitest.Key("enter")); len(places) != 1 {
			t.Errorf("enter after %s opened %v", key, places)
		}
	}
}

// TestALineOpensItsScreen: enter on a line opens what it is about.
func TestALineOpensItsScreen(t *testing.T) {
	for i, want := range []string{ui.KindSession, ui.KindSession, ui.KindSession, ui.KindLimits, ui.KindEvents, ui.KindOperations,
		ui.KindAudit, ui.KindAudit} {
		var places []ui.Place
		r, _ := open(t, newWorld(), &places)
		for range i {
			r.Send(uitest.Key("j"))
		}
		if r.Send(uitest.Key("enter")); len(places) != 1 || places[0].Kind != want {
			t.Errorf("line %d opens %v, not %s", i+1, places, want)
		}
	}
}

// TestWhatIsAroundTheCause: what works and what does not, who else is here, and the two newest changes before it began,
// read again when the cause is another one.
func TestWhatIsAroundTheCause(t *testing.T) {
	w := newWorld()
	r, clock := open(t, w, nil)
	r.Send(uitest.Size(160, 45))
	r.Says("now Works: reading. Not known: the local copy, writing, webhooks. 2 others have a console open.")
	r.HasNot("past", "started")
	w.around.Others = 0
	r.Send(ui.VerdictFacts{Verdict: verdict.Conclude(trouble()), Read: clock.Now()})
	r.Says("stage.example.com refuses connections. Since 11:59:40 UTC.",
		"now Works: the local copy. Does not work: reading, writing. Not known: webhooks.",
		"past 1m 10s before it: /etc/opdeck/con·[31mfig.toml changed; 1h 59m before it: opdeck 1.4.0 started on edge-1.",
		"Service ✗ stage.example.com refuses", "Writes ! 1 write has an unknown outcome")
	r.HasNot("1.3.0", "edge-2", "others")
}

// TestNothingStaleIsGood: when no one has read the facts for some seconds, nothing is drawn as good; and with the store
// gone nothing of it is drawn at all.
func TestNothingStaleIsGood(t *testing.T) {
	r, clock := open(t, newWorld(), nil)
	r.Has("✓")
	r.Send(clock.Wait(ui.VerdictHolds))
	r.HasNot("✓")
	r.Says("No fault known. Not known now: service, session, store.", "Store ? not known")

	w := newWorld()
	r, clock = open(t, w, nil)
	w.err = errors.New("the disk is gone")
	r.Send(ui.VerdictFacts{Verdict: verdict.Conclude(gone()), Read: clock.Now()})
	r.HasNot("✓", "past", "others")
	r.Says("The file of the shared store at db:5432 was deleted or replaced.", "Index ? not known")
}

// TestItIsSaid: plain mode begins with every finding, the first one first, with commands instead of keys, and says the
// same as the lines.
func TestItIsSaid(t *testing.T) {
	var s *Screen
	words := func(o *ui.Options) { o.Theme = theme.Words() }
	w := newWorld()
	shelltest.Open(t, uitest.NewClock(), func(env *ui.Env, p ui.Place) ui.Screen {
		s = factory(w, nil)(env, p).(*Screen)
		return s
	}, ui.Place{Kind: ui.KindOnCall}, words, shelltest.Found(trouble()))
	var want []string
	for _, f := range verdict.Conclude(trouble()).Findings {
		want = append(want, f.Line())
	}
	want = append(want, "Works: the local copy. Does not work: reading, writing. Not known: webhooks. 2 others have a console open.",
		"1m 10s before it: /etc/opdeck/con·[31mfig.toml changed; 1h 59m before it: opdeck 1.4.0 started on edge-1.")
	if got := s.Content().Lines; !slices.Equal(got, want) || len(want) < 3 {
		t.Errorf("it begins with %q, not %q", got, want)
	}
	said := strings.Join(s.Content().Sections[0].Lines, "\n")
	for _, want := range []string{"Service: stage.example.com refuses connections.",
		"Session: good: the access token is valid until 12:03:00 UTC", "Writes: 1 write has an unknown outcome",
		"Index: The lists are 6h 00m old.", "Events: not known", "Not checked: certificate, clock, config; opdeck doctor checks them."} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not said:\n%s", want, said)
		}
	}
}

// TestOneFirstSentence: header, on-call page, Session screen and plain mode say the same first sentence of each incident.
func TestOneFirstSentence(t *testing.T) {
	for name, one := range verdicttest.Incidents() {
		v := verdict.Conclude(one.Facts)
		first, wrong := v.First()
		for _, place := range []string{ui.KindOnCall, ui.KindSession, "list"} { // the list has the header and its notices only
			factory := func(env *ui.Env, p ui.Place) ui.Screen {
				if p.Kind == "list" {
					return limits.NewScreen(env, newWorld().Usage, "wait")
				}
				return factory(newWorld(), nil)(env, p)
			}
			clock := uitest.NewClock()
			r := shelltest.Open(t, clock, factory, ui.Place{Kind: place}, shelltest.Found(one.Facts))
			r.Send(uitest.Size(120, 40), ui.VerdictFacts{Verdict: v, Read: clock.Now()})
			switch {
			case place != "list":
				r.Says(one.Want)
			case wrong && first.Part != verdict.PartBudget: // the header shows budgets by itself
				r.Says(one.Want, strings.Replace(string(first.Part), "feed", "webhooks", 1))
			default:
				r.HasNot("B shows more")
			}
		}
		var plain []string
		for _, kind := range []string{ui.KindOnCall, ui.KindSession} {
			var s ui.Contenter
			shelltest.Open(t, uitest.NewClock(), func(env *ui.Env, p ui.Place) ui.Screen {
				made := factory(newWorld(), nil)(env, p)
				s = made.(ui.Contenter)
				return made
			}, ui.Place{Kind: kind}, shelltest.Found(one.Facts), func(o *ui.Options) { o.Theme = theme.Words() })
			plain = append(plain, s.Content().Lines[0])
		}
		if plain[0] != plain[1] || !strings.HasPrefix(plain[0], one.Want) {
			t.Errorf("%s: plain mode says %q and %q", name, plain[0], plain[1])
		}
	}
}

func TestUpdateAndViewNeverWait(t *testing.T) {
	w := newWorld()
	shelltest.PressAll(uitest.NewClock(), factory(w, nil), ui.Place{Kind: ui.KindOnCall}, ui.Shown{})
	if w.reads != 0 {
		t.Errorf("%d reads outside a command", w.reads)
	}
}

func TestEverySize(t *testing.T) {
	r, _ := open(t, newWorld(), nil, shelltest.Found(trouble()))
	shelltest.Sizes(r)
}

func TestViewIsPure(t *testing.T) {
	uitest.Pure(t, func(c *uitest.Clock) tea.Model {
		return ui.New(shelltest.Options(c, factory(newWorld(), nil), ui.Place{Kind: ui.KindOnCall}, shelltest.Found(trouble())))
	}, func(c *uitest.Clock) []tea.Msg {
		return []tea.Msg{uitest.Size(80, 24), uitest.Keys("j", "j", "pgdown", "k"), c.Wait(time.Minute), uitest.Size(160, 45), uitest.Key("tab"), c.Wait(time.Hour)}
	})
}
