package ui

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/act/remedy"
	"opdeck/internal/domain/mask"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// Screen is one place of the console. All methods are called in the update
// loop, so a screen needs no locks. None of them may wait or send
// requests; requests belong into the tea.Cmd.
type Screen interface {
	// Init returns the first load and must not load in its body. Update handles a tea.WindowSizeMsg
	// with the size of the body (before Init and after each change), a key (keymap.Press), an
	// answer to a read of this screen, News, Shown or Tick; then the shell performs its Action.
	// View draws exactly that size: h lines of at most w cells. It changes nothing; Update
	// lays out the lines.
	// If the screen has a method Lines() []string, the shell calls that instead of View:
	// lines that are the same strings in the next frame cost nothing.
	Model
	// Keys lists the keys of the screen: the hint line, the help, the palette and
	// the "why off" answers are made from it.
	Keys() []keymap.Key
	// Editing reports that printable keys are text: the shell then handles only ctrl+c.
	Editing() bool
	// Title returns one short line of safe text for breadcrumbs and header.
	Title() string
	// Place returns the screen's place; the Factory can make an equal screen from it.
	Place() Place
	// Source returns age and origin of the data, and the cost of a reload.
	Source() Source
}

// The kinds of places behind the keys 1 to 8.
const (
	KindOperations = "operations"
	KindOperation  = "operation"
	KindDocuments  = "documents"
	KindCompliance = "compliance"
	KindLimits     = "limits"
	KindSession    = "session"
	KindEvents     = "events"
	KindAudit      = "audit"
)

// Kinds of places without a number key.
const (
	KindHistory = "history" // the timeline of one operation
	KindOnCall  = "oncall"  // session, budgets, feed, index and writes in doubt
)

// Place identifies a screen by its kind and object. It is comparable.
type Place struct {
	Kind string // one of the Kind constants, or a kind the factory knows
	ID   string // operation, customer, hook… id as the service wrote it; empty for lists
	Arg  string // another argument of the factory: a view's name, a filter
}

// Factory creates the screen of a place. env belongs to that screen alone. A nil
// result means that the place is unknown; the shell shows this.
type Factory func(env *Env, p Place) Screen

// Source describes the origin and age of the shown data.
type Source struct {
	Origin  string    // "service", "index", "events", "this console"; empty: nothing loaded yet
	At      time.Time // when it was true; of rows, when the newest one was seen; zero: not known
	Oldest  time.Time // of rows, when the oldest one that the screen uses was seen; zero: as At
	Class   string    // budget class of a reload ("billing"); "": a reload costs no call
	Loading bool      // a read is running
	Problem string    // why the data is old ("service not reached"); one safe line, "" for none
}

// Ticker is implemented by screens whose text changes with time
// (a countdown, an age). NextTick returns the time of the next change (use
// Sooner with format.Until and format.Ago), or zero. The shell then sends
// Tick and draws again; there is no other clock.
type Ticker interface{ NextTick(now time.Time) time.Time }

// Drawn describes the parts of a screen that the shell must not repeat or cover.
type Drawn struct {
	Problem bool  // one of its lines shows Source.Problem
	Cursors []int // the lines with a cursor, from 0
}

// Drawer is implemented by screens that report Drawn; Page and list.List do.
type Drawer interface{ Drawn() Drawn }

// HelpTopic is implemented by screens that explain more than their keys, such as their filter
// language. HelpTopic returns safe, unstyled lines for the help and their title.
type HelpTopic interface {
	HelpTopic() (title string, lines []string)
}

// UnsavedText is implemented by screens that may have typed text. Unsaved names the text that
// would be lost ("the filter you typed"), or returns "". The shell asks before it closes such a screen.
type UnsavedText interface{ Unsaved() string }

// SubjectOf returns the object of a screen or under its cursor, so that
// the keys 2, 3 and 4 open it: kind is KindOperation or KindCompliance (a
// customer), or "" for none.
type SubjectOf interface{ Subject(kind string) string }

// Commander adds commands without keys to the palette: those of the screen on top, and
// those of screens below it, which the shell brings to the top before it runs the command.
type Commander interface{ Commands() []Command }

// Command is an entry of the palette. All its texts are safe.
type Command struct {
	Title string   // "view pending-eur"
	About string   // a sentence behind it; may be empty
	Words []string // other names that find it: "pending-eur"
	Why   string   // the reason why it is off; "": it is on
	Do    Action
	Run   func() (Action, tea.Cmd) // used instead of Do by screens; nil: Do
}

