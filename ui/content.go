package ui

import (
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
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
func (d Driver) Searching() bool {
	m, ok := d.Shell.dialogs.top().(*menu)
	return ok && m.seek.Busy()
}

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
	return d.Shell.route.goTo(0, Place{}, nil)
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
	case *menu:
		return o.described(d.Shell.win)
	case *pager:
		if o.explains != nil {
			return *o.explains
		}
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
	if m, ok := d.Shell.dialogs.top().(*menu); ok { // it stays open until the text was looked for
		m.edit.Set(text[0])
		m.enter = true
		return m.look(d.Shell)
	}
	return d.closing(func(o overlay) (a Action, cmd tea.Cmd) {
		a, cmd, _ = o.(*input).take(d.Shell, Values{text: text, secrets: secrets})
		return a, cmd
	})
}

// Pick takes item i of the open menu.
func (d Driver) Pick(i int) tea.Cmd {
	m, ok := d.Shell.dialogs.top().(*menu)
	if ok && m.More != nil && i == len(m.Items)-1 {
		return m.readOn(d.Shell) // it stays open
	}
	return d.closing(func(overlay) (a Action, cmd tea.Cmd) {
		if ok {
			m.at = i
			a, cmd, _ = m.choose()
		}
		return a, cmd
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
		if ago, _ := since(c.At, now); ago != "" {
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

// Present returns the current options for presenting records.
func (e *Env) Present() present.Options {
	o := present.Options{Now: e.Now(), Zone: e.Zone(), Masked: e.Masked(), Sign: e.Theme.SignOf}
	if !e.Theme.Linear {
		o.Press = pressing(e.Keys, e.screen)
	}
	return o
}

// Way names a key in a sentence: how it is pressed; in plain mode the word that is typed.
func (e *Env) Way(k keymap.Key) string { return wayOf(e.Theme, k) }

// With is for act.Object: it names an act's key in the middle of a sentence.
func (e *Env) With(act string) string {
	k, _ := e.Keys.Find(act)
	return "with " + e.Way(k)
}

func (s *window) way(k keymap.Key) string { return wayOf(s.th, k) }

func wayOf(th *theme.Theme, k keymap.Key) string {
	if th.Linear {
		return k.Word
	}
	return k.Help().Key
}

// pressing returns how keys are pressed, by name. The place of a screen that is open needs no key; open may be nil.
func pressing(keys *keymap.Map, open Screen) func(name string) string {
	return func(name string) string {
		kind, place := map[string]string{"session.status": KindSession, "limits": KindLimits, "event.list": KindEvents,
			"audit.list": KindAudit}[name]
		if place && open != nil && open.Place().Kind == kind {
			return ""
		}
		return keys.Press(name)
	}
}

// Sections converts sections of a record for drawing. link returns the link of a fact; nil: facts have no cursor.
func (e *Env) Sections(list []present.Section, link func(present.Fact) widget.Link) []Section {
	out := make([]Section, len(list))
	for i, s := range list {
		out[i] = Section{Title: s.Title, Apart: s.Aligned, Facts: e.Pairs(s.Facts, link)}
		if s.Aligned && !e.Theme.Linear {
			alignAmounts(out[i].Facts, s.Facts)
		}
	}
	return out
}

// Headed converts sections of a record, each below its heading.
func (e *Env) Headed(list []present.Section) []widget.Pair {
	var out []widget.Pair
	for _, s := range list {
		if s.Title != "" {
			out = append(out, widget.Pair{Value: s.Title})
		}
		out = append(out, e.Pairs(s.Facts, nil)...)
	}
	return out
}

// Pairs converts facts for drawing.
func (e *Env) Pairs(facts []present.Fact, link func(present.Fact) widget.Link) []widget.Pair {
	out := make([]widget.Pair, len(facts))
	for i, f := range facts {
		out[i] = widget.Pair{Label: f.Label, Value: f.Value, Tone: f.Tone, Long: f.Long}
		if link != nil {
			out[i].Link = link(f)
		}
	}
	return out
}

// Rows draws records in columns, w cells wide. Without enough room it first omits columns with a HidePriority, and
// then cuts the one with Flex. A column is as wide as its widest text, and with Min not wider than that.
func Rows[T any](e *Env, o present.Options, columns []present.Column[T], records []T, w int) []string {
	cells, wide := make([][]present.Cell, len(records)), make([]int, len(columns))
	for i, r := range records {
		for k, c := range columns {
			cells[i] = append(cells[i], c.Cell(o, r))
			if wide[k] = max(wide[k], draw.Width(cells[i][k].Text)); c.Min > 0 {
				wide[k] = min(wide[k], c.Min)
			}
		}
	}
	need := -columnGap
	for _, n := range wide {
		need += n + min(n, 1)*columnGap
	}
	for need > w {
		worst, least := -1, 0
		for k, c := range columns {
			if wide[k] > 0 && c.HidePriority > least {
				worst, least = k, c.HidePriority
			}
		}
		if worst < 0 {
			break
		}
		need, wide[worst] = need-wide[worst]-columnGap, 0
	}
	out := make([]string, len(records))
	for i := range cells {
		var parts []string
		for k, c := range cells[i] {
			if n := wide[k]; n > 0 {
				if columns[k].Flex > 0 {
					n = max(n-max(need-w, 0), 1)
				}
				parts = append(parts, e.Theme.Tone(c.Tone).Render(draw.Fit(c.Text, n)))
			}
		}
		out[i] = strings.Join(parts, draw.Space(columnGap))
	}
	return out
}

const columnGap = 2 // cells between two columns

// alignAmounts aligns the decimal points of amounts.
func alignAmounts(pairs []widget.Pair, facts []present.Fact) {
	var at []int
	var col []string
	for i, f := range facts {
		if f.Amount {
			at, col = append(at, i), append(col, f.Value)
		}
	}
	for i, text := range draw.Align(col) {
		pairs[at[i]].Value = text
	}
}

// Sentence draws a sentence behind its sign, wrapped at w cells; plain mode says it without.
func (e *Env) Sentence(s present.Sentence, w int) []string {
	if e.Theme.Linear {
		return []string{s.Text}
	}
	sign := e.Theme.SignOf(s.Sign) + " "
	out := draw.Hang(sign+s.Text, draw.Width(sign), max(w, 1))
	for i, l := range out {
		out[i] = e.Theme.Tone(s.Tone).Render(l)
	}
	return out
}

// labelled is the width from which the advice about a finding says who can do it.
const labelled = 60

// VerdictLines draws the first line of the verdict, wrapped at w cells: the cause, and below it what to do and, where
// there is room, who can do it. Plain mode says them in one line.
func (e *Env) VerdictLines(w int) []string {
	f, wrong := e.Verdict().First()
	if !wrong || e.Theme.Linear {
		return e.Sentence(present.VerdictLine(e.Present(), e.Verdict()), w)
	}
	advice := present.Advice(e.Present(), f)
	if w < labelled {
		advice = advice[:1]
	}
	return append(e.Sentence(present.FindingSays(f), w), e.Labelled(advice, w)...)
}

// Labelled draws facts below the first line of the verdict, wrapped at w cells; labels have at most four letters. Plain
// mode says them without.
func (e *Env) Labelled(facts []present.Fact, w int) []string {
	var out []string
	for _, fact := range facts {
		if e.Theme.Linear {
			out = append(out, fact.Value)
			continue
		}
		label := draw.Space(draw.Width(e.Theme.Sign(theme.Warn))+1) + draw.Fit(fact.Label, 4) + " "
		for n, l := range draw.Hang(label+fact.Value, draw.Width(label), max(w, 1)) {
			if n == 0 {
				l = e.Theme.Dim.Render(label) + strings.TrimPrefix(l, label)
			}
			out = append(out, l)
		}
	}
	return out
}

// Line draws the parts of a line.
func (e *Env) Line(parts []present.Span) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(e.Theme.Tone(p.Tone).Render(p.Text))
	}
	return b.String()
}

// BroadcastMsg is a message for every open screen: an operation that changed, the
// session, the budgets, the feed. Embed Broadcast to make one.
type BroadcastMsg interface{ isNews() }

// Broadcast makes the message that embeds it News.
type Broadcast struct{}

func (Broadcast) isNews() {}

// BatchMsg is several messages from one command, delivered in order, such as the answer for
// the screen and the news for all screens.
type BatchMsg []tea.Msg

// StreamMsg is a message from a stream together with the command that waits for the
// next one. The shell delivers Msg and runs Next.
type StreamMsg struct {
	Msg  tea.Msg
	Next tea.Cmd
}

// Changed reports the new state of an object to every open screen.
type Changed struct {
	Broadcast
	// Kind is KindOperation, KindCompliance (a customer), KindEvents, KindAudit; or
	// KindOperations without an ID when the local index changed.
	Kind   string
	ID     string
	Object any // the new state, if the sender has it (api.Operation)
	Origin string
}

// SessionFacts are the facts of the shared session in the header.
type SessionFacts struct {
	Broadcast
	State       string // live, none, rotating, doubtful, revoked, blocked
	AccessUntil time.Time
}

// BudgetFacts are the free calls of one budget class, for all instances together.
type BudgetFacts struct {
	Broadcast
	Class       string    // login, refresh, account, customer, billing, general
	Room, Limit int       // free calls in this minute, and the limit
	NextSlot    time.Time // when a person's next call can be sent; zero: now
	Goes        time.Time // when the first waiting call is sent; zero: none waits
	Throttled   int       // 429 answers in the last minute
	// Ahead are the times at which a person's next calls could be sent, one after the other (limit.Usage.Ahead).
	Ahead []time.Time
}

// CallPhase is the phase of a call.
type CallPhase uint8

// The phases of a call.
const (
	CallWaits CallPhase = iota // for a slot in its budget, or for the session
	CallRuns
	CallDone
	CallFailed
	CallUnknown // sent, no answer
)

// CallFacts is one line of the activity list. Facts with the same ID replace
// each other.
type CallFacts struct {
	Broadcast
	ID    string
	What  string // "GET operation", one safe line without secrets
	Class string
	Phase CallPhase
	Write bool
	// Background is true if no person waits for the call.
	Background bool
	At         time.Time // when the phase began
	Note       string    // one safe line: the error
	Moved      int64     // bytes transferred so far of a large request or answer body
	Size       int64     // of that body; 0: not known
}

// open reports whether the call has not ended.
func (c CallFacts) open() bool { return c.Phase == CallWaits || c.Phase == CallRuns }

// DisplayChanged is sent after a change of time zone or masking. Screens that cache
// drawn text must draw it again.
type DisplayChanged struct{ Broadcast }

// Toast is a notice from outside the stack: a colleague asks for an approval, or an
// earlier job is interrupted.
type Toast struct {
	Broadcast
	Level Level
	Text  string // one safe line
	// Each replaces Text in the activity list if Text names several things.
	Each []string
	// About is the finding that Text says; it is not shown above a screen that prints the finding.
	About *verdict.Finding
	Hint  Hint
}

// Presence lists the other people on a place. The header shows it while the
// person is on that place.
type Presence struct {
	Broadcast
	At     Place
	Others []Colleague
}

// Colleague is another person on the same place.
type Colleague struct {
	Name   string // safe
	Asking bool   // a question about a write is open
}

// String returns the name for the header, with a "?" while that person has an open question.
func (p Colleague) String() string {
	if p.Asking {
		return p.Name + "?"
	}
	return p.Name
}

// Approvals are the requests that concern this person. The header shows Waiting on
// every screen while it is not 0.
type Approvals struct {
	Broadcast
	Waiting int          // writes of others that this person may approve
	Mine    []AskedWrite // writes of this person that wait, can be sent now, or were denied
}

// AskedWrite is a write for which this person asked a second person, until its time is over.
type AskedWrite struct {
	Act      api.ActKind
	ID, Item string // of the object, and of what changes in it
	Reason   string // as it was given
	State    approval.State
	By       string // who decided; safe
	Until    time.Time
}
