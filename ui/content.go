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

// screen returns the screen on top, or nil.
func (s *screenStack) screen() Screen {
	if st := s.top(); st != nil {
		return st.screen
	}
	return nil
}

// Top returns the screen on top, or nil.
func (s *Shell) Top() Screen { return s.stack.screen() }

// Driver operates a shell that is not drawn: it reports what is open, presses keys, answers questions and
// picks items.
type Driver struct{ Shell *Shell }

// Searching reports whether a typed text is being looked for in the local data.
func (d Driver) Searching() bool { return d.Shell.searches > 0 }

// Keys returns the keys of the screen on top, then those of all screens.
func (d Driver) Keys() []keymap.Key {
	var out []keymap.Key
	if st := d.Shell.stack.top(); st != nil {
		out = append(out, st.screen.Keys()...)
		for _, k := range keymap.All(d.Shell.win.keys.Global) {
			if d.Shell.win.offers(st, k) {
				out = append(out, k)
			}
		}
	}
	return out
}

// Root reports whether only the first screen is open.
func (d Driver) Root() bool { return d.Shell.stack.root() }

// Waiting returns the names of writes that were sent and not answered yet.
func (d Driver) Waiting() []string { return d.Shell.sent.waiting() }

// Map returns the shell's keys, for a host that presses them.
func (d Driver) Map() *keymap.Map { return d.Shell.win.keys }

// Show opens a place, unless it is already on top.
func (d Driver) Show(p Place) tea.Cmd {
	if st := d.Shell.stack.top(); st != nil && st.screen.Place() == p {
		return nil
	}
	return d.Shell.route.open(p)
}

// Escape lets the screen on top close a filter or a page of its own;
// false if it has none open.
func (d Driver) Escape() (tea.Cmd, bool) {
	st := d.Shell.stack.top()
	a, cmd := Update(st.screen, d.Shell.win.keys.Global.Back.Msg())
	return tea.Batch(d.Shell.act(st, a), cmd), a != nil || cmd != nil
}

// Home closes all screens but the first.
func (d Driver) Home() tea.Cmd {
	if d.Root() {
		return nil
	}
	return d.Shell.route.unwind(0)
}

// Elapse applies the effects of time: it masks revealed values again.
func (d Driver) Elapse() tea.Cmd { return d.Shell.maskAgain(d.Shell.win.now()) }

// Zone returns the time zone of shown times.
func (d Driver) Zone() *time.Location { return d.Shell.win.shown.zone }

// Dialog returns the open dialog: a Question, Ask, Choose, Explain or
// Text; nil for none.
func (d Driver) Dialog() any {
	switch o := d.Shell.dialogs.top().(type) {
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
		return Text{o.title, o.lines(d.Shell)}
	}
	return nil
}

// Close closes the open dialog without an answer; it answers a question with no.
func (d Driver) Close() tea.Cmd { return d.Answer(false) }

// Answer answers the open question. The caller must ensure that a person
// gave the answer; see the package plain.
func (d Driver) Answer(yes bool) tea.Cmd {
	return d.closing(func(o overlay) (a Action, cmd tea.Cmd) {
		if q, ok := o.(*question); ok && yes {
			a, cmd, _ = q.sayYes()
		} else if ok {
			a, cmd, _ = q.sayNo()
		}
		return a, cmd
	})
}

// Submit answers the open input dialog; secrets hold the values of secret fields.
func (d Driver) Submit(text []string, secrets []secret.Value) tea.Cmd {
	return d.closing(func(o overlay) (a Action, cmd tea.Cmd) {
		switch o := o.(type) {
		case *input:
			a, cmd, _ = o.take(d.Shell, Values{text: text, secrets: secrets})
		case *opener:
			a = do(func(s *Shell) tea.Cmd { return s.OpenTyped(o.kind, text[0]) })
		}
		return a, cmd
	})
}

// Pick takes item i of the open menu.
func (d Driver) Pick(i int) tea.Cmd {
	m, ok := d.Shell.dialogs.top().(*menu)
	if ok && m.More != nil && i == len(m.Items)-1 {
		return m.readOn(d.Shell) // it stays open
	}
	return d.closing(func(overlay) (Action, tea.Cmd) {
		if !ok || m.Pick == nil {
			return nil, nil
		}
		return m.picked(i)
	})
}

// closing closes the dialog on top and performs the result of take.
func (d Driver) closing(take func(overlay) (Action, tea.Cmd)) tea.Cmd {
	o := d.Shell.dialogs.top()
	a, cmd := take(o)
	d.Shell.dialogs.remove(o)
	return d.Shell.finish(o, a, cmd)
}

// CallWaits says in a sentence why an answer takes long; "" if no call is running.
func (d Driver) CallWaits() string {
	c, ok := d.Shell.head.pending(d.Shell.stack.class())
	now := d.Shell.win.now()
	switch {
	case !ok:
		return ""
	case c.Phase == CallRuns && c.moved() != "":
		went := c.moved()
		return strings.ToUpper(went[:1]) + went[1:] + "."
	case c.Phase == CallRuns:
		if ago, _ := unanswered(c, now); ago != "" {
			return "The service has not answered for " + ago + "."
		}
		return "The service has not answered yet."
	case !d.Shell.head.goes(c).IsZero():
		left, _ := format.Until(d.Shell.head.goes(c), now)
		return "Waiting for the " + safe(c.Class) + " budget; next call in " + left + "."
	}
	return "Waiting for the " + safe(c.Class) + " budget or for the session."
}

// Standing returns what is wrong, and the state of session and budgets, in sentences.
func (d Driver) Standing() []string {
	now := d.Shell.win.now()
	out := []string{present.VerdictLine(d.Shell.win.verdictOptions(), d.Shell.win.shown.found.Verdict).Text}
	if f := d.Shell.head.session; f.State != "" {
		line := "The session is " + safe(f.State) + "."
		if f.AccessUntil.After(now) {
			left, _ := format.Until(f.AccessUntil, now)
			line += " The access token expires in " + left + "."
		}
		out = append(out, line)
	}
	if b, ok := d.Shell.head.budgets["billing"]; ok {
		out = append(out, "Budget: "+format.Plural(b.Room, "billing call", "billing calls")+" left of "+
			format.Count(b.Limit)+" a minute.")
	}
	if n := d.Shell.head.asked; n > 0 {
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