// action returns the command's action.
func (c Command) action() (Action, tea.Cmd) {
	if c.Run != nil {
		return c.Run()
	}
	return c.Do, nil
}

// Tick is sent to the screen on top at the time of its NextTick.
type Tick struct{}

// Shown is sent to a screen that comes to the top again, so that it can check the age of
// its data.
type Shown struct{}

// Model is a tea.Model that requests Actions from its owner.
type Model interface {
	tea.Model
	// Wants takes the Action that the last Update requested, or nil. The next call returns nil.
	Wants() Action
}

// Update passes a message to a model and takes the requested Action.
func Update(m Model, msg tea.Msg) (Action, tea.Cmd) {
	_, cmd := m.Update(msg)
	return m.Wants(), cmd
}

// Wanted stores the requested Action until it is taken. Page and list.List embed it.
type Wanted struct{ action Action }

// Keep stores the Action of an Update, replacing one that was not taken, and returns its command.
func (w *Wanted) Keep(a Action, cmd tea.Cmd) tea.Cmd {
	w.action = a
	return cmd
}

// Wants implements Model.
func (w *Wanted) Wants() Action {
	a := w.action
	w.action = nil
	return a
}

// PageScreen has the methods that a screen adds to its Page. They are called in the update
// loop; none of them may wait.
type PageScreen interface {
	tea.Model
	// Answer handles every message except keys and answers to Env.Read and Write.
	Answer(tea.Msg) (Action, tea.Cmd)
	// OwnKey handles a key that is not text; false leaves it to the page.
	OwnKey(keymap.Press) (Action, tea.Cmd, bool)
	// Reload reads the page again.
	Reload() tea.Cmd
	// Refresh updates everything that depends on the state or on time, such as keys that are
	// off; it is called after each message.
	Refresh()
	// Content returns the content: Page draws it, and plain mode prints it.
	Content() Content
	// Item returns the object for the keys that copy an id and show JSON.
	Item() Item
}

// Page is the body of a screen that is text, in a viewer with search: it draws the
// screen's Content. View changes nothing.
type Page struct {
	Wanted
	W, H  int       // the size of the body, in cells
	Loads *Requests // the reads of the content
	At    time.Time // when it was read
	Err   *api.Error
	Doing string // a write in progress: "finalizing"
	// Narrow puts sections beside each other from 120 columns on, not from 140.
	Narrow bool

	env    *Env
	screen PageScreen
	source Source // its constant members
	view   *widget.Viewer
	cursor linkCursor

	problem int // the line that shows Source.Problem, from 1; 0: none
}

// NewPage returns the page of the screen that embeds it. origin is the source of its data
// ("store"), class the budget that a reload costs, "" for none.
func NewPage(env *Env, screen PageScreen, origin, class string) Page {
	view := widget.NewViewer(env.Theme, env.Keys).Footed()
	return Page{env: env, screen: screen, source: Source{Origin: origin, Class: class}, Loads: env.Requests(), view: view,
		cursor: linkCursor{view: view, keys: env.Keys}}
}

// Init implements Screen.
func (p *Page) Init() tea.Cmd { return p.screen.Reload() }

// Update implements Screen.
func (p *Page) Update(msg tea.Msg) (tea.Model, tea.Cmd) { return p.screen, p.Keep(p.take(msg)) }

func (p *Page) take(msg tea.Msg) (Action, tea.Cmd) {
	defer p.Layout()
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		// A visible cursor stays visible, but a page that nobody has moved in shows its top.
		saw := p.view.Sees(p.cursor.line) && (p.cursor.at > 0 || !p.view.AtTop())
		p.W, p.H = msg.Width, msg.Height
		if p.Layout(); saw {
			p.view.Show(p.cursor.line)
		}
		return nil, nil
	case tea.KeyMsg:
		return p.key(keymap.Read(msg))
	case keymap.Press:
		return p.key(msg)
	}
	if a, cmd, ok := Answered(msg); ok {
		return a, cmd
	}
	return p.screen.Answer(msg)
}

// Refresh implements PageScreen for a screen without updates.
func (p *Page) Refresh() {}

// Item implements PageScreen for a screen without an item.
func (p *Page) Item() Item { return Item{} }

