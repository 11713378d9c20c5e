package ui_test

import (
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui"
	"opdeck/ui/paint"
	"opdeck/ui/uitest"
)

// What a slow line brings at once is what was typed.
func TestBurstIsTyping(t *testing.T) {
	for name, c := range map[string]struct {
		send []tea.Msg
		see  []string
	}{
		"a filter":       {[]tea.Msg{uitest.Burst("/status:PENDING"), uitest.Key("enter")}, nil},
		"a held key":     {[]tea.Msg{uitest.Burst("jjjjjjjj")}, []string{"3 of 3"}},
		"down and up":    {[]tea.Msg{uitest.Burst("jjk")}, []string{"2 of 3"}},
		"the palette":    {[]tea.Msg{uitest.Burst(":what is")}, []string{"Commands", "what is", "what is going on"}},
		"its choice":     {[]tea.Msg{uitest.Burst(":what is going"), uitest.Key("enter")}, []string{"Activity"}},
		"a number":       {[]tea.Msg{uitest.Burst("j5")}, []string{"Limits"}},
		"an id":          {[]tea.Msg{uitest.Burst("o9f1c"), uitest.Key("enter")}, []string{"Operation 9f1c"}},
		"a search":       {[]tea.Msg{uitest.Burst("J/unit")}, []string{"unit"}},
		"help and back":  {[]tea.Msg{uitest.Burst("?q")}, []string{"1 of 3"}},
		"a wide letter":  {[]tea.Msg{uitest.Burst("/日本")}, []string{"日本"}},
		"off, then more": {[]tea.Msg{uitest.Burst("#j")}, []string{"2 of 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			r := w.start(t, w.options(ui.Test)).Send(c.send...)
			r.Has(c.see...)
			r.HasNot("Pasted text")
			if name == "a filter" && w.top().filter.Value() != "status:PENDING" {
				t.Errorf("the filter is %q", w.top().filter.Value())
			}
			if len(w.removed) > 0 {
				t.Errorf("removed %v", w.removed)
			}
		})
	}
}

// A marked paste is none.
func TestMarkedPasteIsNoKey(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test)).Send(uitest.Paste("jj5"))
	r.Has("Pasted text does nothing here.", "1 of 3")
}

// Nothing of the burst that opened a question answers it or continues behind it,
// not even when the time of its arming is over before it was drawn.
func TestBurstIsNoAnswer(t *testing.T) {
	for name, burst := range map[string]string{"at once": "xy", "behind moves": "jjkxyyyy", "with the id": "xb1c2", "no and on": "xnjjxy", "tab": "x\ty"} {
		t.Run(name, func(t *testing.T) {
			for _, g := range []ui.Environment{ui.Test, ui.Production} {
				w := newWorld()
				r := w.start(t, w.options(g)).Send(uitest.Burst(burst))
				r.Has("Remove document", "[ No ]", "keys are ignored")
				r.Send(w.clock.Wait(armed), uitest.Key("enter"))
				r.HasNot("Remove document")
				if len(w.removed) > 0 {
					t.Errorf("removed %v", w.removed)
				}
			}
		})
	}
}

// A locked document's explanation is not closed by what was typed before it.
func TestBurstDoesNotCloseAnExplanation(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test))
	w.top().locked = "The compliance team has locked it."
	r.Send(uitest.Burst("xqqq")).Has("The compliance team has locked it.")
}

// Keys count from when the question was drawn, however long that took: a
// terminal that does not read shows no frame.
func TestQuestionIsArmedWhenItIsSeen(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test))
	p := &painter{Model: r.Model}
	r.Model = p
	r.Send(uitest.Key("x"))
	for range 20 { // no frame is drawn
		r.Send(w.clock.Wait(time.Second), uitest.Key("y"))
	}
	if len(w.screens) != 2 || len(w.top().seen) != 0 {
		t.Fatal("a question that nobody saw was answered")
	}
	r.Has("keys are ignored")
	r.Model = p.Model
	r.Send(p.held...)
	r.Send(w.clock.Wait(armed-1), uitest.Key("y"))
	if len(w.top().seen) != 0 {
		t.Fatal("answered too early")
	}
	if r.Send(w.clock.Wait(armed), uitest.Key("y")); len(w.top().seen) != 1 {
		t.Error("no answer was taken")
	}
}

// painter holds what is to come behind a frame, as one does whose terminal does
// not read.
type painter struct {
	tea.Model
	held []tea.Msg
}

func (p *painter) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if _, ok := msg.(paint.AfterFrame); ok {
		p.held = append(p.held, msg)
		return p, nil
	}
	m, cmd := p.Model.Update(msg)
	p.Model = m
	return p, cmd
}
