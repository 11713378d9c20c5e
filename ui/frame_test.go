package ui_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aymanbagabas/go-osc52/v2"
	"github.com/charmbracelet/x/exp/golden"
	"github.com/muesli/termenv"

	"opdeck/internal/domain/verdict"
	"opdeck/internal/domain/verdict/verdicttest"
	"opdeck/ui"
	"opdeck/ui/theme"
	"opdeck/ui/uitest"
)

func TestGolden(t *testing.T) {
	for _, look := range []struct {
		name    string
		profile termenv.Profile
		palette theme.Palette
	}{{"mono", termenv.Ascii, theme.Mono()}, {"dark", termenv.TrueColor, theme.Night()}} {
		for _, size := range [][2]int{{80, 24}, {120, 40}} {
			for _, page := range []string{"screen", "help", "question", "palette", "activity", "input"} {
				t.Run(look.name+"/"+sizeName(size)+"/"+page, func(t *testing.T) {
					w := newWorld()
					o := w.options(ui.Production)
					o.Theme = theme.New(uitest.Renderer(look.profile), look.palette)
					r := w.start(t, o)
					facts(r, w.clock)
					r.Send(uitest.Size(size[0], size[1]), w.clock.Wait(12*time.Second))
					switch page {
					case "help":
						r.Send(uitest.Key("?"))
					case "question":
						r.Send(uitest.Key("x"))
					case "palette":
						r.Send(uitest.Key(":"))
					case "activity":
						r.Send(uitest.Key("#"), uitest.Key("!"))
					case "input":
						r.Send(uitest.Key("o"))
					}
					golden.RequireEqual(t, r.View())
				})
			}
		}
	}
}

func sizeName(s [2]int) string {
	if s[0] == 80 {
		return "80x24"
	}
	return "120x40"
}

// Every size, with and without each dialog; Drive checks each frame.
func TestAllSizes(t *testing.T) {
	for _, open := range []string{"", "x", "?", ":", "o", "!", "J", "q"} {
		w := newWorld()
		r := w.start(t, w.options(ui.Production))
		facts(r, w.clock)
		if open != "" {
			r.Send(uitest.Key(open))
		}
		for h := 1; h <= 24; h++ {
			for wd := 1; wd <= 100; wd += 1 + wd/20 {
				r.Send(uitest.Size(wd, h))
			}
		}
		r.Send(uitest.Size(300, 100), uitest.Size(500, 200), uitest.Size(1, 1), uitest.Size(80, 24))
		r.Has("PRODUCTION", "billing 9 left of 12")
	}
}

// On a dumb terminal or the Linux console the console's own signs are ASCII.
func TestOnlyASCII(t *testing.T) {
	for _, open := range []string{"x", "?", ":", "o", "!", "J", "y"} {
		w := newWorld()
		o := w.options(ui.Production)
		o.Theme = theme.For(uitest.Renderer(termenv.TrueColor), "dark", true, false, "dumb")
		r := w.start(t, o)
		facts(r, w.clock)
		r.Send(uitest.Key(open))
		for _, c := range r.View() {
			if c != '\n' && (c < 0x20 || c > 0x7e) {
				t.Fatalf("%s: %q in\n%s", open, c, r.View())
			}
		}
	}
}

func TestResizeStorm(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(uitest.Key("x"))
	reads := w.reads
	for i := range 200 {
		r.Send(uitest.Size(1+i*37%300, 1+i*13%100))
	}
	if w.reads != reads {
		t.Errorf("%d reads because the window changed", w.reads-reads)
	}
	r.Send(uitest.Size(0, 0))
	if r.View() != "" {
		t.Errorf("a window of nothing shows %q", r.View())
	}
	r.Send(uitest.Size(80, 24))
	r.Has("Remove document")
}

// What must always be on screen, at every size that is drawn in full.
func TestAlwaysVisible(t *testing.T) {
	for _, size := range [][2]int{{20, 5}, {40, 8}, {60, 20}, {80, 24}, {200, 50}} {
		w := newWorld()
		o := w.options(ui.Production)
		o.About.ReadOnly = true
		r := w.start(t, o)
		facts(r, w.clock)
		r.Send(uitest.Size(size[0], size[1]), w.clock.Wait(20*time.Second))
		r.Has("PRODUCTION", "READ-ONLY", "Doc", "9", "3", "20s", "?")
		if size[0] >= 40 {
			r.Has("9 left")
		}
	}
	for g, frame := range map[ui.Environment]string{ui.Sandbox: "┄┄", ui.Test: "──", ui.Production: "━━"} {
		w := newWorld()
		r := w.start(t, w.options(g))
		r.Has(g.Word(), frame)
	}
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(uitest.Size(19, 5))
	if v := r.View(); !strings.HasPrefix(v, "Window too small") || strings.Count(v, "\n") != 4 {
		t.Errorf("%q", v)
	}
}

