package oncall

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/golden"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/api/limit"
	"opdeck/api/session"
	"opdeck/internal/domain/followup"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/receiver"
	"opdeck/ui"
	"opdeck/ui/theme"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
	"opdeck/views/events"
	"opdeck/views/limits"
	"opdeck/views/sessions"
)

type (
	sessionCalls = sessions.Session
	eventCalls   = events.Feed
)

// world is what all parts ask; what none of them may call ends the test.
type world struct {
	sessionCalls
	events.Inbox
	eventCalls
	status  session.Status
	usage   []limit.Usage
	fresh   index.Freshness
	writes  []followup.Row
	trouble receiver.Trouble
	err     error
	reads   int
}

func (w *world) Status(context.Context) (session.Status, error) {
	w.reads++
	return w.status, w.err
}
func (w *world) Usage(context.Context) ([]limit.Usage, error) { w.reads++; return w.usage, w.err }
func (w *world) List(context.Context, receiver.Filter) ([]receiver.Stored, error) {
	return nil, w.err
}
func (w *world) LastSeq(context.Context) (int64, error)           { w.reads++; return 0, w.err }
func (w *world) Counts(context.Context) ([]receiver.Count, error) { return nil, w.err }
func (w *world) Times(context.Context, int) ([]time.Time, error)  { return nil, w.err }
func (w *world) Codes(context.Context) ([]hook.Meaning, error)    { return nil, w.err }
func (w *world) Trouble(context.Context) (receiver.Trouble, error) {
	return w.trouble, w.err
}
func (w *world) freshness(context.Context) (index.Freshness, error) { w.reads++; return w.fresh, w.err }
func (w *world) pending(context.Context) ([]followup.Row, error)    { return w.writes, w.err }
func (w *world) Next(ctx context.Context, _ int64) ([]receiver.Stored, error) {
	return nil, context.Canceled
}

func newWorld() *world {
	now := uitest.NewClock().Now()
	return &world{
		status: session.Status{State: "blocked", Account: "ops@example.com", BaseURL: "https://pay.example", Generation: 3, AsOf: now,
			Access:  session.Lifetime{TTL: 5 * time.Minute, ExpiresAt: now.Add(-2 * time.Minute), Dead: true},
			Verdict: session.Verdict{Cause: session.RevokedPair, Sentence: "the tokens were revoked at about 11:58:00", Evidence: []string{"a login was refused"}}},
		usage: []limit.Usage{{Class: limit.Billing, Used: 12, Recommended: 12, NextSlot: 21, Throttled: 2}, {Class: limit.General, Used: 1, Recommended: 20, Room: 19}},
		fresh: index.Freshness{Sights: index.Sights{Rows: 1240}, AsOf: now.Add(-3 * time.Minute), Complete: true, Total: 1240},
		writes: []followup.Row{{State: followup.Unknown, Sent: now.Add(-time.Minute),
			Write: followup.Write{Kind: api.ActRemoveDocument, Object: "operation", ID: "7f3a2b10-0000", Item: "g-1", Name: "a\x1b[31m.pdf"}}},
	}
}