// OwnKey implements PageScreen for a screen without keys of its own.
func (p *Page) OwnKey(keymap.Press) (Action, tea.Cmd, bool) { return nil, nil, false }

// Answer implements PageScreen for a screen without other messages.
func (p *Page) Answer(tea.Msg) (Action, tea.Cmd) { return nil, nil }

// Source implements Screen.
func (p *Page) Source() Source {
	src := p.source
	src.At, src.Loading, src.Problem = p.At, p.Loads.Busy(), Problem(p.Err)
	return src
}

// Lines draws the page; View is the same as one string.
func (p *Page) Lines() []string { return p.view.Lines() }

// View implements Screen.
func (p *Page) View() string { return strings.Join(p.Lines(), "\n") }

// Drawn implements Drawer.
func (p *Page) Drawn() Drawn {
	d := Drawn{Problem: p.problem > 0 && p.view.Sees(p.problem-1)}
	if row := p.view.Row(p.cursor.line); row >= 0 && len(p.cursor.links) > 0 {
		d.Cursors = []int{row}
	}
	return d
}

// Editing implements Screen: keys are text while the person types a search.
func (p *Page) Editing() bool { return p.view.Searching() }

// key handles a key: as text of the search while the person types one, else by the screen,
// else by scrolling.
func (p *Page) key(k keymap.Press) (Action, tea.Cmd) {
	if g := &p.env.Keys.Global; !p.view.Searching() {
		if (g.Back.Match(k) || g.Quit.Match(k)) && p.view.Clear() {
			return Handled{}, nil
		}
		if p.cursor.reveal(k, p.Layout) {
			return Handled{}, nil
		}
		if a, cmd, ok := p.screen.OwnKey(k); ok {
			return a, cmd
		}
		if a, ok := TakeItem(p.env, k, p.item); ok {
			return a, nil
		}
		if g.Reload.Match(k) {
			return nil, p.screen.Reload()
		}
		if p.cursor.move(k, p.Layout) {
			return nil, nil
		}
	}
	p.view.Update(k)
	p.cursor.catchUp(p.Layout)
	return nil, nil
}

// PageKeys returns the keys of a screen with this page: those for matches during a
// search, then its own. secrets: the page has masked values.
func (p *Page) PageKeys(secrets bool, own ...keymap.Key) []keymap.Key {
	keys, k := p.view.Hints(), p.env.Keys
	if p.view.Searching() {
		return keys
	}
	keys = append(append(keys, p.cursor.hints()...), own...)
	if secrets && p.env.Masked() {
		reveal := k.Global.Reveal
		reveal.Extra = false
		keys = append(keys, reveal)
	}
	return append(append(keys, keymap.All(&k.Nav)...), k.Global.Reload, k.Viewer.Search)
}

// Failed returns the content of a page that could not be read.
func (p *Page) Failed(err *api.Error) Content {
	th, g := p.env.Theme, &p.env.Keys.Global
	if th.Linear {
		return Content{Lines: []string{err.Public, remedy.Plain(err)}}
	}
	return Content{Problem: 1, Lines: []string{th.Bad.Render(th.Signs.Bad + " " + err.Public),
		th.Dim.Render(remedy.Screen(err)), "",
		th.Dim.Render(g.Reload.Help().Key + " tries again, " + g.Back.Help().Key + " goes back.")}}
}

// NotReread returns the lines that say that the page is of an earlier read; nil if it is not.
func (p *Page) NotReread() []string {
	if p.Err == nil {
		return nil
	}
	return []string{p.env.ReloadFailed(p.Err)}
}

// ReloadFailed says that what is shown is of an earlier read, why, and how to read it again: one line, to be wrapped
// and not cut.
func (e *Env) ReloadFailed(err *api.Error) string {
	return e.Theme.Warn.Render(e.Theme.Signs.Warn + " Reload failed: " + strings.TrimRight(safe(err.Public), ".") + ". " +
		e.Way(e.Keys.Global.Reload) + " tries again.")
}

// Problem returns the sentence of an error for Source, "" for none.
func Problem(err *api.Error) string {
	if err == nil {
		return ""
	}
	return err.Public
}

// The widths from which sections are beside each other: on most pages, and on those of which both columns are narrow.
const (
	besideFrom = 140 - Margins
	narrowFrom = 120 - Margins
)

