package limits

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"opdeck/api/limit"
	"opdeck/internal/domain/verdict/verdicttest"
	"opdeck/ui"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

type fake struct {
	usage []limit.Usage
	err   error
	calls int
}

func (f *fake) Usage(context.Context) ([]limit.Usage, error) { f.calls++; return f.usage, f.err }

// classes are the six budgets with changes to some.
func classes(change map[limit.Class]func(*limit.Usage)) []limit.Usage {
	var out []limit.Usage
	for i, c := range limit.Classes {
		u := limit.Usage{Class: c, Recommended: 12, Used: i, Room: 12 - i}
		for n := range u.History {
			u.History[n] = n % 7
		}
		if f := change[c]; f != nil {
			f(&u)
		}
		out = append(out, u)
	}
	return out
}

func open(t *testing.T, f *fake, policy string) (*uitest.Run, *uitest.Clock) {
	t.Helper()
	clock := uitest.NewClock()
	factory := func(env *ui.Env, _ ui.Place) ui.Screen { return NewScreen(env, f.Usage, policy) }
	return shelltest.Open(t, clock, factory, ui.Place{Kind: ui.KindLimits}), clock
}

var (
	usedUp    = map[limit.Class]func(*limit.Usage){"billing": func(u *limit.Usage) { u.Used, u.Room, u.NextSlot = 12, 0, 17 }}
	waiting   = map[limit.Class]func(*limit.Usage){"billing": func(u *limit.Usage) { u.Used, u.Room, u.NextSlot, u.Waiting = 12, 0, 42, 3 }}
	throttled = map[limit.Class]func(*limit.Usage){"general": func(u *limit.Usage) { u.Throttled, u.Room, u.NextSlot, u.Blocked = 4, 0, 30, 30*time.Second }}
	over      = map[limit.Class]func(*limit.Usage){"customer": func(u *limit.Usage) { u.Used, u.Room, u.Over = 19, 0, 7 }}
)

func TestScreens(t *testing.T) {
	for name, c := range map[string]struct {
		f      *fake
		policy string
	}{
		"calm":      {&fake{usage: classes(nil)}, "wait"},
		"usedup":    {&fake{usage: classes(usedUp)}, "wait"},
		"waiting":   {&fake{usage: classes(waiting)}, "wait"},
		"throttled": {&fake{usage: classes(throttled)}, "wait"},
		"over":      {&fake{usage: classes(over)}, "warn"},
		"error":     {&fake{err: errors.New("disk")}, "wait"},
	} {
		for size, wh := range shelltest.Drawn(name, "throttled") {
			t.Run(name+"-"+size, func(t *testing.T) {
				r, _ := open(t, c.f, c.policy)
				r.Send(uitest.Size(wh[0], wh[1]))
				golden.RequireEqual(t, r.View())
			})
		}
	}
}

func TestStatesInWords(t *testing.T) {
	for _, c := range []struct {
		change map[limit.Class]func(*limit.Usage)
		policy string
		want   []string
	}{
		{usedUp, "wait", []string{"12 of 12 0 17s", "policy wait"}},
		{waiting, "wait", []string{"12 of 12 0 42s 3"}},
		{throttled, "wait", []string{"5 of 12 held 30s 0 4"}},
		{over, "warn", []string{"customer: 7 calls in the last minute exceeded the recommended rate.", "policy warn", "19 of 12"}},
	} {
		r, _ := open(t, &fake{usage: classes(c.change)}, c.policy)
		r.Says(c.want...)
	}
}

