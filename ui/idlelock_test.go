package ui_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/golden"

	"opdeck/ui"
	"opdeck/ui/uitest"
)

const away = 15 * time.Minute

// veiled is a documents screen whose screen goes blank after a quarter of an hour.
func withIdleLock(t *testing.T, w *world, g ui.Environment) *uitest.Run {
	t.Helper()
	o := w.options(g)
	o.IdleLock = away
	return w.start(t, o)
}

func TestVeil(t *testing.T) {
	w := newWorld()
	r := withIdleLock(t, w, ui.Test)
	facts(r, w.clock)
	r.Send(uitest.Key("j"))
	r.Send(w.clock.Wait(away - time.Second))
	r.Has("invoice_", "7f3a")
	r.Send(uitest.Key("k"), w.clock.Wait(away-time.Second)) // a key begins anew
	r.Has("invoice_")
	before := r.View()
	r.Send(w.clock.Wait(time.Second))
	r.Has("TEST", "stage", "Press any key", "15m")
	for _, secret := range []string{"invoice", "7f3a", "9f1c", "Documents", "Operations", "1,234", "ana", "billing"} {
		r.HasNot(secret)
	}
	reads, removed, places := w.reads, len(w.removed), len(w.opened)
	r.Send(uitest.Key("x"))
	if after := r.View(); body(after) != body(before) {
		t.Errorf("the screen is another one:\n%s\nbefore:\n%s", after, before)
	}
	if w.reads != reads || len(w.removed) != removed || len(w.opened) != places {
		t.Error("the key did more than show the screen again")
	}
	r.Send(w.clock.Wait(200*time.Millisecond), uitest.Key("x"))
	r.Has("Remove document")
}

// body is a frame without what counts by itself.
func body(view string) string { return strings.Join(strings.Split(view, "\n")[2:], "\n") }

// Whatever is pressed, or pasted, or held: what came with the first key does nothing.
func TestVeilTakesTheWholeKey(t *testing.T) {
	for name, msgs := range map[string][]tea.Msg{
		"ctrl+c": {uitest.Key("ctrl+c")}, "q": {uitest.Keys("q", "y")}, "a burst": {uitest.Burst("xy5"), uitest.Key("enter"), uitest.Burst("jj")},
		"a paste": {uitest.Paste("x\ny\n")}, "a digit": {uitest.Key("5")}, "an arrow, repeated": {uitest.Keys("down", "down", "down")},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			r := withIdleLock(t, w, ui.Test).Send(w.clock.Wait(away))
			r.Has("Press any key")
			r.Send(msgs...)
			r.Has("Documents 7f3a", "1 of 3")
			r.HasNot("Press any key", "[ No ]")
			if r.Quit {
				t.Error("it left the console")
			}
		})
	}
}

func TestHeldKeyBehindTheVeil(t *testing.T) {
	w := newWorld()
	r := withIdleLock(t, w, ui.Test).Send(w.clock.Wait(away))
	for range 100 {
		r.Send(uitest.Key("j"), w.clock.Wait(33*time.Millisecond))
	}
	r.Has("1 of 3")
	r.Send(w.clock.Wait(200*time.Millisecond), uitest.Key("j"))
	r.Has("2 of 3")
}

// Open questions lapse, typed text stays.
func TestVeilAndDialogs(t *testing.T) {
	w := newWorld()
	r := withIdleLock(t, w, ui.Production).Send(uitest.Key("x"), w.clock.Wait(armed), uitest.Type("b1"), w.clock.Wait(away))
	r.HasNot("Remove document")
	r.Send(uitest.Key("c"))
	r.Has("The question expired", "Documents 7f3a")
	r.HasNot("[ No ]")
	if len(w.removed) > 0 {
		t.Errorf("removed %v", w.removed)
	}

	r.Send(w.clock.Wait(time.Second), uitest.Key("o"), uitest.Type("4711"), w.clock.Wait(away))
	r.HasNot("4711")
	r.Send(uitest.Key("enter"))
	r.Has("Open an operation", "4711")

	r.Send(w.clock.Wait(time.Second), uitest.Keys("esc"), w.clock.Wait(armed), uitest.Key("y"), uitest.Key("/"), uitest.Type("EUR"), w.clock.Wait(away))
	r.HasNot("EUR")
	r.Send(uitest.Key("esc"))
	r.Has("EUR")
}