// narrowColumn is the least width of the right column: a label and an id of 36 cells.
const narrowColumn = 57

// Widths returns the cells of the left and the right part of the page; right is 0 in a
// window that is too narrow for both.
func (p *Page) Widths() (left, right int) {
	from := besideFrom
	if p.Narrow {
		from = narrowFrom
	}
	if p.W < from || p.env.Theme.Linear {
		return p.W, 0
	}
	right = max(p.W*2/5, narrowColumn)
	return p.W - right - 3, right
}

// Inner returns how wide the lines of a section are in a column of w cells: they are below its heading.
func (p *Page) Inner(w int) int {
	return max(w-widget.Indent(p.env.Theme, w), 1)
}

// columns divides sections into the left and the right column, and those below both.
func (p *Page) columns(list []Section) (main, side, below []Section) {
	_, right := p.Widths()
	for _, s := range list {
		switch {
		case right == 0 || !s.Beside && !s.Below:
			main = append(main, s)
		case s.Beside:
			side = append(side, s)
		default:
			below = append(below, s)
		}
	}
	return main, side, below
}

// Layout lays out the lines again.
func (p *Page) Layout() {
	p.screen.Refresh()
	c := p.screen.Content()
	p.problem = c.Problem
	main, side, below := p.columns(c.Sections)
	p.cursor.follow(Content{Sections: slices.Concat(main, side, below)}.Links())
	var lines []string
	lines, p.cursor.line = p.draw(c)
	p.view.SetLines(lines)
	p.view.SetSize(p.W, p.H)
}

// Draw lays content out in W cells without a cursor, for the preview beside a list.
func (p *Page) Draw(c Content) []string {
	p.cursor.links = nil
	lines, _ := p.draw(c)
	return lines
}

// draw lays content out: its lines, then its sections, and those with Beside to the right of
// the others if there is room. line is the line of the cursor.
func (p *Page) draw(c Content) (out []string, line int) {
	main, side, below := p.columns(c.Sections)
	above := 0
	for _, l := range c.Lines {
		above += max(len(draw.Wrap(l, max(p.W, 2))), 1)
	}
	if left, right := p.Widths(); len(side) == 0 {
		out, line = p.sections(main, p.W, above)
	} else {
		l, on := p.sections(main, left, above)
		r, beside := p.sections(side, right, above)
		out, line = widget.Beside(l, r, left), max(on, beside)
	}
	if more, on := p.sections(below, p.W, above+len(out)); len(more) > 0 {
		if on >= 0 {
			line = len(out) + on
		}
		out = append(out, more...)
	}
	if len(c.Lines) == 0 && len(out) > 0 && out[0] == "" { // no empty line above the first heading
		out, line = out[1:], max(line-1, -1)
	}
	if line >= 0 {
		line += len(c.Lines)
	}
	return append(slices.Clip(c.Lines), out...), line
}

// Screenful is how many lines of the page are seen at once while there are more.
func (p *Page) Screenful() int { return max(p.H-1, 1) }

// toNext returns by how many lines n lines that begin at line at are moved so that a screenful shows all of them; 0 if
// one does already, or none can.
func (p *Page) toNext(at, n int) int {
	if on := at % p.Screenful(); on+n > p.Screenful() && n <= p.Screenful() {
		return p.Screenful() - on
	}
	return 0
}

// sections draws sections of w cells below each other; above is how many lines are above them. Consecutive sections of
// facts are in two columns if there is room.
func (p *Page) sections(list []Section, w, above int) (out []string, line int) {
	th := p.env.Theme
	line = -1
	label := 0 // the values of all sections are in one column
	for _, s := range list {
		for _, f := range s.Facts {
			label = max(label, draw.Width(f.Label))
		}
	}
	headed := slices.ContainsFunc(list, func(s Section) bool { return s.Title != "" })
	var facts []widget.Pair
	add := func(lines []string, at int) {
		if at >= 0 {
			line = len(out) + at
		}
		out = append(out, lines...)
	}
	pairs := func(list []widget.Pair) { // a page scrolls, so no value is cut
		list = slices.Clone(list)
		for i := range list {
			list[i].Long = true
		}
		add(widget.PairsAt(th, list, w, label, headed, p.cursor.link().ID))
	}
	flush := func() {
		if len(facts) > 0 {
			out = append(out, "")
			pairs(facts)
		}
		facts = nil
	}
	for _, s := range list {
		if len(s.Lines) == 0 && s.Hint == "" && !s.Apart {
			facts = append(append(facts, widget.Pair{Value: s.Title}), s.Facts...)
			continue
		}
		flush()
		head := th.Title.Render(cmp.Or(s.Drawn, s.Title))
		if s.Hint != "" {
			head += th.Dim.Render("  " + s.Hint)
		}
		if out = append(out, ""); cmp.Or(s.Drawn, s.Title) != "" {
			out = append(out, head)
		}
		pairs(s.Facts)
		if n := p.toNext(above+len(out), len(s.Lines)); s.Whole != "" && n > 0 {
			out = append(append(out, th.Dim.Render(s.Whole)), make([]string, n-1)...)
		}
		add(widget.LinesAt(th, s.Lines, s.Links, w, s.Hang, headed, p.cursor.link().ID))
	}
	flush()
	return out, line
}