// TestSigns: a budget of one call a minute that was used is not marked until another call waits for it; a larger one that
// is used up is.
func TestSigns(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*limit.Usage)
		sign   string
	}{
		"one made":            {func(u *limit.Usage) { u.Recommended, u.Used, u.Room, u.NextSlot = 1, 1, 0, 40 }, "✓"},
		"one made, one waits": {func(u *limit.Usage) { u.Recommended, u.Used, u.Room, u.NextSlot, u.Waiting = 1, 1, 0, 40, 1 }, "!"},
		"twelve made":         {func(u *limit.Usage) { u.Used, u.Room, u.NextSlot = 12, 0, 40 }, "!"},
		"one made, refused":   {func(u *limit.Usage) { u.Recommended, u.Used, u.Room, u.Throttled = 1, 1, 0, 2 }, "✗"},
	} {
		t.Run(name, func(t *testing.T) {
			r, clock := open(t, &fake{usage: classes(map[limit.Class]func(*limit.Usage){limit.Refresh: c.change})}, "wait")
			r.Says(c.sign + " refresh")
			r.Send(clock.Wait(ui.VerdictHolds)) // no one has read the store since
			r.HasNot("✓ ")
		})
	}
}

// TestWhoUsedItUp: the page names who used a budget up if that is known.
func TestWhoUsedItUp(t *testing.T) {
	f := verdicttest.Incidents()["58 budget"].Facts
	clock := uitest.NewClock()
	factory := func(env *ui.Env, _ ui.Place) ui.Screen {
		return NewScreen(env, (&fake{usage: classes(usedUp)}).Usage, "wait")
	}
	r := shelltest.Open(t, clock, factory, ui.Place{Kind: ui.KindLimits}, shelltest.Found(f))
	r.Says("The budget of billing calls is used up until 12:00:56 UTC. borrower nightly used 12 of the 12.")
}

func TestNewsAndErrors(t *testing.T) {
	f := &fake{err: errors.New("disk")}
	r, clock := open(t, f, "wait")
	r.Says("The budgets cannot be read from the store.", "r tries again")
	r.Send(News{Usage: classes(usedUp), At: clock.Now()})
	r.Says("12 of 12")
	f.err, f.usage = nil, classes(nil)
	r.Send(uitest.Key("r"))
	if strings.Contains(r.View(), "12 of 12") {
		t.Errorf("r does not read anew:\n%s", r.View())
	}
}

// TestTheCountdownRuns by the clock, without anyone being asked.
func TestTheCountdownRuns(t *testing.T) {
	f := &fake{usage: classes(usedUp)}
	r, clock := open(t, f, "wait")
	calls, ticks := f.calls, r.Ticks
	r.Send(clock.Wait(10 * time.Second))
	r.Says("12 of 12 0 7s")
	if f.calls != calls {
		t.Error("the store was asked")
	}
	if n := r.Ticks - ticks; n > 12 {
		t.Errorf("%d wake-ups in ten seconds", n)
	}
	r.Send(clock.Wait(20 * time.Second))
	r.Says("12 of 12 0 now")
	calm, clock := open(t, &fake{usage: classes(nil)}, "wait")
	ticks = calm.Ticks
	calm.Send(clock.Wait(50 * time.Second))
	if n := calm.Ticks - ticks; n > 12 { // the age in the header
		t.Errorf("%d wake-ups though nothing counts", n)
	}
}

func TestUpdateAndViewNeverWait(t *testing.T) {
	f := &fake{usage: classes(waiting)}
	clock := uitest.NewClock()
	factory := func(env *ui.Env, _ ui.Place) ui.Screen { return NewScreen(env, f.Usage, "wait") }
	shelltest.PressAll(clock, factory, ui.Place{Kind: ui.KindLimits}, News{Usage: f.usage, At: clock.Now()})
	if f.calls != 0 {
		t.Errorf("%d questions outside a command", f.calls)
	}
}

// TestANarrowWindow keeps each class on a line, with what the service refused.
func TestANarrowWindow(t *testing.T) {
	r, _ := open(t, &fake{usage: classes(throttled)}, "wait")
	r.Send(uitest.Size(40, 16))
	r.Says("used left next 429")
	for _, l := range strings.Split(r.View(), "\n") {
		if f := strings.Fields(l); len(f) == 2 && f[0] == "0" {
			t.Errorf("a class takes two lines:\n%s", r.View())
		}
	}
}

func TestEverySize(t *testing.T) {
	r, _ := open(t, &fake{usage: classes(throttled)}, "warn")
	shelltest.Sizes(r)
}
