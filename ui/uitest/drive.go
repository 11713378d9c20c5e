// Package uitest drives a tea.Model without a terminal. It sends messages, runs commands
// in order on the same goroutine, advances time only in Wait, and checks every
// frame.
//
//	clock := uitest.NewClock()
//	shell := ui.New(ui.Options{Now: clock.Now, Tick: clock.Tick, …})
//	r := uitest.Drive(t, shell, uitest.Size(80, 24), uitest.Key("x"), clock.Wait(time.Second), uitest.Key("y"))
//	golden.RequireEqual(t, r.View())
package uitest

import (
	"reflect"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// Clock is a clock that advances only in Wait. It belongs to one test.
type Clock struct {
	now    time.Time
	timers []sleeper
}

// NewClock starts at noon UTC of a fixed day.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)} }

// Now is the present of the clock.
func (c *Clock) Now() time.Time { return c.now }

// Tick has the signature of tea.Tick.
func (c *Clock) Tick(d time.Duration, f func(time.Time) tea.Msg) tea.Cmd {
	return func() tea.Msg { return sleeper{clock: c, at: c.now.Add(max(d, 0)), f: f} }
}

// Slow is a command that answers after d: a request on its way.
func (c *Clock) Slow(d time.Duration, f func() tea.Msg) tea.Cmd {
	return c.Tick(d, func(time.Time) tea.Msg { return f() })
}

// Pending is how many wake-ups and slow answers are under way.
func (c *Clock) Pending() int { return len(c.timers) }

// Wait is a message for Drive: time passes, and what was due in it happens in order.
func (c *Clock) Wait(d time.Duration) tea.Msg { return wait{c, d} }

type sleeper struct {
	clock *Clock
	at    time.Time
	f     func(time.Time) tea.Msg
	then  []tea.Cmd // the rest of a sequence
}

type wait struct {
	clock *Clock
	d     time.Duration
}

// due takes the first timer not after end.
func (c *Clock) due(end time.Time) (sleeper, bool) {
	best := -1
	for i, s := range c.timers {
		if !s.at.After(end) && (best < 0 || s.at.Before(c.timers[best].at)) {
			best = i
		}
	}
	if best < 0 {
		return sleeper{}, false
	}
	s := c.timers[best]
	c.timers = append(c.timers[:best], c.timers[best+1:]...)
	return s, true
}

// Run is a driven model.
type Run struct {
	t     testing.TB
	Model tea.Model
	Quit  bool // tea.Quit was returned
	Ticks int  // timers that went off
	Sent  int  // messages given to Update
	w, h  int
	blind bool // the model is never asked for its View
	late  func(tea.Msg) bool
	held  []tea.Msg
}

// Hold keeps back those results of commands that late names, until Release: answers that
// are on their way.
func (r *Run) Hold(late func(tea.Msg) bool) { r.late = late }

// Release lets what was kept back arrive, and holds nothing any more.
func (r *Run) Release() *Run {
	r.t.Helper()
	held := r.held
	r.late, r.held = nil, nil
	return r.Send(held...)
}

// Drive runs Init and the messages.
func Drive(t testing.TB, m tea.Model, msgs ...tea.Msg) *Run {
	t.Helper()
	r := &Run{t: t, Model: m}
	r.run(m.Init())
	return r.Send(msgs...)
}

// Has fails the test for each text that does not show, to the letter.
func (r *Run) Has(texts ...string) {
	r.t.Helper()
	for _, text := range texts {
		if view := r.View(); !strings.Contains(view, text) {
			r.t.Errorf("%q does not show in\n%s", text, view)
		}
	}
}

// HasNot fails the test for each text that shows.
func (r *Run) HasNot(texts ...string) {
	r.t.Helper()
	for _, text := range texts {
		if view := r.View(); strings.Contains(view, text) {
			r.t.Errorf("%q shows in\n%s", text, view)
		}
	}
}

// Says is Has wherever lines end, and whatever space is between words.
func (r *Run) Says(texts ...string) {
	r.t.Helper()
	for _, text := range texts {
		view := r.View()
		flat := strings.Join(strings.Fields(strings.ReplaceAll(view, "│", " ")), " ")
		if !strings.Contains(view, text) && !strings.Contains(flat, text) {
			r.t.Errorf("%q does not show in\n%s", text, view)
		}
	}
}

// Pure drives a model twice through the same messages, once with its View called
// after each of them and once without, and reports when the last frames differ:
// View may change nothing that shows.
func Pure(t testing.TB, start func(*Clock) tea.Model, msgs func(*Clock) []tea.Msg) {
	t.Helper()
	var frames [2]string
	for i := range frames {
		clock := NewClock()
		r := &Run{t: t, Model: start(clock), blind: i == 1}
		r.run(r.Model.Init())
		r.Send(Size(80, 24)).Send(msgs(clock)...)
		frames[i] = r.View()
		if again := r.View(); again != frames[i] {
			t.Errorf("two frames of one state differ:\n%s\n%s", frames[i], again)
		}
	}
	if frames[0] != frames[1] {
		t.Errorf("drawn after each message:\n%s\ndrawn once at the end:\n%s", frames[0], frames[1])
	}
}

// Send gives more messages to the model.
func (r *Run) Send(msgs ...tea.Msg) *Run {
	r.t.Helper()
	for _, m := range msgs {
		r.take(m)
	}
	return r
}

// View is the present frame.
func (r *Run) View() string { return r.Model.View() }

// Same holds the frame against one of before.
func (r *Run) Same(want string) {
	r.t.Helper()
	if got := r.View(); got != want {
		r.t.Errorf("it looked otherwise before:\n%s\nnow:\n%s", want, got)
	}
}

// limit bounds the messages of one test: more is an endless loop.
const limit = 1_000_000

func (r *Run) take(msg tea.Msg) {
	r.t.Helper()
	switch m := msg.(type) {
	case nil:
		return
	case list:
		for _, one := range m {
			r.take(one)
		}
		return
	case sleeper:
		m.clock.timers = append(m.clock.timers, m)
		return
	case wait:
		end := m.clock.now.Add(m.d)
		for {
			s, ok := m.clock.due(end)
			if !ok {
				break
			}
			if s.at.After(m.clock.now) {
				m.clock.now = s.at
			}
			r.Ticks++
			r.take(s.f(s.at))
			r.sequence(s.then)
		}
		m.clock.now = end
		return
	case tea.QuitMsg:
		r.Quit = true
		return
	case tea.WindowSizeMsg:
		r.w, r.h = m.Width, m.Height
	}
	if cmds, ok := commands(msg); ok {
		if _, batch := msg.(tea.BatchMsg); !batch {
			r.sequence(cmds)
			return
		}
		for _, c := range cmds {
			r.run(c)
		}
		return
	}
	if r.Sent++; r.Sent > limit {
		r.t.Fatalf("more than %d messages; the last is %T", limit, msg)
	}
	var cmd tea.Cmd
	r.Model, cmd = r.Model.Update(msg)
	r.check(msg)
	r.run(cmd)
}

func (r *Run) check(msg tea.Msg) {
	r.t.Helper()
	if r.w > 0 && r.h > 0 && !r.blind {
		if err := CheckFrame(r.Model.View(), r.w, r.h); err != nil {
			r.t.Fatalf("after %T at %dx%d: %v\n%s", msg, r.w, r.h, err, r.Model.View())
		}
	}
}

func (r *Run) run(cmd tea.Cmd) {
	r.t.Helper()
	if cmd == nil {
		return
	}
	msg := cmd()
	if r.late != nil && r.late(msg) {
		r.held = append(r.held, msg)
		return
	}
	r.take(msg)
}

// sequence runs commands one after the other; one that takes time holds up the
// rest. (A batch inside a sequence is not waited for.)
func (r *Run) sequence(cmds []tea.Cmd) {
	r.t.Helper()
	for i, c := range cmds {
		if c == nil {
			continue
		}
		msg := c()
		if s, ok := msg.(sleeper); ok {
			s.then = append(s.then, cmds[i+1:]...)
			r.take(s)
			return
		}
		r.take(msg)
	}
}

// commands reads a batch or a sequence.
func commands(msg tea.Msg) ([]tea.Cmd, bool) {
	v := reflect.ValueOf(msg)
	if v.Kind() != reflect.Slice || v.Type().Elem() != reflect.TypeFor[tea.Cmd]() {
		return nil, false
	}
	return v.Convert(reflect.TypeFor[[]tea.Cmd]()).Interface().([]tea.Cmd), true
}

type list []tea.Msg

// Size is a change of the window.
func Size(w, h int) tea.Msg { return tea.WindowSizeMsg{Width: w, Height: h} }

// Key is the framework's message for one key, written as in ui/keymap: "x",
// "enter", "ctrl+c", " ".
func Key(name string) tea.Msg {
	for t := tea.KeyType(-128); t < 128; t++ { // all that have a name
		m := tea.KeyMsg{Type: t}
		if t == tea.KeySpace {
			m.Runes = []rune{' '}
		}
		if m.String() == name {
			return m
		}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
}

// Keys is several keys one after the other, no time passing.
func Keys(names ...string) tea.Msg {
	var out list
	for _, n := range names {
		out = append(out, Key(n))
	}
	return out
}

// Type is text typed one character at a time.
func Type(s string) tea.Msg {
	var out list
	for _, r := range s {
		out = append(out, Key(string(r)))
	}
	return out
}

// Paste is bracketed paste.
func Paste(s string) tea.Msg {
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(s), Paste: true}
}

// Burst is several characters in one message: pasted without brackets, or the
// terminal's answer to a question.
func Burst(s string) tea.Msg { return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(s)} }

// Alt is a character with alt, as the terminal's answers begin.
func Alt(r rune) tea.Msg { return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: true} }