// Then processes an answer, in the update loop of the screen that asked.
type Then func() (Action, tea.Cmd)

type readMsg struct {
	Ticket
	loads *Requests
	then  Then
}

// Read runs a read in a command. The command owns copies of its data and returns the function
// that processes the answer. Answers to older reads of the same loads are dropped; with nil loads
// none is.
func (e *Env) Read(loads *Requests, read func(ctx context.Context) Then) tea.Cmd {
	t, ctx := e.Ticket(), e.Ctx
	if loads != nil {
		t, ctx = loads.Start(ctx)
	}
	return func() tea.Msg { return readMsg{t, loads, read(ctx)} }
}

// Reading is Read of one value; got receives the value and the time when it was read.
func Reading[T any](e *Env, loads *Requests, read func(ctx context.Context) (T, error),
	got func(v T, at time.Time, err error)) tea.Cmd {
	now := e.Now
	return e.Read(loads, func(ctx context.Context) Then {
		v, err := read(ctx)
		at := now()
		return func() (Action, tea.Cmd) {
			got(v, at, err)
			return nil, nil
		}
	})
}

type writeMsg struct {
	Ticket
	then   Then
	notice Notify // shown instead if the screen was closed in the meantime
}

// Write sends a write in a command, with a context that outlives the screen. send returns the
// function that processes the answer, which is never stale, and the notice for the case that
// the screen was closed in the meantime.
func (e *Env) Write(send func(ctx context.Context) (Then, Notify)) tea.Cmd {
	t, ctx := e.Ticket(), e.Root
	return func() tea.Msg {
		then, notice := send(ctx)
		return writeMsg{t, then, notice}
	}
}

// Answered processes an answer of Read or Write; false if msg is not such an
// answer. Page and list.List call it for the screens that embed them.
func Answered(msg tea.Msg) (Action, tea.Cmd, bool) {
	switch msg := msg.(type) {
	case readMsg:
		if msg.loads != nil && !msg.loads.Accept(msg.Ticket) {
			return nil, nil, true
		}
		a, cmd := msg.then()
		return a, cmd, true
	case writeMsg:
		a, cmd := msg.then()
		return a, cmd, true
	}
	return nil, nil, false
}

// Item is the object for the keys that copy an id and show JSON.
type Item struct {
	ID, IDWhat string // "the operation id"
	JSON       []byte
	JSONWhat   string // "the operation as JSON"
	Title      string // of the JSON in the viewer
	NoJSON     string // why there is no JSON now
}

// TakeItem handles the keys for the item, with the current masking of its JSON; false if p
// is no such key or there is no item. It calls item only for such a key.
func TakeItem(e *Env, p keymap.Press, item func() Item) (Action, bool) {
	k := e.Keys.Item
	id, raw := k.CopyID.Match(p), k.Raw.Match(p)
	if !id && !raw && !k.CopyJSON.Match(p) {
		return nil, false
	}
	switch i := item(); {
	case id && i.ID != "":
		return Copy{Text: i.ID, What: i.IDWhat}, true
	case id:
	case i.NoJSON != "":
		return Notify{Level: Denied, Text: i.NoJSON}, true
	case len(i.JSON) == 0:
	case raw:
		return Raw{Title: i.Title, JSON: i.JSON}, true
	default:
		return Copy{Text: string(mask.JSONIf(i.JSON, e.Masked())), What: i.JSONWhat}, true
	}
	return nil, false
}
