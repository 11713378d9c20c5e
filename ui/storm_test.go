package ui_test

import (
	"testing"
	"time"

	"github.com/muesli/termenv"
	"pgregory.net/rapid"

	"opdeck/ui"
	"opdeck/ui/theme"
	"opdeck/ui/uitest"
)

// Any keys, pastes, sizes, news and waits in any order: no panic, every frame
// fits (Drive checks), and nothing is removed unless a question about exactly
// that document was answered.
func TestAnyOrder(t *testing.T) {
	keys := []string{"1", "2", "3", "4", "5", "?", ":", "o", "esc", "q", "r", "tab", "t", "!", "M", "enter", "/", "s", " ", "y", "Y", "J", "d", "x", "n", "z",
		"up", "down", "pgup", "pgdown", "home", "end", "backspace", "a", "b", "1", "c", "2", "left", "right", "ctrl+u", "ctrl+d", "*", "#"}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld()
		w.slow = time.Duration(rapid.IntRange(0, 1).Draw(rt, "slow")) * time.Second
		o := w.options(ui.Environment(rapid.IntRange(0, 2).Draw(rt, "ground")))
		if rapid.Bool().Draw(rt, "colour") {
			o.Theme = theme.New(uitest.Renderer(termenv.TrueColor), theme.Night())
		}
		r := w.start(t, o)
		for range rapid.IntRange(5, 40).Draw(rt, "steps") {
			switch rapid.IntRange(0, 9).Draw(rt, "what") {
			case 0:
				r.Send(uitest.Size(rapid.IntRange(0, 130).Draw(rt, "w"), rapid.IntRange(0, 45).Draw(rt, "h")))
			case 1:
				r.Send(w.clock.Wait(time.Duration(rapid.IntRange(0, 3000).Draw(rt, "ms")) * time.Millisecond))
			case 2:
				r.Send(uitest.Paste(rapid.StringN(0, 20, -1).Draw(rt, "paste")))
				r.Send(uitest.Burst(rapid.StringOfN(rapid.SampledFrom([]rune("xy1234:/jko?! aéä")), 1, 12, -1).Draw(rt, "burst")))
			case 3:
				r.Send(ui.Changed{ID: "7f3a"}, ui.CallFacts{ID: "1", What: rapid.StringN(0, 30, -1).Draw(rt, "call"), Phase: ui.CallPhase(rapid.IntRange(0, 4).Draw(rt, "phase"))})
			case 4:
				facts(r, w.clock)
			default:
				r.Send(uitest.Key(rapid.SampledFrom(keys).Draw(rt, "key")))
			}
			if r.Quit {
				break
			}
		}
		yes := 0
		for _, f := range w.screens {
			yes += len(f.seen)
		}
		if len(w.removed) > yes {
			rt.Fatalf("%d removed after %d answers", len(w.removed), yes)
		}
	})
}
