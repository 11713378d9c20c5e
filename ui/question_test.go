package ui_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui"
	"opdeck/ui/uitest"
	"opdeck/ui/widget"
)

const armed = 400 * time.Millisecond

// Every way a yes can be faked. None of them removes anything.
func TestNoFakedYes(t *testing.T) {
	for name, fake := range map[string]func(*uitest.Clock) []tea.Msg{
		"enter":                 func(c *uitest.Clock) []tea.Msg { return []tea.Msg{c.Wait(armed), uitest.Key("enter")} },
		"n":                     func(c *uitest.Clock) []tea.Msg { return []tea.Msg{c.Wait(armed), uitest.Key("n"), uitest.Key("y")} },
		"esc":                   func(c *uitest.Clock) []tea.Msg { return []tea.Msg{c.Wait(armed), uitest.Key("esc"), uitest.Key("y")} },
		"too early":             func(c *uitest.Clock) []tea.Msg { return []tea.Msg{c.Wait(armed - 1), uitest.Key("y")} },
		"too early, then enter": func(c *uitest.Clock) []tea.Msg { return []tea.Msg{uitest.Keys("y", "tab", "enter")} },
		"bracketed paste":       func(c *uitest.Clock) []tea.Msg { return []tea.Msg{c.Wait(armed), uitest.Paste("y")} },
		"paste with a line end": func(c *uitest.Clock) []tea.Msg { return []tea.Msg{c.Wait(armed), uitest.Paste("y\n")} },
		"paste of the id": func(c *uitest.Clock) []tea.Msg {
			return []tea.Msg{c.Wait(armed), uitest.Paste("9f1c2d3e-0001-4a5b-8c7d-aaaa0000b1c2\n")}
		},
		"unbracketed paste early": func(c *uitest.Clock) []tea.Msg { return []tea.Msg{uitest.Keys("y", "enter")} },
		"quick yes":               func(c *uitest.Clock) []tea.Msg { return []tea.Msg{c.Wait(armed), uitest.Burst("yes")} },
		"title report": func(c *uitest.Clock) []tea.Msg {
			return []tea.Msg{c.Wait(armed), uitest.Alt(']'), uitest.Burst("ly"), uitest.Alt('\\')}
		},
		"icon label": func(c *uitest.Clock) []tea.Msg {
			return []tea.Msg{c.Wait(armed), uitest.Alt(']'), uitest.Burst("LDELETE"), uitest.Alt('\\'), uitest.Key("enter")}
		},
		"OSC 52 answer": func(c *uitest.Clock) []tea.Msg {
			return []tea.Msg{c.Wait(armed), uitest.Alt(']'), uitest.Burst("52;c;eQ=="), tea.KeyMsg{Type: tea.KeyCtrlG}}
		},
		"answer in pieces": func(c *uitest.Clock) []tea.Msg {
			return []tea.Msg{c.Wait(armed), uitest.Alt(']'), uitest.Key("l"), uitest.Key("y"), uitest.Alt('\\')}
		},
		"alt y":               func(c *uitest.Clock) []tea.Msg { return []tea.Msg{c.Wait(armed), uitest.Alt('y')} },
		"capital":             func(c *uitest.Clock) []tea.Msg { return []tea.Msg{c.Wait(armed), uitest.Key("Y")} },
		"the opening key":     func(c *uitest.Clock) []tea.Msg { return []tea.Msg{c.Wait(armed), uitest.Keys("x", "x", "x")} },
		"tab and back, enter": func(c *uitest.Clock) []tea.Msg { return []tea.Msg{c.Wait(armed), uitest.Keys("tab", "tab", "enter")} },
		"in a window too small": func(c *uitest.Clock) []tea.Msg {
			return []tea.Msg{c.Wait(armed), uitest.Size(19, 5), c.Wait(time.Second), uitest.Keys("y", "tab", "enter")}
		},
		"in one that was too small": func(c *uitest.Clock) []tea.Msg {
			return []tea.Msg{c.Wait(armed), uitest.Size(1, 1), c.Wait(time.Second), uitest.Size(80, 24), uitest.Key("y")}
		},
		"another layout's y": func(c *uitest.Clock) []tea.Msg { return []tea.Msg{c.Wait(armed), uitest.Keys("н", "υ", "ט")} },
		"held key": func(c *uitest.Clock) []tea.Msg {
			var out []tea.Msg
			for range 200 { // 30 a second, from before the question opened
				out = append(out, uitest.Key("y"), c.Wait(33*time.Millisecond))
			}
			return out
		},
		"two thousand keys in a second": func(c *uitest.Clock) []tea.Msg {
			var out []tea.Msg
			for range 2_000 {
				out = append(out, uitest.Key("y"), c.Wait(500*time.Microsecond))
			}
			return out
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			r := w.start(t, w.options(ui.Test))
			r.Send(uitest.Key("x"))
			r.Has("Remove document", "9f1c2d3e-0001-4a5b-8c7d-aaaa0000b1c2", "1.2 MB", "[ No ]", "keys are ignored")
			r.Send(fake(w.clock)...)
			if len(w.removed) != 0 {
				t.Errorf("removed %v", w.removed)
			}
		})
	}
}

