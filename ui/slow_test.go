package ui_test

import (
	"testing"
	"time"

	"opdeck/ui"
	"opdeck/ui/uitest"
)

// TestSlowAnswers: what a screen waits for is said beside its title, with seconds
// that run; a call that no one waits for is not meant.
func TestSlowAnswers(t *testing.T) {
	w := newWorld()
	w.slow = time.Minute
	r := w.start(t, w.options(ui.Test)).Send(ui.CallFacts{ID: "0", What: "list operations", Class: "billing", Background: true, Phase: ui.CallWaits, At: w.clock.Now()})
	r.Has("loading…")
	r.Send(ui.CallFacts{ID: "1", What: "get operation", Class: "billing", Phase: ui.CallWaits, At: w.clock.Now()},
		ui.BudgetFacts{Class: "billing", Limit: 12, Goes: w.clock.Now().Add(9 * time.Second), NextSlot: w.clock.Now().Add(14 * time.Second)})
	r.Has("waits for the budget of billing, 9s")
	r.Send(w.clock.Wait(3 * time.Second))
	r.Has("waits for the budget of billing, 6s")
	r.Send(uitest.Key("!"))
	r.Has("waits 6s", "get operation")
	r.Send(uitest.Key("q"), ui.CallFacts{ID: "1", What: "get operation", Class: "billing", Phase: ui.CallRuns, At: w.clock.Now()})
	r.Has("loading…")
	r.Send(w.clock.Wait(4 * time.Second))
	r.Has("no answer for 4s…")
	r.Send(uitest.Key("!"), w.clock.Wait(2*time.Second))
	r.Has("running 6s", "get operation")
	r.Send(uitest.Key("q"), ui.CallFacts{ID: "1", What: "get operation", Class: "billing", Phase: ui.CallDone, At: w.clock.Now()})
	r.Send(ui.SessionFacts{State: "rotating"}, ui.BudgetFacts{Class: "billing", Limit: 12, Room: 9},
		ui.CallFacts{ID: "2", What: "get operation", Class: "billing", Phase: ui.CallWaits, At: w.clock.Now()})
	r.Has("waits for the session for 9s…")
	r.Send(w.clock.Wait(time.Minute))
	r.HasNot("waits for", "no answer", "loading…")
}

// TestSlowInANarrowWindow: it says, too, that an answer is waited for, and for how long.
func TestSlowInANarrowWindow(t *testing.T) {
	w := newWorld()
	w.slow = 2 * time.Minute
	call := ui.CallFacts{ID: "1", What: "get operation", Class: "billing", Phase: ui.CallWaits, At: w.clock.Now()}
	r := w.start(t, w.options(ui.Test)).Send(uitest.Size(40, 12), call, ui.BudgetFacts{Class: "billing", Limit: 12, Goes: w.clock.Now().Add(70 * time.Second), NextSlot: w.clock.Now().Add(70 * time.Second)})
	r.Has("0 left ◌1m")
	call.Phase = ui.CallRuns
	r.Send(call, w.clock.Wait(3*time.Second))
	r.Has("0 left 3s…")
	r.Send(w.clock.Wait(time.Second))
	r.Has("0 left 4s…")
	call.Phase = ui.CallDone
	r.Send(call, w.clock.Wait(2*time.Minute))
	r.HasNot("s…")
}

// TestLoadingHasSeconds: the seconds also count for a load without a known call.
func TestLoadingHasSeconds(t *testing.T) {
	w := newWorld()
	w.slow = time.Minute
	r := w.start(t, w.options(ui.Test))
	r.Has("loading…")
	r.Send(w.clock.Wait(3 * time.Second))
	r.Has("loading for 3s…")
	r.Send(uitest.Key("5"))
	r.Has("loading…")
	r.HasNot("loading for")
}

// TestLargeBodies: how much of an upload went is said beside the title once it takes
// longer than a second, with seconds that run, and then that the answer is waited for.
func TestLargeBodies(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test))
	began := w.clock.Now()
	up := func(moved int64) ui.CallFacts {
		return ui.CallFacts{ID: "1", What: "upload document", Class: "customer", Write: true, Phase: ui.CallRuns, At: began, Moved: moved, Size: 8_000_000}
	}
	r.Send(up(1_000_000))
	r.HasNot("sent 1")
	r.Send(w.clock.Wait(2*time.Second), up(3_100_000))
	r.Has("sent 3.1 MB of 8.0 MB, 2s…")
	r.Send(w.clock.Wait(time.Second))
	r.Has("sent 3.1 MB of 8.0 MB, 3s…")
	r.Send(uitest.Key("!"))
	r.Has("running 3s", "sent 3.1 MB of 8.0 MB")
	r.Send(uitest.Key("q"), up(8_000_000))
	r.Has("all 8.0 MB sent, no answer yet, 3s…")
	r.Send(ui.CallFacts{ID: "1", What: "upload document", Class: "customer", Write: true, Phase: ui.CallDone, At: w.clock.Now()})
	r.HasNot("sent", "no answer")
	down := up(3_100_000)
	down.ID, down.Write = "2", false
	r.Send(down)
	r.Has("received 3.1 MB of 8.0 MB, 3s…")
	down.Size = 0 // its length is not known
	r.Send(down)
	r.Has("received 3.1 MB, 3s…")
	r.HasNot("received 3.1 MB of")
}