// A write continues while the screen is blank, and its outcome is reported afterwards.
func TestVeilAndWrites(t *testing.T) {
	w := newWorld()
	w.slow = 20 * time.Minute
	r := withIdleLock(t, w, ui.Test).Send(w.clock.Wait(time.Hour), uitest.Key("j"), w.clock.Wait(time.Second), uitest.Key("x"), w.clock.Wait(armed), uitest.Key("y"))
	r.Send(w.clock.Wait(away))
	r.Has("Still waiting for answers to sent requests.", "Press any key")
	r.Send(w.clock.Wait(away))
	if len(w.removed) != 1 {
		t.Fatalf("removed %v", w.removed)
	}
	r.HasNot("no longer attached", "awaited")
	r.Send(ui.Toast{Level: ui.Info, Text: "Somebody came."})
	r.Send(w.clock.Wait(time.Hour), uitest.Key("j"))
	r.Has("The document is no longer attached. (1 notice more: !)")
	r.Send(w.clock.Wait(11 * time.Second))
	r.HasNot("no longer attached")
}

// Masked values are masked again, and a question that came meanwhile waits.
func TestVeilMasks(t *testing.T) {
	w := newWorld()
	o := w.options(ui.Test)
	o.IdleLock = 10 * time.Second
	r := w.start(t, o).Send(uitest.Key("M"), w.clock.Wait(10*time.Second))
	if !w.top().env.Masked() {
		t.Error("values are shown on the blank screen")
	}
	r.Send(uitest.Key("j"))
	r.HasNot("revealed")
}

// The veil costs one timer, and none once it is down.
func TestVeilTimers(t *testing.T) {
	w := newWorld()
	r := withIdleLock(t, w, ui.Test)
	for range 500 { // a person at work: keys and notices
		r.Send(uitest.Key("j"), uitest.Key("#"), w.clock.Wait(time.Second))
		if n := w.clock.Pending(); n > 3 {
			t.Fatalf("%d timers are under way", n)
		}
	}
	before := r.Ticks
	r.Send(w.clock.Wait(10 * time.Minute))
	if n := r.Ticks - before; n > 14 { // the age of what is shown, by the minute
		t.Errorf("%d wake-ups in ten minutes", n)
	}
	r.Send(w.clock.Wait(away))
	r.Has("Press any key")
	facts(r, w.clock) // a session that counts down
	before = r.Ticks
	if r.Send(w.clock.Wait(24 * time.Hour)); r.Ticks != before {
		t.Errorf("%d wake-ups on the blank screen", r.Ticks-before)
	}
	if n := w.clock.Pending(); n != 0 {
		t.Errorf("%d timers are under way on the blank screen", n)
	}
}

// Without the setting nothing is ever blanked.
func TestNoVeil(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(w.clock.Wait(24 * time.Hour))
	r.Has("Documents 7f3a")
}

// Who leaves waits for what was sent, and sees it.
func TestVeilWhileLeaving(t *testing.T) {
	w := newWorld()
	w.slow = time.Hour
	r := withIdleLock(t, w, ui.Test).Send(w.clock.Wait(2*time.Hour), uitest.Key("j"), w.clock.Wait(time.Second),
		uitest.Key("x"), w.clock.Wait(armed), uitest.Key("y"), uitest.Key("ctrl+c"), w.clock.Wait(away))
	r.Has("Closing after the answer to")
	if r.Send(w.clock.Wait(time.Hour)); !r.Quit {
		t.Error("it never left")
	}
}

func TestBlankGolden(t *testing.T) {
	for _, g := range []ui.Environment{ui.Sandbox, ui.Production} {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {20, 5}} {
			t.Run(fmt.Sprintf("%s-%dx%d", g.Word(), size[0], size[1]), func(t *testing.T) {
				w := newWorld()
				r := withIdleLock(t, w, g).Send(uitest.Size(size[0], size[1]), w.clock.Wait(away))
				golden.RequireEqual(t, r.View())
			})
		}
	}
	w := newWorld()
	r := withIdleLock(t, w, ui.Test).Send(w.clock.Wait(away))
	for h := 1; h < 30; h += 2 {
		for wd := 1; wd < 130; wd += 7 {
			r.Send(uitest.Size(wd, h))
		}
	}
}
