package ui_test

import (
	"testing"
	"time"

	"opdeck/ui"
	"opdeck/ui/uitest"
)

// TestSlowAnswers: what a screen waits for is said beside its title, with seconds
// that run; a call that nobody waits for is not meant.
func TestSlowAnswers(t *testing.T) {
	w := newWorld()
	w.slow = time.Minute
	r := w.start(t, w.options(ui.Test)).Send(ui.CallFacts{ID: "0", What: "list operations", Class: "billing", Background: true, Phase: ui.CallWaits, At: w.clock.Now()})
	has(t, r, "loading…")
	r.Send(ui.CallFacts{ID: "1", What: "get operation", Class: "billing", Phase: ui.CallWaits, At: w.clock.Now()},
		ui.BudgetFacts{Class: "billing", Limit: 12, Goes: w.clock.Now().Add(9 * time.Second), NextSlot: w.clock.Now().Add(14 * time.Second)})
	has(t, r, "waits for room in billing, 9s")
	r.Send(w.clock.Wait(3 * time.Second))
	has(t, r, "waits for room in billing, 6s")
	r.Send(uitest.Key("!"))
	has(t, r, "waits 6s", "get operation")
	r.Send(uitest.Key("q"), ui.CallFacts{ID: "1", What: "get operation", Class: "billing", Phase: ui.CallRuns, At: w.clock.Now()})
	has(t, r, "loading…")
	r.Send(w.clock.Wait(4 * time.Second))
	has(t, r, "no answer for 4s…")
	r.Send(uitest.Key("!"), w.clock.Wait(2*time.Second))
	has(t, r, "running 6s", "get operation")
	r.Send(uitest.Key("q"), ui.CallFacts{ID: "1", What: "get operation", Class: "billing", Phase: ui.CallDone, At: w.clock.Now()})
	r.Send(ui.SessionFacts{State: "rotating"}, ui.BudgetFacts{Class: "billing", Limit: 12, Room: 9},
		ui.CallFacts{ID: "2", What: "get operation", Class: "billing", Phase: ui.CallWaits, At: w.clock.Now()})
	has(t, r, "waits for the session for 9s…")
	r.Send(w.clock.Wait(time.Minute))
	hasNot(t, r, "waits for", "no answer", "loading…")
}

// TestLoadingHasSeconds: also what no known call stands for is loaded for so long.
func TestLoadingHasSeconds(t *testing.T) {
	w := newWorld()
	w.slow = time.Minute
	r := w.start(t, w.options(ui.Test))
	has(t, r, "loading…")
	r.Send(w.clock.Wait(3 * time.Second))
	has(t, r, "loading for 3s…")
	r.Send(uitest.Key("5"))
	has(t, r, "loading…")
	hasNot(t, r, "loading for")
}