// TestNothingIsPressedUnseen: in a window that shows nothing a key opens nothing and moves
// nothing; ctrl+c still leaves.
func TestNothingIsPressedUnseen(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test))
	before := r.View()
	r.Send(uitest.Size(19, 24), uitest.Keys("x", "j", "?", ":", "q"), w.clock.Wait(time.Second), uitest.Size(80, 24))
	r.Same(before)
	r.Send(uitest.Size(80, 4), uitest.Key("ctrl+c"))
	if !r.Quit {
		t.Error("ctrl+c does not leave")
	}
}

func TestYes(t *testing.T) {
	for name, yes := range map[string][]tea.Msg{
		"y": {uitest.Key("y")}, "tab, enter": {uitest.Keys("tab", "enter")}, "arrow, enter": {uitest.Keys("right", "enter")},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			r := w.start(t, w.options(ui.Test)).Send(uitest.Key("x"), w.clock.Wait(armed))
			r.HasNot("keys are ignored")
			r.Send(yes...)
			if len(w.removed) != 1 || w.removed[0] != "9f1c2d3e-0001-4a5b-8c7d-aaaa0000b1c2" {
				t.Fatalf("removed %v", w.removed)
			}
			r.Has("The document is no longer attached.")
			for _, f := range w.screens { // the news reached every screen
				if len(f.news) != 1 || f.news[0] != "7f3a" {
					t.Errorf("%s received %v", f.place.Kind, f.news)
				}
			}
			r.Send(uitest.Keys("y", "y", "enter"))
			if len(w.removed) != 1 {
				t.Error("one yes, two writes")
			}
		})
	}
}

// A held y that began long after the question opened is one yes.
func TestHeldYesWritesOnce(t *testing.T) {
	w := newWorld()
	w.slow = time.Second
	r := w.start(t, w.options(ui.Test)).Send(w.clock.Wait(2*time.Second), uitest.Key("x"), w.clock.Wait(armed))
	for range 300 {
		r.Send(uitest.Key("y"))
	}
	if r.Send(w.clock.Wait(5 * time.Second)); len(w.removed) != 1 {
		t.Errorf("removed %v", w.removed)
	}
}

func TestTypedInProduction(t *testing.T) {
	pace := func(c *uitest.Clock, s string) []tea.Msg {
		var out []tea.Msg
		for _, r := range s {
			out = append(out, uitest.Key(string(r)), c.Wait(150*time.Millisecond))
		}
		return out
	}
	for _, c := range []struct {
		name  string
		keys  func(*uitest.Clock) []tea.Msg
		wrote bool
	}{
		{"y is not enough", func(c *uitest.Clock) []tea.Msg { return append(pace(c, "y"), uitest.Key("enter")) }, false},
		{"four characters, enter", func(c *uitest.Clock) []tea.Msg { return append(pace(c, "b1c2"), uitest.Key("enter")) }, true},
		{"corrected", func(c *uitest.Clock) []tea.Msg {
			return append(append(pace(c, "b1cx"), uitest.Key("backspace")), append(pace(c, "2"), uitest.Key("enter"))...)
		}, true},
		{"wrong characters", func(c *uitest.Clock) []tea.Msg { return append(pace(c, "c3d4"), uitest.Keys("tab", "enter")) }, false},
		{"wrong case", func(c *uitest.Clock) []tea.Msg { return append(pace(c, "B1C2"), uitest.Keys("tab", "enter")) }, false},
		{"too many", func(c *uitest.Clock) []tea.Msg { return append(pace(c, "b1c22"), uitest.Key("enter")) }, false},
		{"back to no", func(c *uitest.Clock) []tea.Msg { return append(pace(c, "b1c2"), uitest.Keys("tab", "enter")) }, false},
		{"pasted", func(c *uitest.Clock) []tea.Msg {
			return []tea.Msg{uitest.Paste("b1c2"), c.Wait(time.Second), uitest.Keys("tab", "enter")}
		}, false},
		{"in one burst", func(c *uitest.Clock) []tea.Msg {
			return []tea.Msg{uitest.Burst("b1c2"), c.Wait(time.Second), uitest.Keys("tab", "enter")}
		}, false},
		{"pasted without brackets, byte by byte", func(c *uitest.Clock) []tea.Msg { return []tea.Msg{uitest.Type("b1c2"), uitest.Key("enter")} }, false},
		{"before it is armed", func(c *uitest.Clock) []tea.Msg { return nil }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld()
			r := w.start(t, w.options(ui.Production)).Send(uitest.Key("x"))
			if c.name == "before it is armed" {
				r.Send(uitest.Type("b1c2"), uitest.Key("enter"))
			}
			r.Send(w.clock.Wait(armed), w.clock.Wait(0))
			r.Has("Type the last 4 characters of the document id:", "aaaa0000[b1c2]", "type 4 characters, then enter: Remove", "esc No")
			r.Send(c.keys(w.clock)...)
			if (len(w.removed) == 1) != c.wrote {
				t.Errorf("removed %v\n%s", w.removed, r.View())
			}
		})
	}
}

