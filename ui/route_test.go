package ui_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/act"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/uitest"
	"opdeck/ui/widget"
)

func TestStaleAnswersAreDropped(t *testing.T) {
	w := newWorld()
	w.slow = time.Second
	r := w.start(t, w.options(ui.Test)).Send(w.clock.Wait(2 * time.Second))
	f := w.top()
	before := w.reads
	r.Send(uitest.Key("r"), w.clock.Wait(500*time.Millisecond), uitest.Key("r"), w.clock.Wait(700*time.Millisecond))
	if f.load != before {
		t.Errorf("the answer to the older question is shown: %d", f.load)
	}
	r.Has("loading for 1s…")
	r.Send(w.clock.Wait(time.Second))
	if w.reads != before+1 || f.load != w.reads {
		t.Errorf("%d reads reached the service, %d is shown", w.reads-before, f.load)
	}
	r.HasNot("loading")
}

// An answer finds the screen that asked below others; a closed one gets nothing.
func TestAnswersFindTheirScreen(t *testing.T) {
	w := newWorld()
	w.slow = time.Second
	r := w.start(t, w.options(ui.Test))
	docs := w.top()
	r.Send(uitest.Key("5"))
	if w.top().place.Kind != ui.KindLimits {
		t.Fatalf("5 opened %v", w.top().place)
	}
	r.Send(w.clock.Wait(2 * time.Second))
	if docs.load == 0 {
		t.Error("the answer did not find the screen below")
	}
	limits := w.top()
	was := limits.load
	r.Send(uitest.Key("r"), uitest.Key("esc"), w.clock.Wait(2*time.Second))
	if limits.env.Ctx.Err() == nil {
		t.Error("the reads of a closed screen go on")
	}
	if limits.load != was || docs.shown != 1 {
		t.Errorf("closed screen %d, shown again %d times", limits.load, docs.shown)
	}
}

func TestJumpsAndBack(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test))
	r.Has("Operations › Documents 7f3a")
	r.Send(uitest.Key("2")) // the operation whose documents are on screen
	if p := w.top().place; p != (ui.Place{Kind: ui.KindOperation, ID: "7f3a"}) {
		t.Fatalf("2 opened %v", p)
	}
	r.Has("Operations › Documents 7f3a › Operation 7f3a")
	n := len(w.screens)
	r.Send(uitest.Key("3"))
	if len(w.screens) != n {
		t.Error("an open place was opened again")
	}
	r.Has("Operations › Documents 7f3a")
	r.HasNot("› Operation 7f3a")
	r.Send(uitest.Key("esc"))
	r.HasNot("Documents 7f3a")
	r.Send(uitest.Key("q"))
	r.Has("Leave the console?", "[ No ]")
	r.Send(w.clock.Wait(armed), uitest.Key("enter"))
	if r.Quit {
		t.Error("enter left")
	}
	r.Send(uitest.Key("q"), w.clock.Wait(armed), uitest.Key("y"))
	if !r.Quit || w.screens[0].env.Root.Err() == nil {
		t.Error("y did not leave")
	}
}

// 4 is the customer, and from there all customers.
func TestFourAgainIsAllCustomers(t *testing.T) {
	w := newWorld()
	uitest.Drive(t, ui.New(w.options(ui.Test)), uitest.Size(80, 24), uitest.Key("4"))
	if p := w.top().place; p != (ui.Place{Kind: ui.KindCompliance}) {
		t.Fatalf("without a customer 4 opened %v", p)
	}
	w = newWorld()
	o := w.options(ui.Test)
	o.Start = ui.Place{Kind: ui.KindCompliance, ID: "c-17"}
	r := uitest.Drive(t, ui.New(o), uitest.Size(80, 24), uitest.Key("5"), uitest.Key("4"))
	r.Has("Compliance c-17")
	r.Send(uitest.Key("4"))
	if p := w.top().place; p != (ui.Place{Kind: ui.KindCompliance}) {
		t.Fatalf("4 again opened %v", p)
	}
	r.Has("Compliance c-17 › Compliance")
	n := len(w.screens)
	r.Send(uitest.Key("4")) // the customer looked at last
	if len(w.screens) != n {
		t.Error("an open place was opened again")
	}
	r.HasNot("›")
}

// Looking around leaves no trail: one esc leads back to the work.
func TestLookingAround(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(uitest.Keys("5", "6", "7", "6", "8"))
	r.Has("Operations › Documents 7f3a › Audit")
	r.Send(uitest.Key("5"), uitest.Key("/"), uitest.Type("x"), uitest.Key("enter"), uitest.Key("6"))
	r.Has("Discard the filter you typed?", "› Limits")
	r.Send(w.clock.Wait(armed), uitest.Key("n"))
	r.Has("› Limits")
	r.Send(uitest.Key("6"), w.clock.Wait(armed), uitest.Key("y"))
	r.Has("Operations › Documents 7f3a › Session")
	r.Send(uitest.Key("esc"))
	r.Has("Operations › Documents 7f3a ─")
}

