package ui_test

import (
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/golden"

	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/uitest"
)

// reason is as long as a refusal gets, its cure at the end.
const reason = "Your role (viewer) may not change documents; operator and admin may. Ask the person who keeps the list of authorized keys for another role, or an operator: opdeck approval list shows who is there."

// last is the line of hints.
func last(r *uitest.Run) string {
	lines := strings.Split(r.View(), "\n")
	return lines[len(lines)-1]
}

// What matters is offered at every width, and whole.
func TestHints(t *testing.T) {
	for _, c := range []struct {
		w     int
		parts []string
	}{
		{80, []string{"enter open", "x remove", "r reload", "? help", ": commands"}},
		{120, []string{"enter open", "x remove", "z restore", "a attach", "u upload", "r reload (billing)", "? help", ": commands"}},
		{60, []string{"enter open", "x remove", "? help", ": commands"}},
		{40, []string{"enter open", "? help", ": commands"}},
		{20, []string{"? help"}},
	} {
		w := newWorld()
		r := w.start(t, w.options(ui.Test)).Send(uitest.Size(c.w, 24))
		for _, p := range c.parts {
			if !strings.Contains(last(r), p) {
				t.Errorf("%d: %q is not in %q", c.w, p, last(r))
			}
		}
	}
	keys := map[string]bool{}
	m := keymap.New()
	for _, k := range keymap.Join(m.Global, m.Documents, m.List, m.Item) {
		keys[k.Binding.Help().Key+" "+k.Binding.Help().Desc] = true
	}
	keys["r reload"], keys["r reload (billing)"] = true, true
	for wd := ui.MinWidth; wd < 200; wd++ {
		w := newWorld()
		r := w.start(t, w.options(ui.Test)).Send(uitest.Size(wd, 24))
		for _, h := range strings.Split(strings.TrimSpace(last(r)), "  ") {
			if h = strings.TrimSpace(h); h != "" && !keys[h] {
				t.Errorf("%d: %q is cut", wd, h)
			}
		}
	}
}

// While text is typed, letters are no keys and are not offered.
func TestHintsWhileTyping(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(uitest.Key("/"))
	for _, h := range []string{"? help", ": commands", "r reload"} {
		if strings.Contains(last(r), h) {
			t.Errorf("%q is offered", h)
		}
	}
}

// A long reason is shown with its cure; no row moves, and the row under the
// cursor stays in sight.
func TestLongNotice(t *testing.T) {
	for name, size := range map[string][2]int{"80x24": {80, 24}, "120x40": {120, 40}, "40x12": {40, 12}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			r := w.start(t, w.options(ui.Test)).Send(uitest.Size(size[0], size[1]))
			before := strings.Split(r.View(), "\n")
			r.Send(ui.Toast{Level: ui.Denied, Text: reason})
			golden.RequireEqual(t, r.View())
			after := strings.Split(r.View(), "\n")
			for i := range before[:len(before)-5] {
				if before[i] != after[i] {
					t.Errorf("line %d moved: %q, before %q", i+1, after[i], before[i])
				}
			}
			if size[0] >= 80 && !strings.Contains(strings.Join(strings.Fields(r.View()), " "), "shows who is there.") {
				t.Error("the cure is not on screen")
			}
			r.Send(w.clock.Wait(11 * 1e9))
			r.HasNot("Your role")
		})
	}
}

// The cursor at the bottom: the notice goes to the top.
func TestLongNoticeOverTheCursor(t *testing.T) {
	w := newWorld()
	o := w.options(ui.Production)
	r := w.start(t, o)
	rows := strings.Repeat("row\n", 17) + "▌ the row under the cursor\n  17 of 17"
	w.top().extra = func(tea.Msg) (ui.Action, tea.Cmd, bool) { return nil, nil, false }
	w.top().frame = rows
	r.Send(ui.Toast{Level: ui.Warning, Text: reason})
	r.Has("▌ the row under the cursor", "17 of 17", "shows who is there.")
	golden.RequireEqual(t, r.View())
}

// Nothing covers a question.
func TestLongNoticeBesideAQuestion(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(uitest.Key("x"), w.clock.Wait(armed))
	before := strings.Split(r.View(), "\n")
	after := strings.Split(r.Send(ui.Toast{Level: ui.Denied, Text: reason}).View(), "\n")
	for i := range before {
		if i != len(before)-2 && before[i] != after[i] {
			t.Errorf("line %d is covered: %q", i+1, after[i])
		}
	}
}

// TestAnOutageIsSaid as long as it lasts, and a notice of the moment goes before it.
func TestAnOutageIsSaid(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(uitest.Size(80, 24))
	const why = "The name stage.example.com cannot be looked up. B shows more."
	r.Send(ui.SessionFacts{State: "none"})
	r.HasNot(why)
	r.Send(found(w, "01 DNS"))
	r.Has(why)
	r.Send(uitest.Key("#"))
	r.Has("# does nothing here")
	r.HasNot(why)
	r.Send(w.clock.Wait(time.Minute))
	r.Has(why)
	r.Send(found(w, "nothing wrong"))
	r.HasNot("B shows more")
}