// The answer is about what was shown, whatever became of the row since.
func TestQuestionKeepsItsTarget(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(uitest.Key("x"))
	f := w.top()
	f.table.SetSource(docs{"0000-new-row", "9f1c2d3e-0002-4a5b-8c7d-bbbb0000c3d4"})
	r.Send(w.clock.Wait(armed), uitest.Key("y"))
	if len(w.removed) != 1 || w.removed[0] != "9f1c2d3e-0001-4a5b-8c7d-aaaa0000b1c2" {
		t.Errorf("removed %v", w.removed)
	}
	if len(f.seen) != 1 || len(f.seen[0].Digest) != 64 {
		t.Errorf("seen %v", f.seen)
	}
}

type actionMsg struct {
	ui.Ticket
	a ui.Action
}

// The screen can take the question away when the content changes.
func TestWithdraw(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(uitest.Key("x"), w.clock.Wait(armed), uitest.Key("tab"))
	f := w.top()
	f.extra = func(m tea.Msg) (ui.Action, tea.Cmd, bool) {
		p, ok := m.(actionMsg)
		return p.a, nil, ok
	}
	c := f.ask().(ui.Confirm)
	r.Send(actionMsg{f.env.Ticket(), ui.Withdraw{ID: "another", Why: "no"}})
	r.Has("Remove document")
	r.Send(actionMsg{f.env.Ticket(), ui.Withdraw{ID: c.ID, Why: "Somebody else removed it meanwhile."}})
	r.HasNot("Remove document", "[ No ]")
	r.Has("Somebody else removed it meanwhile.")
	r.Send(uitest.Keys("y", "enter"))
	if len(w.removed) != 0 {
		t.Fatal("a question that was taken away was answered")
	}
	// A screen that is not on top cannot ask.
	w.screens[0].extra = f.extra
	r.Send(actionMsg{w.screens[0].env.Ticket(), c})
	r.HasNot("[ No ]")
}

func TestLockedIsExplained(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test))
	w.top().locked = "The compliance team locked it on 2 March; only they can lift the lock."
	r.Send(uitest.Key("x"))
	r.Has("This document is locked", "only they can lift")
	r.HasNot("[ No ]")
	r.Send(w.clock.Wait(time.Second), uitest.Key("y"))
	r.Has("This document is locked")
	r.Send(uitest.Key("enter"))
	r.HasNot("This document is locked")
	if len(w.removed) != 0 {
		t.Error("a locked document was removed")
	}
}

func TestReadOnlyOffersNoWrite(t *testing.T) {
	w := newWorld()
	o := w.options(ui.Production)
	o.About.ReadOnly = true
	r := w.start(t, o)
	r.Has("PRODUCTION", "READ-ONLY")
	r.HasNot("x remove")
	r.Send(uitest.Key("x"))
	r.Has("read-only")
	r.Send(w.clock.Wait(armed), uitest.Key("y"))
	r.HasNot("[ No ]")
	if len(w.removed) != 0 {
		t.Error("something was removed")
	}
	r.Send(uitest.Key(":"), uitest.Type("remove"))
	r.Has("off: This context is read-only")
	r.Send(uitest.Key("enter"))
	r.HasNot("[ No ]")
}

// unread reports whether a part of the open question was not shown yet.
func unread(r *uitest.Run) bool {
	return strings.Contains(r.View(), "pgdown shows") || strings.Contains(r.View(), "pgdown: rest")
}

