package ui_test

import (
	"fmt"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/uitest"
)

// TestEscAtTheRoot: on every screen esc takes back what is open there, and at the root
// it does nothing; only q asks to leave.
func TestEscAtTheRoot(t *testing.T) {
	for _, kind := range []string{ui.KindOperations, ui.KindCompliance, ui.KindLimits, ui.KindSession, ui.KindEvents, ui.KindAudit} {
		w := newWorld()
		o := w.options(ui.Production)
		o.Start = ui.Place{Kind: kind}
		r := uitest.Drive(t, ui.New(o), uitest.Size(80, 24), uitest.Key(" "))
		r.Has("1 marked")
		r.Send(uitest.Key("esc"))
		r.HasNot("1 marked", "q leaves")
		r.Send(uitest.Keys("esc", "esc"))
		r.Has("q leaves")
		r.HasNot("Leave the console?")
		r.Send(uitest.Keys(":", "esc", "5"))
		r.Send(uitest.Key("esc"), uitest.Key("esc"), uitest.Key("q"))
		r.Has("Leave the console?")
	}
}

// TestLeavingYields: a key that is no answer closes the question about leaving and does
// what it does, also before the question takes answers; a paste or burst never does.
func TestLeavingYields(t *testing.T) {
	for _, wait := range []time.Duration{0, armed} {
		w := newWorld()
		r := uitest.Drive(t, ui.New(w.options(ui.Test)), uitest.Size(80, 24), uitest.Key("q"), w.clock.Wait(wait), uitest.Key("5"))
		r.HasNot("Leave the console?")
		r.Has("› Limits")
		r.Send(uitest.Keys("esc", "q"), w.clock.Wait(wait), uitest.Key("j"))
		r.HasNot("Leave the console?")
		r.Has("2 of 3")
		r.Send(uitest.Key("q"), w.clock.Wait(wait), uitest.Burst("j5"))
		r.Has("Leave the console?")
		r.Send(w.clock.Wait(armed), uitest.Paste("5"))
		r.Has("Leave the console?")
		r.Send(w.clock.Wait(armed), uitest.Keys("q", "q"))
		r.Has("Leave the console?")
		if r.Send(uitest.Key("esc")); r.Quit {
			t.Error("left")
		}
	}
}

// TestAWriteNeverYields: the question about a write stays, whatever is pressed.
func TestAWriteNeverYields(t *testing.T) {
	for _, wait := range []time.Duration{0, armed} {
		w := newWorld()
		r := w.start(t, w.options(ui.Test)).Send(uitest.Key("x"), w.clock.Wait(wait), uitest.Keys("5", "j", "o", ":", "[", ">"))
		r.Has("Remove document", "[ No ]")
		r.Send(w.clock.Wait(armed), uitest.Burst("5j"))
		r.Has("Remove document", "[ No ]")
		if len(w.removed) > 0 {
			t.Errorf("removed %v", w.removed)
		}
	}
}

// TestBackAndForward goes where the person was, and forward again.
func TestBackAndForward(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(uitest.Key("5"), uitest.Key("esc"), uitest.Key("esc"))
	r.HasNot("›")
	for _, want := range []string{"Documents 7f3a", "Limits", "Documents 7f3a", "── Operations ─"} {
		r.Send(uitest.Key("["))
		r.Has(want)
	}
	r.Send(uitest.Key("["))
	r.Has("No previous screen.")
	r.Send(uitest.Keys("]", "]"))
	r.Has("› Limits")
	r.Send(uitest.Key("6")) // elsewhere: what lay ahead is forgotten
	r.Has("› Session")
	r.Send(uitest.Key("]"))
	r.Has("No next screen")
	r.Send(uitest.Key("["))
	r.Has("› Limits")
}

// TestBackAsksAboutTypedText: the way back continues only with a yes.
func TestBackAsksAboutTypedText(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(uitest.Key("/"), uitest.Type("acme"), uitest.Keys("enter", "["))
	r.Has("Discard the filter you typed?")
	r.Send(w.clock.Wait(armed), uitest.Key("n"), uitest.Key("["))
	r.Has("Discard the filter you typed?")
	r.Send(w.clock.Wait(armed), uitest.Key("y"))
	r.HasNot("Documents 7f3a")
	r.Send(uitest.Key("]"))
	r.Has("Documents 7f3a")
}

// rows makes the fake screen at the root a list of operations that opens them.
func (w *world) rows(t *testing.T) *uitest.Run {
	r := uitest.Drive(t, ui.New(w.options(ui.Test)), uitest.Size(80, 24))
	w.screens[0].lists = true
	w.screens[0].extra = func(m tea.Msg) (ui.Action, tea.Cmd, bool) {
		f := w.screens[0]
		if k, ok := m.(keymap.Press); ok && (k.Name == "enter" || k.Name == "d") {
			kind := map[string]string{"enter": ui.KindOperation, "d": ui.KindDocuments}[k.Name]
			return ui.Open{Place: ui.Place{Kind: kind, ID: f.table.Cursor.SelectedID()}}, nil, true
		}
		return nil, nil, false
	}
	return r
}

// TestNextAndPrevious moves through a list from inside one of its records, in whatever
// place of that object; the cursor of the list moves along.
func TestNextAndPrevious(t *testing.T) {
	for _, open := range []string{"enter", "d"} {
		w := newWorld()
		r := w.rows(t).Send(uitest.Key(open))
		kind := w.top().place.Kind
		at := func(n int) {
			t.Helper()
			want := ui.Place{Kind: kind, ID: w.screens[0].table.Cursor.SelectedID()}
			if p := w.top().place; p != want || w.screens[0].table.Cursor.At() != n {
				t.Errorf("at %v, want %v, row %d", p, want, n)
			}
		}
		r.Send(uitest.Key(">"))
		at(1)
		r.Send(uitest.Key(">"))
		at(2)
		r.Send(uitest.Key(">"))
		r.Has("Last one in the list.")
		at(2)
		r.Send(uitest.Keys("<", "<"))
		at(0)
		r.Send(uitest.Key("<"))
		r.Has("First one in the list.")
		r.HasNot("› Documents 9f1c2d3e-0001-4a5b-8c7d-aaaa0000b1c2 ›")
		r.Send(uitest.Key("esc"))
		r.Has("1 of 3")
	}
}

// TestNextThroughWhatIsBetween: from the documents of an operation that was opened from
// the list, the next are the documents of the next operation.
func TestNextThroughWhatIsBetween(t *testing.T) {
	w := newWorld()
	r := w.rows(t).Send(uitest.Keys("enter", "3", ">"))
	if p := w.top().place; p.Kind != ui.KindDocuments || p.ID != w.screens[0].table.Cursor.SelectedID() || w.screens[0].table.Cursor.At() != 1 {
		t.Errorf("at %v", p)
	}
	r.Send(uitest.Key("esc"))
	r.Has("2 of 3")
}

func TestNextNeedsAList(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(uitest.Key(">"))
	r.Has("You did not open this from a list")
	r.Send(uitest.Key("esc"), uitest.Key("<"))
	r.Has("moves through a list from inside one of its records")
}

// TestTrailIsBounded: it forgets its oldest places.
func TestTrailIsBounded(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test))
	for i := range 100 {
		r.Send(uitest.Key(fmt.Sprint(5 + i%2)))
	}
	for range 60 {
		r.Send(uitest.Key("["))
	}
	r.Has("No previous screen.")
}
