package ui

import (
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/secret"
	"opdeck/api/untrusted"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// Content is what a screen shows, as a structure. Page draws it and plain mode prints it.
// All its text is safe.
type Content struct {
	Lines    []string      // sentences: the verdict, what is wrong
	Problem  int           // which of them shows Source.Problem, from 1; 0: none
	Sections []Section     // the rest, by headings
	Table    *widget.Table // rows; nil: none
	Detail   []widget.Pair // about the row under the cursor
	Doing    string        // a write in progress: "removing a.pdf"; "": none
	Filter   *widget.FilterBar
}

// PlainWidth is the width of texts for plain mode, large enough that none is cut.
const PlainWidth = 1000

// Section is a part of a screen under its heading.
type Section struct {
	Title  string
	Drawn  string // the heading on a drawn screen; "": Title
	Hint   string // drawn after the heading, not printed in plain mode
	Apart  bool   // its facts are drawn below the previous ones, never beside them
	Beside bool   // in a wide window it is drawn to the right of the others
	Lead   bool   // plain mode prints it even where it only names the others
	Below  bool   // in a wide window it is drawn below both columns, in the whole width
	Facts  []widget.Pair
	Lines  []string
	Links  []widget.Link // of Lines, by index: the link under the cursor
	Hang   int           // of Lines: the column where their text begins, after a label
	// Whole is for Lines of which a part is useless, such as a picture: those that would be cut at the end of a screenful
	// begin on the next one, and this text is in their place. "": they may be cut.
	Whole string
}

// Links lists the links that the cursor of a page can reach, in the order of the page.
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

// Contenter is implemented by screens that return their content as a structure; every screen of
// the console does.
type Contenter interface{ Content() Content }

// Selecter is implemented by screens with rows: Select puts the cursor on a row by its id.
type Selecter interface{ Select(id string) bool }

// Sections splits pairs into sections at their headings.
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

// Question is an open question. If Typed is set, the answer is the last characters of the id
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

// Top returns the screen on top, or nil.
func (s *Shell) Top() Screen {
	if st := s.stack.top(); st != nil {
		return st.screen
	}
	return nil
}

// Root reports whether only the first screen is open.
func (s *Shell) Root() bool { return len(s.stack.stack) <= 1 }

// Driver operates a shell that is not drawn: it reports what is open, presses keys, answers questions and
// picks items.
type Driver struct{ *Shell }

// Waiting returns the names of writes that were sent and not answered yet.
func (s Driver) Waiting() []string { return s.sent.waiting() }

// Back closes the top screen; on the first one it asks whether to leave.
func (s Driver) Back() tea.Cmd { return s.route.back() }

// Searching reports whether a typed text is being looked for in the local data.
func (s Driver) Searching() bool { return s.win.searches > 0 }

// Keys returns the keys of the screen on top, then those of all screens.
func (s Driver) Keys() []keymap.Key {
	var out []keymap.Key
	if st := s.stack.top(); st != nil {
		out = append(out, st.screen.Keys()...)
		for _, k := range keymap.All(s.win.keys.Global) {
			if s.win.offers(st, k) {
				out = append(out, k)
			}
		}
	}
	return out
}

// Map returns the shell's keys, for a host that presses them.
func (s *Shell) Map() *keymap.Map { return s.win.keys }

// Show opens a place, unless it is already on top.
func (s Driver) Show(p Place) tea.Cmd {
	if st := s.stack.top(); st != nil && st.screen.Place() == p {
		return nil
	}
	return s.route.open(p)
}

// Escape lets the screen on top close a filter or a page of its own;
// false if it has none open.
func (s Driver) Escape() (tea.Cmd, bool) {
	st := s.stack.top()
	a, cmd := Update(st.screen, s.win.keys.Global.Back.Msg())
	return tea.Batch(s.act(st, a), cmd), a != nil || cmd != nil
}

// Home closes all screens but the first.
func (s Driver) Home() tea.Cmd {
	if s.Root() {
		return nil
	}
	return s.route.unwind(0)
}

// Elapse applies the effects of time: it masks revealed values again.
func (s Driver) Elapse() tea.Cmd { return s.mode.maskAgain(s.win.now()) }

// Zone returns the time zone of shown times.
func (s *Shell) Zone() *time.Location { return s.win.shown.zone }

// Dialog returns the open dialog: a Question, Ask, Choose, Explain or
// Text; nil for none.
func (s Driver) Dialog() any {
	if len(s.dialogs.overlays) == 0 {
		return nil
	}
	switch o := s.dialogs.overlays[len(s.dialogs.overlays)-1].(type) {
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

// Close closes the open dialog without an answer; it answers a question with no.
func (s Driver) Close() tea.Cmd { return s.Answer(false) }

// Answer answers the open question. The caller must ensure that a person
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
	m, ok := s.dialogs.overlays[len(s.dialogs.overlays)-1].(*menu)
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

// closing closes the dialog on top and performs the result of take.
func (s Driver) closing(take func(overlay) (Action, tea.Cmd)) tea.Cmd {
	o := s.dialogs.overlays[len(s.dialogs.overlays)-1]
	a, cmd := take(o)
	s.dialogs.remove(o)
	return s.finish(o, a, cmd)
}

// Standing returns what is wrong, and the state of session and budgets, in sentences.
func (s Driver) Standing() []string {
	now := s.head.win.now()
	out := []string{present.VerdictLine(s.head.win.verdictOptions(), s.head.win.shown.found.Verdict).Text}
	if f := s.head.session; f.State != "" {
		line := "The session is " + safe(f.State) + "."
		if f.AccessUntil.After(now) {
			left, _ := format.Until(f.AccessUntil, now)
			line += " The access token expires in " + left + "."
		}
		out = append(out, line)
	}
	if b, ok := s.head.budgets["billing"]; ok {
		out = append(out, "Budget: "+format.Plural(b.Room, "billing call", "billing calls")+" left of "+
			format.Count(b.Limit)+" a minute.")
	}
	if n := s.head.asked; n > 0 {
		out = append(out, format.Plural(n, "write waits", "writes wait")+" for your approval.")
	}
	return out
}

// from says where the data comes from: "from the index".
func (src Source) from() string {
	if name, own := strings.CutPrefix(src.Origin, "this "); own {
		return "from this " + safe(name)
	}
	return "from the " + safe(src.Origin)
}

// Aged returns a sentence about origin and age of a screen's data.
func (src Source) Aged(now time.Time, zone *time.Location) string {
	if src.Origin == "" || src.At.IsZero() {
		return ""
	}
	ago, _ := format.Ago(src.At, now)
	line := "F" + src.from()[1:] + ", " + ago
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