func factory(w *world, places *[]ui.Place) ui.Factory {
	return func(env *ui.Env, p ui.Place) ui.Screen {
		if p.Kind == ui.KindOnCall {
			return New(env, Store{w.freshness, w.pending}, sessions.New(env, w), limits.NewScreen(env, w, "wait"), events.New(env, w, w, nil, events.Config{Part: true}, ""))
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
	well := newWorld()
	well.status.State, well.status.Access, well.status.Verdict = "live", session.Lifetime{TTL: 5 * time.Minute, ExpiresAt: uitest.NewClock().Now().Add(4 * time.Minute)}, session.Verdict{}
	well.usage, well.writes = well.usage[1:], nil
	for name, w := range map[string]*world{"trouble": newWorld(), "well": well} {
		for _, wh := range [][2]int{{40, 12}, {80, 24}, {120, 40}, {160, 45}} {
			t.Run(fmt.Sprintf("%s-%dx%d", name, wh[0], wh[1]), func(t *testing.T) {
				r, _ := open(t, w, nil)
				r.Send(uitest.Size(wh[0], wh[1]))
				golden.RequireEqual(t, r.View())
			})
		}
	}
}

// TestALineOpensItsScreen: enter on a verdict opens what it rests on.
func TestALineOpensItsScreen(t *testing.T) {
	for i, want := range []string{ui.KindSession, ui.KindLimits, ui.KindEvents, ui.KindOperations, ui.KindAudit} {
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

// TestNewsChangeThePage: the parts receive the same news as their own screens.
func TestNewsChangeThePage(t *testing.T) {
	w := newWorld()
	r, clock := open(t, w, nil)
	st := w.status
	st.State = "rotating"
	r.Send(sessions.News{Status: st}, limits.News{Usage: []limit.Usage{{Class: limit.Account, Recommended: 12, Room: 12}}, At: clock.Now()})
	w.writes = nil
	r.Send(ui.Changed{Kind: ui.KindAudit})
	for _, want := range []string{"rotating", "calls left in every class", "every write has a known outcome"} {
		if !strings.Contains(r.View(), want) {
			t.Errorf("%q is not on screen:\n%s", want, r.View())
		}
	}
}

// TestTheStoreIsGone: each line says so, none is left from before without a word.
func TestTheStoreIsGone(t *testing.T) {
	w := newWorld()
	w.err = errors.New("the disk is gone")
	r, _ := open(t, w, nil)
	for _, want := range []string{"The budgets cannot be read from the store.", "Index    ✗ cannot be read", "Writes   ✗ the audit trail cannot be read"} {
		if !strings.Contains(r.View(), want) {
			t.Errorf("%q is not on screen:\n%s", want, r.View())
		}
	}
}

// TestNoKeysOfOtherScreens: what the page says of the feed names none of its screen's keys.
func TestNoKeysOfOtherScreens(t *testing.T) {
	w := newWorld()
	w.trouble = receiver.Trouble{Rejected: []receiver.RejectCount{{Reason: "header", Detail: "No token.", N: 3, Last: uitest.NewClock().Now()}}}
	r, _ := open(t, w, nil)
	r.Send(uitest.Size(160, 45))
	if got := r.View(); !strings.Contains(got, "3 deliveries rejected") || strings.Contains(got, "shows them") || strings.Contains(got, "shows where") {
		t.Errorf("keys that do nothing here:\n%s", got)
	}
}

// TestItIsSaid: plain mode says the verdicts as sentences, in the words of the screens.
func TestItIsSaid(t *testing.T) {
	var s *Screen
	words := func(o *ui.Options) { o.Theme = theme.Words() }
	w := newWorld()
	shelltest.Open(t, uitest.NewClock(), func(env *ui.Env, p ui.Place) ui.Screen {
		s = factory(w, nil)(env, p).(*Screen)
		return s
	}, ui.Place{Kind: ui.KindOnCall}, words)
	said := strings.Join(s.Content().Sections[0].Lines, "\n")
	for _, want := range []string{"Session: ", "blocked", "Limits: ", "2 answers 429 in the last hour; billing: used up", "Writes: ", "1 write has no known outcome", "1,240 operations known, as of 3m ago"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not said:\n%s", want, said)
		}
	}
}

func TestUpdateAndViewNeverWait(t *testing.T) {
	w := newWorld()
	shelltest.PressAll(uitest.NewClock(), factory(w, nil), ui.Place{Kind: ui.KindOnCall}, sessions.News{Status: w.status})
	if w.reads != 0 {
		t.Errorf("%d reads outside a command", w.reads)
	}
}

func TestEverySize(t *testing.T) {
	r, _ := open(t, newWorld(), nil)
	shelltest.Sizes(r)
}

func TestViewIsPure(t *testing.T) {
	uitest.Pure(t, func(c *uitest.Clock) tea.Model {
		return ui.New(shelltest.Options(c, factory(newWorld(), nil), ui.Place{Kind: ui.KindOnCall}))
	}, func(c *uitest.Clock) []tea.Msg {
		return []tea.Msg{uitest.Size(80, 24), uitest.Keys("j", "j", "pgdown", "k"), c.Wait(time.Minute), uitest.Size(160, 45), uitest.Key("tab"), c.Wait(time.Hour)}
	})
}