func TestTwoNeedsAnOperation(t *testing.T) {
	w := newWorld()
	r := uitest.Drive(t, ui.New(w.options(ui.Test)), uitest.Size(80, 24), uitest.Key("2"))
	r.Has("Open an operation")
	r.Send(uitest.Type("bad/../id"), uitest.Key("enter"))
	r.Has("visible characters")
	r.Send(uitest.Key("ctrl+u"), uitest.Paste("  7f3a-99\n"), uitest.Key("enter"))
	if p := w.top().place; p != (ui.Place{Kind: ui.KindOperation, ID: "7f3a-99"}) {
		t.Errorf("opened %v", p)
	}
}

func TestUnknownPlace(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test))
	w.top().extra = func(m tea.Msg) (ui.Action, tea.Cmd, bool) {
		return ui.Open{Place: ui.Place{Kind: "nowhere"}}, nil, true
	}
	r.Send(uitest.Key("a"))
	r.Has("No screen for this: nowhere.")
}

func TestNoFirstScreen(t *testing.T) {
	w := newWorld()
	o := w.options(ui.Test)
	o.Start = ui.Place{Kind: "nowhere"}
	r := uitest.Drive(t, ui.New(o), uitest.Size(80, 24))
	r.Has("No screen for this: nowhere.")
	r.Send(uitest.Keys("?", ":", "x", "5"))
	r.Has("Limits")
	r = uitest.Drive(t, ui.New(o), uitest.Size(80, 24), uitest.Key("q"), w.clock.Wait(armed), uitest.Key("y"))
	if !r.Quit {
		t.Error("there is no way out")
	}
}

func TestTypedTextIsNotLost(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(uitest.Key("/"), uitest.Type("acme 5q"), uitest.Key("enter"))
	r.Has("Documents 7f3a")
	for _, k := range []string{"q", "1", "esc"} {
		r.Send(uitest.Key(k))
		r.Has("Discard the filter you typed?")
		r.Send(w.clock.Wait(armed), uitest.Key("enter"))
		r.Has("Documents 7f3a")
	}
	r.Send(uitest.Key("ctrl+c"))
	r.Has("Discard the filter you typed?")
	if r.Quit {
		t.Fatal("left with typed text")
	}
	r.Send(w.clock.Wait(armed), uitest.Key("n"), uitest.Key("q"), w.clock.Wait(armed), uitest.Key("y"))
	r.HasNot("Documents 7f3a")
}

func TestInputKeepsTypedText(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test))
	w.top().extra = func(m tea.Msg) (ui.Action, tea.Cmd, bool) {
		k, ok := m.(keymap.Press)
		return ui.Ask{Title: "Attach", Fields: []widget.Field{{Label: "Document id"}}}, nil, ok && k.Name == "a"
	}
	r.Send(uitest.Key("a"), uitest.Type("7f"), uitest.Key("esc"))
	r.Has("Discard the form “Attach”?")
	r.Send(w.clock.Wait(armed), uitest.Key("n"))
	r.Has("Attach", "7f")
	r.Send(uitest.Key("esc"), w.clock.Wait(armed), uitest.Key("y"))
	r.HasNot("Document id")
	r.Send(uitest.Key("a"), uitest.Key("esc"))
	r.HasNot("Discard", "Document id")
}

func TestEscGoesToTheScreenFirst(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(uitest.Key(" "))
	r.Has("1 marked")
	r.Send(uitest.Key("esc"))
	r.Has("Documents 7f3a")
	r.HasNot("1 marked")
	r.Send(uitest.Key("esc"))
	r.HasNot("Documents 7f3a")
}

func TestLeavingAwaitsASentWrite(t *testing.T) {
	w := newWorld()
	w.slow = 3 * time.Second
	r := w.start(t, w.options(ui.Test)).Send(w.clock.Wait(4*time.Second), uitest.Key("x"), w.clock.Wait(armed), uitest.Key("y"), uitest.Key("ctrl+c"))
	r.Has("Closing after the answer to: Remove document")
	if r.Quit || w.top().env.Root.Err() == nil {
		t.Fatal("left too early, or unsent writes go on")
	}
	r.Send(uitest.Keys("ctrl+c", "q", "y"), w.clock.Wait(2*time.Second))
	if r.Quit {
		t.Fatal("left while a write was unanswered")
	}
	if r.Send(w.clock.Wait(2 * time.Second)); !r.Quit || len(w.removed) != 1 {
		t.Errorf("quit %v, removed %v", r.Quit, w.removed)
	}
}

