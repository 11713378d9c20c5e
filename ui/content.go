package ui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/secret"
	"opdeck/api/untrusted"
	"opdeck/internal/format"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// Content is what a screen shows, as structure, for the
// plain mode. All text in it is safe.
type Content struct {
	Lines    []string      // sentences: how it stands, what is wrong
	Problem  int           // which of them says Source.Problem, from 1; 0: none
	Sections []Section     // the rest, by headings
	Table    *widget.Table // rows; nil: none
	Detail   []widget.Pair // about the row under the cursor
	Doing    string        // what is under way: "removing a.pdf"; empty: nothing
	Filter   *widget.FilterBar
}

// PlainWidth is how wide texts are made that are said: nothing of them is cut.
const PlainWidth = 1000

// Section is a part of a screen under its heading.
type Section struct {
	Title  string
	Drawn  string // the heading where it is drawn; empty: Title
	Hint   string // drawn behind the heading, not said
	Apart  bool   // its facts are drawn below those before it, never beside them
	Beside bool   // in a wide window it stands to the right of the others
	Facts  []widget.Pair
	Lines  []string
	Links  []widget.Link // of Lines, by index: what the cursor is on there
	Hang   int           // of Lines: the column that their text begins in, behind a label
}

// Links lists what the cursor of a page can stand on, in the order of the page.
func (c Content) Links() []widget.Link {
	var out []widget.Link
	add := func(l widget.Link) {
		if l.ID != "" {
			out = append(out, l)
		}
	}
	for _, s := range c.Sections {
		for _, p := range s.Facts {
			add(p.Link)
		}
		for _, l := range s.Links {
			add(l)
		}
	}
	return out
}

// Contenter is for screens that give their content as structure; every screen of
// the console does.
type Contenter interface{ Content() Content }

// Selecter is for screens with rows: Select puts the cursor on a row by its id.
type Selecter interface{ Select(id string) bool }

// Sections cuts pairs into sections at their headings.
func Sections(list []widget.Pair) []Section {
	var out []Section
	for _, p := range list {
		if len(out) == 0 || p.Label == "" && p.Value != "" {
			out = append(out, Section{})
		}
		switch at := &out[len(out)-1]; {
		case p.Label != "":
			at.Facts = append(at.Facts, p)
		case p.Value != "":
			at.Title = p.Value
		}
	}
	return out
}

// Question is an open question. Typed asks for the last characters of the id
// instead of a word.
type Question struct {
	Confirm
	Typed bool
}

// Text is an open page of text.
type Text struct {
	Title string
	Lines []string
}

// Top is the screen on top, nil when there is none.
func (s *screenStack) Top() Screen {
	if st := s.top(); st != nil {
		return st.screen
	}
	return nil
}

// Root reports whether only the first screen is open.
func (s *screenStack) Root() bool { return len(s.stack) <= 1 }

// Driver drives a shell that is not drawn: it says what is open, presses, answers and picks.
type Driver struct{ *Shell }

// Keys are the keys of the screen on top, then those that work everywhere.
func (s Driver) Keys() []keymap.Key {
	var out []keymap.Key
	if st := s.top(); st != nil {
		out = append(out, st.screen.Keys()...)
		for _, k := range keymap.All(s.keys.Global) {
			if s.offers(st, k) {
				out = append(out, k)
			}
		}
	}
	return out
}

// Map is the shell's keys, for a host that presses them.
func (s *window) Map() *keymap.Map { return s.keys }

// Show opens a place; one that is on top already stays.
func (s Driver) Show(p Place) tea.Cmd {
	if st := s.top(); st != nil && st.screen.Place() == p {
		return nil
	}
	return s.open(p)
}

// Escape lets the screen on top close something of its own, a filter or a page;
// false when there is nothing.
func (s Driver) Escape() (tea.Cmd, bool) {
	st := s.top()
	a, cmd := Update(st.screen, s.keys.Global.Back.Msg())
	return tea.Batch(s.act(st, a), cmd), a != nil || cmd != nil
}

// Home closes all screens but the first.
func (s Driver) Home() tea.Cmd {
	if s.Root() {
		return nil
	}
	return s.unwind(0)
}

// Elapse does what time alone does: it masks again what was revealed.
func (s Driver) Elapse() tea.Cmd { return s.maskAgain(s.now()) }