// The clock: nothing ticks when nothing counts, and a countdown ticks only when
// its text changes.
func TestTicks(t *testing.T) {
	w := newWorld()
	r := uitest.Drive(t, ui.New(w.options(ui.Test)), uitest.Size(80, 24))
	w.screens[0].at = time.Time{} // nothing on screen has an age
	r.Send(w.clock.Wait(time.Hour))
	before := r.Ticks
	if r.Send(w.clock.Wait(24 * time.Hour)); r.Ticks != before {
		t.Errorf("%d ticks while nothing counts", r.Ticks-before)
	}
	r.Send(ui.SessionFacts{State: "live", AccessUntil: w.clock.Now().Add(5 * time.Minute)})
	r.Has("access 5m")
	before = r.Ticks
	r.Send(w.clock.Wait(4 * time.Minute))
	if n := r.Ticks - before; n > 26 {
		t.Errorf("%d ticks in four minutes of tens of seconds", n)
	}
	r.Has("access 1m")
	before = r.Ticks
	r.Send(w.clock.Wait(30 * time.Second))
	r.Has("access 30s")
	if n := r.Ticks - before; n < 29 || n > 31 {
		t.Errorf("%d ticks in thirty seconds of seconds", n)
	}
	before = r.Ticks
	r.Send(w.clock.Wait(time.Hour))
	r.Has("access 0s")
	if n := r.Ticks - before; n > 31 || w.clock.Pending() != 0 {
		t.Errorf("%d ticks after the end, %d pending", n, w.clock.Pending())
	}
}

func TestRevealEndsByItself(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test))
	e := w.top().env
	if !e.Masked() {
		t.Fatal("not masked at first")
	}
	r.Send(uitest.Key("M"))
	r.Has("revealed 30s")
	if e.Masked() {
		t.Error("M does not reveal")
	}
	r.Send(w.clock.Wait(29 * time.Second))
	r.Has("revealed 1s")
	r.Send(w.clock.Wait(time.Second))
	r.HasNot("revealed")
	if !e.Masked() {
		t.Error("still revealed after 30 s")
	}
}

// TestRawIsMasked: what shows and copies JSON masks it as all else is masked at that
// time, whatever screen opened it.
func TestRawIsMasked(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(uitest.Key("J"))
	r.Has(`"passport": "••••20"`)
	r.Send(uitest.Key("y"))
	if want := osc52.New(`{"item":{"units":"12345678901234567890","nanos":5},"passport":"••••20"}`).String(); len(
		w.copied) != 1 || w.copied[0] != want {
		t.Errorf("copied %q", w.copied)
	}
	r.Send(uitest.Keys("esc", "M", "J"))
	r.Has(`"passport": "P-771-20"`)
	r.Send(w.clock.Wait(30 * time.Second))
	r.HasNot("P-771-20")
	r.Has(`"passport": "••••20"`)
}

func TestZone(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(uitest.Key("t"))
	if e := w.top().env; e.Zone() != time.UTC {
		t.Errorf("zone %v", e.Zone())
	}
	r.Send(uitest.Key("t"))
	r.Has("Times are now local (CET, +01:00).")
}

// found is what follows from an incident, read now.
func found(w *world, incident string) ui.VerdictFacts {
	return ui.VerdictFacts{Verdict: verdict.Conclude(verdicttest.Incidents()[incident].Facts), Read: w.clock.Now()}
}

// TestAFindingIsShownOnce: its notice is not above the screen that prints it, also if that was opened after it.
func TestAFindingIsShownOnce(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(uitest.Size(120, 24), found(w, "43 no webhooks"))
	r.Has("No webhook has arrived since")
	r.Send(uitest.Key("7"))
	r.HasNot("No webhook has arrived since")
	r.Send(uitest.Key("1"))
	r.Has("No webhook has arrived since")
}

func TestHeaderShowsTrouble(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(uitest.Size(120, 24), ui.SessionFacts{State: "blocked"},
		found(w, "43 no webhooks"),
		ui.BudgetFacts{Class: "billing", Room: 0, Limit: 12, NextSlot: w.clock.Now().Add(4 * time.Second), Throttled: 1})
	r.Has("session blocked", "! webhooks", "billing 0 left of 12, next call in 4s, refused (429)", "No webhook has arrived since")
	r.Send(w.clock.Wait(2 * time.Second))
	r.Has("next call in 2s")
	r.Send(found(w, "02 refused"), w.clock.Wait(time.Minute))
	r.Has("✗ service", "stage.example.com refuses connections. B shows more.")
	r.Send(found(w, "58 budget"))
	r.HasNot("✗ service", "refuses connections. B")
	r.Has("Ended: stage.example.com refuses connections.")
	r.Send(ui.Approvals{Waiting: 2})
	r.Has("2 to approve")
	r.Send(uitest.Size(50, 24))
	r.Has("!2")
	r.Send(uitest.Size(120, 24), ui.Approvals{})
	r.HasNot("to approve")
	o := w.options(ui.Test)
	o.About.Context = "st\x1b]0;x\a"
	o.About.Person = "a\u202eb"
	w = newWorld()
	o.Make = w.make
	w.start(t, o).Has("st·]0;x·", "a·b")
}