// The outcome of a write is reported after its screen was closed.
func TestOutcomeOfAClosedScreen(t *testing.T) {
	w := newWorld()
	w.slow = time.Second
	r := w.start(t, w.options(ui.Test)).Send(w.clock.Wait(2*time.Second), uitest.Key("x"), w.clock.Wait(armed), uitest.Key("y"), uitest.Key("esc"))
	r.HasNot("no longer attached")
	r.Send(w.clock.Wait(time.Second))
	r.Has("Document 9f1c2d3e-0001-4a5b-8c7d-aaaa0000b1c2 is no longer attached.")
	if n := w.screens[0].news; len(n) != 1 {
		t.Errorf("the screen below received %v", n)
	}
}

func TestFeedsAndNews(t *testing.T) {
	w := newWorld()
	o := w.options(ui.Test)
	n := 0
	var next tea.Cmd
	next = func() tea.Msg {
		if n++; n > 3 {
			return nil
		}
		return ui.StreamMsg{Msg: ui.Changed{Kind: ui.KindOperation, ID: strings.Repeat("a", n)}, Next: next}
	}
	o.Feeds = []tea.Cmd{next}
	r := w.start(t, o)
	if got := strings.Join(w.screens[0].news, ","); got != "a,aa,aaa" {
		t.Errorf("news %q", got)
	}
	r.Send(ui.BudgetFacts{Class: "billing", Goes: w.clock.Now().Add(7 * time.Second)},
		ui.CallFacts{ID: "1", What: "GET operation", Class: "billing", Phase: ui.CallWaits, At: w.clock.Now()},
		ui.CallFacts{ID: "2", What: "DELETE document\x1b[2J", Phase: ui.CallFailed, At: w.clock.Now(), Note: "no answer"}, uitest.Key("!"))
	r.Has("waits 7s", "GET operation", "✗ failed", "DELETE document·[2J", "no answer")
	r.Send(w.clock.Wait(3 * time.Second))
	r.Has("waits 4s")
	r.Send(ui.BudgetFacts{Class: "billing", Goes: w.clock.Now().Add(7 * time.Second)},
		ui.CallFacts{ID: "1", What: "GET operation", Phase: ui.CallDone, At: w.clock.Now()})
	r.Has("✓ done")
	r.Send(uitest.Key("q"))
	r.HasNot("Activity")
}

func TestCopy(t *testing.T) {
	for _, c := range []struct {
		name string
		clip ui.Clip
		err  error
		want string // start of the sequence
		says string
	}{
		{"plain", ui.Clip{}, nil, "\x1b]52;c;", "Sent the document id to the terminal's clipboard."},
		{"tmux", ui.ClipFrom(env("TMUX", "/tmp/x")), nil, "\x1b]52;c;", "tmux passes it on if"},
		{"tmux over SSH", ui.ClipFrom(env("TERM", "tmux-256color")), nil, "\x1b]52;c;", "tmux passes it on if"},
		{"tmux on this host", ui.Clip{Mode: ui.ClipTmux, Buffer: func(context.Context, string) error { return nil }}, nil, "", "Copied the document id to tmux"},
		{"screen", ui.ClipFrom(env("STY", "1.x")), nil, "\x1b]52;c;", "tmux passes it on if"},
		{"failed", ui.Clip{}, errors.New("the terminal is gone"), "\x1b]52;c;", "Not copied: the terminal is gone."},
		{"off", ui.ClipFrom(env("TERM", "dumb")), nil, "", "Not copied: this terminal has no clipboard"},
		{"too long", ui.Clip{Max: 10}, nil, "", "Not copied: 36 B is too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld()
			w.copyErr = c.err
			o := w.options(ui.Test)
			o.Clip = c.clip
			r := w.start(t, o).Send(uitest.Key("y"))
			r.Has(c.says)
			r.HasNot("copied to")
			if c.want == "" != (len(w.copied) == 0) || c.want != "" && !strings.HasPrefix(w.copied[0], c.want) {
				t.Errorf("wrote %q", w.copied)
			}
		})
	}
}

func env(k, v string) func(string) string {
	return func(s string) string {
		if s == k {
			return v
		}
		return ""
	}
}

func TestRawJSON(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(uitest.Key("J"))
	r.Has("Document as sent", `"units": "12345678901234567890"`)
	r.Send(uitest.Key("/"), uitest.Type("nanos"), uitest.Key("enter"))
	r.Has("1/1")
	r.Send(uitest.Key("y"))
	if len(w.copied) != 1 {
		t.Error("the raw document cannot be copied")
	}
	r.Send(uitest.Key("esc"))
	r.Has("Document as sent") // the search went first
	r.Send(uitest.Key("esc"))
	r.HasNot("Document as sent")
}