// Zone is where times are shown.
func (s *window) Zone() *time.Location { return s.shown.zone }

// Dialog is what is open above the screens: a Question, Ask, Choose, Explain or
// Text; nil when nothing is.
func (s Driver) Dialog() any {
	if len(s.overlays) == 0 {
		return nil
	}
	switch o := s.overlays[len(s.overlays)-1].(type) {
	case *question:
		return Question{o.c, o.typed}
	case *input:
		return o.model.form().described()
	case *opener:
		return o.asked()
	case *menu:
		return o.Choose
	case *explain:
		return o.e
	case *pager:
		return Text{o.title, o.lines(s.Shell)}
	}
	return nil
}

// Close closes the open dialog without an answer; a question gets its no.
func (s Driver) Close() tea.Cmd { return s.Answer(false) }

// Answer answers the open question. Whoever calls it has made sure that a person
// gave the answer; see the package plain.
func (s Driver) Answer(yes bool) tea.Cmd {
	return s.closing(func(o overlay) (a Action, cmd tea.Cmd) {
		if q, ok := o.(*question); ok && yes {
			a, cmd, _ = q.sayYes()
		} else if ok {
			a, cmd, _ = q.sayNo()
		}
		return a, cmd
	})
}

// Submit answers the open input dialog; secrets hold the values of secret fields.
func (s Driver) Submit(text []string, secrets []secret.Value) tea.Cmd {
	return s.closing(func(o overlay) (a Action, cmd tea.Cmd) {
		if d, ok := o.(*input); ok {
			a, cmd, _ = d.take(s.Shell, Values{text: text, secrets: secrets})
			return a, cmd
		}
		if d, ok := o.(*opener); ok {
			return do(func(s *Shell) tea.Cmd { return s.OpenTyped(d.kind, text[0]) }), nil
		}
		return nil, nil
	})
}

// Pick takes item i of the open menu.
func (s Driver) Pick(i int) tea.Cmd {
	m, ok := s.overlays[len(s.overlays)-1].(*menu)
	if ok && m.More != nil && i == len(m.Items)-1 {
		return m.readOn(s.Shell) // it stays open
	}
	return s.closing(func(overlay) (Action, tea.Cmd) {
		if !ok || m.Pick == nil {
			return nil, nil
		}
		return m.picked(i)
	})
}

// closing closes the dialog on top with what take makes of it.
func (s Driver) closing(take func(overlay) (Action, tea.Cmd)) tea.Cmd {
	o := s.overlays[len(s.overlays)-1]
	a, cmd := take(o)
	s.remove(o)
	return s.finish(o, a, cmd)
}

// Standing says in sentences how session, budgets and feed are.
func (s *topLine) Standing() []string {
	now := s.now()
	var out []string
	if f := s.session; f.State != "" {
		line := "The session is " + safe(f.State) + "."
		if f.AccessUntil.After(now) {
			left, _ := format.Until(f.AccessUntil, now)
			line += " The access token expires in " + left + "."
		}
		if f.Note != "" {
			line += " Attention: " + safe(f.Note)
		}
		out = append(out, line)
	}
	if b, ok := s.budgets["billing"]; ok {
		out = append(out, "Budget: "+format.Plural(b.Room, "billing call", "billing calls")+" left of "+
			format.Count(b.Limit)+" a minute.")
	}
	if f := s.feed; f.State != "" {
		out = append(out, "The webhook feed is "+safe(f.State)+".")
	}
	if n := s.asked; n > 0 {
		out = append(out, format.Plural(n, "write waits", "writes wait")+" for your approval.")
	}
	return out
}

// Aged says where what a screen shows came from and how old it is.
func (src Source) Aged(now time.Time, zone *time.Location) string {
	if src.Origin == "" || src.At.IsZero() {
		return ""
	}
	ago, _ := format.Ago(src.At, now)
	line := "From the " + src.Origin + ", " + ago
	if old := src.Oldest; !old.IsZero() && old.Before(src.At) {
		if then, _ := format.Ago(old, now); then != ago {
			line += ", oldest row " + then
		}
	}
	if src.Problem != "" {
		line += ". " + untrusted.Text(src.Problem).Line(300)
	}
	return line
}