// toTheEnd shows the rest of an open question.
func toTheEnd(r *uitest.Run, clock *uitest.Clock) (shown string) {
	for range 200 {
		if shown += r.View(); !unread(r) {
			break
		}
		r.Send(uitest.Key("pgdown"))
	}
	r.Send(clock.Wait(armed))
	return shown
}

// TestYesNeedsAllThatIsAsked: in any window and for any number of facts there is no yes before the last line of a
// question was shown, the question says how to see it, and no line is skipped on the way.
func TestYesNeedsAllThatIsAsked(t *testing.T) {
	for _, size := range [][2]int{{20, 5}, {20, 9}, {40, 12}, {80, 24}, {120, 40}} {
		for _, facts := range []int{0, 3, 12, 60} {
			for _, ground := range []ui.Environment{ui.Test, ui.Production} {
				t.Run(fmt.Sprint(size, facts, ground), func(t *testing.T) {
					w := newWorld()
					for i := range facts {
						w.further = append(w.further, widget.Pair{Label: "of", Value: fmt.Sprintf("(%d)", i)})
					}
					last := fmt.Sprintf("(%d)", facts-1)
					if facts == 0 {
						last = "1.2 MB"
					}
					r := w.start(t, w.options(ground)).Send(uitest.Size(size[0], size[1]), uitest.Key("x"), w.clock.Wait(armed))
					answer := func() {
						if ground != ui.Production {
							r.Send(uitest.Key("tab"), uitest.Key("tab"), uitest.Key("y"))
							return
						}
						for _, c := range "b1c2" {
							r.Send(uitest.Key(string(c)), w.clock.Wait(150*time.Millisecond))
						}
						r.Send(uitest.Key("tab"), uitest.Key("tab"))
					}
					if !strings.Contains(r.View(), last) && !strings.Contains(r.View(), "pgdown") {
						t.Errorf("a part is hidden, and nothing says how to see it:\n%s", r.View())
					}
					shown := r.View()
					if unread(r) {
						answer()
						if len(w.removed) != 0 {
							t.Fatalf("yes, although %q was not shown:\n%s", last, shown)
						}
					}
					shown += toTheEnd(r, w.clock)
					for i := range facts {
						if n := fmt.Sprintf("(%d)", i); !strings.Contains(shown, n) {
							t.Errorf("%s was never shown", n)
						}
					}
					if !strings.Contains(shown, last) {
						t.Errorf("%q was never shown:\n%s", last, r.View())
					}
					if r.Send(uitest.Key("pgup")); ground == ui.Production {
						answer()
						r.Send(uitest.Key("enter"))
					} else {
						r.Send(uitest.Key("y"))
					}
					if len(w.removed) != 1 {
						t.Errorf("no yes after all was shown:\n%s", r.View())
					}
				})
			}
		}
	}
}

// TestYesWaitsForTheRestInAnotherWindow: what was shown stays read; what was not is not by another size.
func TestYesWaitsForTheRestInAnotherWindow(t *testing.T) {
	for first, yes := range map[[2]int]int{{120, 40}: 1, {40, 12}: 0} {
		w := newWorld()
		r := w.start(t, w.options(ui.Test)).Send(uitest.Size(first[0], first[1]), uitest.Key("x"), w.clock.Wait(armed),
			uitest.Size(30, 10), w.clock.Wait(time.Second), uitest.Key("y"))
		if len(w.removed) != yes {
			t.Errorf("from %v: removed %v\n%s", first, w.removed, r.View())
		}
	}
}

// At the smallest size the question still shows its id, the field and the answers.
func TestSmallQuestion(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Production)).Send(uitest.Size(20, 5), uitest.Key("x"), w.clock.Wait(armed))
	r.Has("Remove 9f1c2", "b1c2?", "Last 4 of id:", "[ No ]", "PRODUCTION", "pgdown")
	toTheEnd(r, w.clock)
	for _, c := range "b1c2" {
		r.Send(uitest.Key(string(c)), w.clock.Wait(150*time.Millisecond))
	}
	r.Has("b1c2")
	if r.Send(uitest.Key("enter")); len(w.removed) != 1 {
		t.Errorf("removed %v", w.removed)
	}
}

func TestIDThatCannotBeTyped(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Production))
	f := w.top()
	f.table.SetSource(docs{"bad\u202eid"})
	r.Send(uitest.Key("x"), w.clock.Wait(armed))
	r.Has("cannot be typed")
	r.Send(uitest.Keys("tab", "enter"))
	if len(w.removed) != 0 || strings.Contains(r.View(), "\u202e") {
		t.Errorf("removed %q\n%s", w.removed, r.View())
	}
}