func TestPalettePressesKeys(t *testing.T) {
	w := newWorld()
	w.commands = []ui.Command{{Title: "Say something", Do: ui.Notify{Text: "something"}}, {Title: "Not now", Why: "There is no reason."}}
	r := w.start(t, w.options(ui.Test)).Send(uitest.Key(":"), uitest.Type("remove the doc"), uitest.Key("enter"))
	r.Has("Remove document", "[ No ]")
	r.Send(w.clock.Wait(armed), uitest.Key("n"), uitest.Key(":"), uitest.Type("go to lim"), uitest.Key("enter"))
	r.Has("Limits")
	r.Send(uitest.Key(":"), uitest.Type("say some"), uitest.Key("enter"))
	r.Has("something")
	r.Send(uitest.Key(":"), uitest.Type("not now"), uitest.Key("enter"))
	r.Has("There is no reason.", "Commands")
}

func TestKeysThatDoNothingSaySo(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(uitest.Key("#"))
	r.Has("# does nothing here")
	r.Send(uitest.Paste("rm -rf"))
	r.Has("Pasted text does nothing here.")
	w.top().keys.Remove.Off("The operation is completed.")
	r.Send(uitest.Key("x"))
	r.Has("The operation is completed.")
	r.Send(uitest.Key("?"))
	r.Has("off: The operation is completed.")
}

// The help shows a reason that switches off several keys once; where there is room
// the help is in columns and is seen whole.
func TestHelpInColumns(t *testing.T) {
	w := newWorld()
	o := w.options(ui.Test)
	o.About.ReadOnly = true
	r := w.start(t, o).Send(uitest.Size(160, 45), uitest.Key("?"))
	r.Has("– x ", "remove the document (asks)", "↑ k ", "end G ")
	if n := strings.Count(r.View(), "off: This context"); n != 1 {
		t.Errorf("the reason is shown %d times\n%s", n, r.View())
	}
	r.HasNot("shows more")
	for _, l := range strings.Split(r.View(), "\n") {
		if strings.Contains(l, "This screen") && (!strings.Contains(l, "Anywhere") || !strings.Contains(l, "Screens")) {
			t.Errorf("not in columns\n%s", r.View())
		}
	}
	r.Send(uitest.Size(80, 24))
	r.Has("shows more")
	r.HasNot("Screens")
	r.Send(uitest.Size(40, 12)) // names take no more than they need: most of a line is the sentence
	for _, l := range strings.Split(r.View(), "\n") {
		if at := strings.Index(l, "remove the document"); at >= 0 && at > 18 {
			t.Errorf("the sentence begins at %d in %q", at, l)
		}
	}
	r.Has("remove the document")
}

// No request outside a command: keys pressed, frames drawn, no command run.
func TestNoRequestInUpdateOrView(t *testing.T) {
	w := newWorld()
	m := tea.Model(ui.New(w.options(ui.Test)))
	m.Init()
	m, _ = m.Update(uitest.Size(80, 24))
	for _, k := range []string{"x", "r", "d", "z", "a", "y", "Y", "J", "esc", "/", "a", "enter", "?", "esc", ":", "esc", "o", "esc", "!", "q", "t", "M", "1", "5", "2", "tab", "q"} {
		m, _ = m.Update(uitest.Key(k))
		_ = m.View()
	}
	if w.reads != 0 || len(w.removed) != 0 || len(w.copied) != 0 {
		t.Errorf("%d reads, %v removed outside a command", w.reads, w.removed)
	}
}

// An attempt at a barred key is reported, once while it is held down; one that the
// screen has switched off is no attempt.
func TestBarredKeysAreExplained(t *testing.T) {
	w := newWorld()
	o := w.options(ui.Test)
	var barred []string
	o.OnBarred = func(a *act.Act, at ui.Place) tea.Cmd {
		barred = append(barred, a.Name+" "+at.Kind)
		return nil
	}
	o.May = func(k keymap.Key) string {
		if k.Act == act.DocumentRemove {
			return "Your role does not allow it."
		}
		return ""
	}
	r := w.start(t, o).Send(uitest.Key("x"), uitest.Burst("jx"), uitest.Key("z"), uitest.Key("#"))
	r.Send(uitest.Key("/"), uitest.Type("xx"), uitest.Key("esc"))
	if got := strings.Join(barred, ", "); got != "document.remove documents" {
		t.Errorf("reported: %s", got)
	}
	for range 20 { // held down
		r.Send(w.clock.Wait(40*time.Millisecond), uitest.Key("x"))
	}
	r.Send(w.clock.Wait(time.Second), uitest.Key("x"), w.clock.Wait(time.Second))
	r.Send(uitest.Key(":"), uitest.Type("remove the doc"), uitest.Key("enter"))
	r.Has("Your role does not allow it.", "Commands")
	if len(barred) != 3 {
		t.Errorf("reported %d times, not for the first, a later press and the palette", len(barred))
	}
}
