// Package ui is the shell of the console, a tea.Model. It owns the layout, the
// stack of screens, the dialogs, the notices, the palette, the help and the clock.
// Screens (packages views/...) are tea.Models made by a Factory. Each requests an Action (Wants), which
// the shell takes right after Update, and does not know the other screens.
// Forms are tea.Models too (Form): a dialog runs the form that an Ask describes, or a form that the
// screen built and passes with Fill.
//
// Shell consists of parts with separate state; each is given those that it depends on: window (size,
// theme, keys), screenStack, dialogStack, sentWrites, activity, idleLock, topLine (session, budgets),
// statusLine (notices, hints), router (which screen gets what) and wakes. The router calls the shell
// only through Actions. Plain mode uses a Driver to operate a shell that is not drawn.
//
// # How to write a screen
//
// A screen is a struct with the methods of Screen; its constructor gets an Env. One
// that is text embeds Page, one that is rows embeds list.List: they hold keys, reload,
// search, size and drawing, and call what the screen adds (PageScreen, list.Screen).
//
//	type Screen struct {
//		ui.Page
//		env     *ui.Env
//		session Session // what this screen asks beside the service; calls of the service go by endpoint.Do
//		keys    keymap.Session // a copy: switched on and off here
//		st      session.Status
//	}
//
//	func (s *Screen) Reload() tea.Cmd {
//		shared := s.session // a copy: the command runs elsewhere
//		return s.env.Read(s.Loads, func(ctx context.Context) ui.Then { // cancels the read before
//			st, err := shared.Status(ctx)
//			return func() (ui.Action, tea.Cmd) { // in the update loop, unless it is the answer to an older read
//				if s.Err = api.AsError(err); err == nil {
//					s.st = st
//				}
//				return nil, nil
//			}
//		})
//	}
//
//	func (s *Screen) Content() ui.Content // what is shown: Page draws it, plain mode says it
//	func (s *Screen) OwnKey(p keymap.Press) (ui.Action, tea.Cmd, bool)
//
// Keys lists the keys of the screen: the hint line, the help, the palette and the
// "why off" answers come from it. A key that cannot be used now is switched off
// with its reason, s.keys.Remove.Set("The document is locked."); the shell says it
// when the key is pressed. Keys of read-only mode or of the role stay off whatever
// a screen does.
//
// # Rules
//
//   - Only commands send requests, never Init's body, Update or View.
//     A command owns copies of its data. View changes nothing.
//   - An answer embeds the Ticket of its request. The shell takes it to the screen
//     that asked, wherever it is in the stack, and drops it if the screen is closed: then
//     Env.Ctx ends, and with it the reads. A write goes through Env.Write, whose line
//     the shell shows even after the screen was closed.
//   - Every write asks with Confirm; the shell waits for it before it exits.
//   - Text from outside goes through ui/draw: titles, notices, facts, cells. ID and
//     Copy.Text are taken exactly.
//   - Text that changes with time needs a Ticker, never a tick of its own.
//   - A value of a page that a person would open or copy has a widget.Link, in a fact
//     or a line (Section.Links): the cursor reaches it, y copies it, plain mode numbers
//     those that open something, and the screen opens Page.Link on enter.
//   - The screen gets esc and q first: return Handled if it closed something (a filter,
//     marks), nil to go back. tab, shift+tab and r belong to the
//     screen. While Editing is true, so do all keys except ctrl+c.
//
// Optional interfaces: Ticker, Drawer, UnsavedText, SubjectOf, HelpTopic, Commander.
// Package uitest drives a shell with a fake factory and checks every frame; its time
// passes only in Wait. uitest.Pure checks that View changes nothing.
package ui

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-osc52/v2"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"opdeck/api/evidence"
	"opdeck/internal/act"
	"opdeck/internal/domain/verdict"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/paint"
	"opdeck/ui/theme"
)

// Options are the settings and functions that the console passes to the shell.
type Options struct {
	Context context.Context // ends the console's reads and unsent writes
	About   About
	Theme   *theme.Theme // nil: dark, for standard output
	Make    Factory
	Start   Place             // the root screen; KindOperations when empty
	Feeds   []tea.Cmd         // each waits for one message and returns it as Fed
	Keys    map[string]string // other presses by the names of keys, without conflicts; see keymap.Remap
	// May returns why the person's role may not press a key, "" if it may. nil: all keys are allowed.
	May func(k keymap.Key) (why string)
	// OnBarred is called after the person pressed a key whose act read-only mode or the role forbids;
	// the shell runs the command that it returns.
	OnBarred func(a *act.Act, at Place) tea.Cmd
	UTC      bool // show UTC at first
	Local    *time.Location
	Mask     bool // mask account numbers and the like
	// IdleLock is the time without a key after which the screen goes blank until the next key;
	// 0: never. It closes open questions.
	IdleLock time.Duration
	// Reveal is called before masked values are shown: it records that, and may
	// refuse.
	Reveal func(ctx context.Context, at Place) error
	// NoPreview hides the previews of lists at first. KeepPreview saves the person's change of
	// this; it is called in a command.
	NoPreview   bool
	KeepPreview func(ctx context.Context, on bool)
	Finder      Finder // of local objects by typed text
	Filters     FilterMemory
	// Commands returns further commands for the palette; it is called when the palette opens, and
	// must not wait.
	Commands func() []Command
	// Themes returns the theme of a name of theme.Names for this output; nil: the theme is fixed.
	Themes func(name string) *theme.Theme
	// KeepTheme saves the person's theme; it is called in a command.
	KeepTheme func(ctx context.Context, name string) error
	// Contexts are the other contexts that the person can switch to, with what is known of them.
	Contexts []About
	// OnPlace is called with the person's place, and whether a question about a write is
	// open, after each change of these. It must not block.
	OnPlace func(At)
	// Verdict reads what is wrong, without a call to the service; nil: only the feeds send it.
	Verdict func(ctx context.Context) verdict.Verdict
	// Report receives notices (Notify) and texts to copy (Copy) if the shell is not
	// drawn. It must not block. nil: they are drawn, and sent to the terminal.
	Report func(Action)

	Clip Clip
	// Copy writes a terminal sequence past the frames; called in a command.
	Copy func(text []osc52.Sequence) error
	// Now and Tick are the clock; nil: the real one.
	Now  func() time.Time
	Tick func(time.Duration, func(time.Time) tea.Msg) tea.Cmd
}

// At is the current place of a person.
type At struct {
	Place  Place
	Asking bool // a question about a write is open
}

// Shell is the tea.Model of the console, created by New. It routes messages and keys;
// each of its parts has separate state and knows only the parts before it.
type Shell struct {
	win      *window
	stack    *screenStack
	dialogs  *dialogStack
	sent     *sentWrites
	head     *topLine
	status   *statusLine
	route    *router
	activity *activity
	lock     *idleLock

	barred  barred
	clicked clicked
	wakes   wakes

	nextContext string // the context to open after this one; "": none

	concluded *evidence.Book // the conclusions of the console's calls
}

// New returns a shell with a key map of its own, so that read-only mode and the role switch off keys
// for this console only.
func New(o Options) *Shell {
	if o.Context == nil {
		o.Context = context.Background()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Tick == nil {
		o.Tick = tea.Tick
	}
	if o.Local == nil {
		o.Local = time.Local
	}
	if o.Theme == nil {
		o.Theme = theme.New(lipgloss.DefaultRenderer(), theme.Night())
	}
	if o.Start == (Place{}) {
		o.Start = Place{Kind: KindOperations}
	}
	s := assemble(&window{
		opt: o, th: o.Theme, keys: keymap.New(), now: o.Now,
		shown: &display{local: o.Local, zone: o.Local, masked: o.Mask, alone: o.NoPreview, readVerdict: o.Verdict},
	})
	s.win.keys.Remap(o.Keys)
	s.lock.lastKey = s.win.now()
	if s.concluded = evidence.Of(o.Context); s.concluded == nil {
		s.concluded = &evidence.Book{}
		o.Context = evidence.In(o.Context, s.concluded)
	}
	s.win.root, s.win.end = context.WithCancel(o.Context)
	if o.UTC {
		s.win.shown.zone = time.UTC
	}
	if o.About.ReadOnly {
		s.win.keys.ReadOnly("This context is read-only: nothing can be changed from here.")
	}
	if o.May != nil {
		s.win.keys.Allow(o.May)
	}
	return s
}

// assemble connects the parts of a shell, each with those that it depends on.
func assemble(w *window) *Shell {
	stack, open, sent := &screenStack{win: w, subject: map[string]string{}}, &dialogStack{},
		&sentWrites{writes: map[uint64]string{}}
	act, lock := &activity{}, &idleLock{after: w.opt.IdleLock}
	head := &topLine{win: w, stack: stack, activity: act, budgets: map[string]BudgetFacts{}}
	status := &statusLine{win: w, stack: stack, dialogs: open, sent: sent, activity: act, lock: lock}
	s := &Shell{win: w, stack: stack, dialogs: open, sent: sent, head: head, status: status, activity: act, lock: lock,
		route: &router{win: w, stack: stack, dialogs: open, head: head, status: status}}
	s.route.perform = s.act
	return s
}

// Init opens the first screen and starts waiting for news.
func (s *Shell) Init() tea.Cmd {
	cmds := []tea.Cmd{s.route.open(s.win.opt.Start)}
	cmds = append(cmds, s.win.opt.Feeds...)
	return tea.Batch(append(cmds, s.wakes.schedule(s.next, s.win))...)
}

// Update implements tea.Model. It never waits.
func (s *Shell) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if s.sent.gone {
		return s, nil
	}
	lock := s.lockWhenIdle(s.win.now())
	cmd := tea.Batch(s.take(msg), s.pressPending())
	s.stack.noteTrail()
	s.head.noteLoading()
	s.route.reportPlace()
	for _, o := range s.dialogs.overlays {
		o.layout(s)
	}
	return s, tea.Batch(lock, cmd, s.awaitDrawn(), s.wakes.schedule(s.next, s.win))
}

// noteTrail records the person's place.
func (s *screenStack) noteTrail() {
	if top := s.top(); top != nil {
		s.trail.arrive(top.screen.Place())
	}
}

// reportPlace calls OnPlace if the person's place changed.
func (s *router) reportPlace() {
	if s.stack.top() == nil {
		return
	}
	at := At{Place: s.stack.top().screen.Place()}
	for _, q := range s.dialogs.questions() {
		at.Asking = at.Asking || q.c.then == nil
	}
	if at != s.reported {
		s.reported = at
		s.win.opt.OnPlace(at)
	}
}

// take routes a message by its kind.
func (s *Shell) take(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case nil:
		return nil
	case tea.WindowSizeMsg:
		s.route.resize(msg.Width, msg.Height)
		return nil
	case tea.MouseMsg:
		return s.mouse(msg)
	case tea.KeyMsg:
		return s.key(keymap.Read(msg))
	case keymap.Press:
		return s.key(msg)
	case paint.AfterFrame:
		s.onDrawn(msg)
		return nil
	case do:
		return msg(s)
	case StreamMsg:
		return tea.Batch(s.take(msg.Msg), msg.Next)
	case BatchMsg:
		var cmds []tea.Cmd
		for _, m := range msg {
			cmds = append(cmds, s.take(m))
		}
		return tea.Batch(cmds...)
	case BroadcastMsg:
		return s.route.broadcast(msg)
	case Answer:
		return s.route.answer(msg)
	}
	if top := s.stack.top(); top != nil {
		return s.route.deliver(top, msg)
	}
	return nil
}

// The largest window that is laid out, in cells; a terminal that claims more gets this
// size.
const (
	maxWidth  = 1000
	maxHeight = 500
)

func (s *router) resize(w, h int) {
	s.win.w, s.win.h = min(max(w, 0), maxWidth), min(max(h, 0), maxHeight)
	bw, bh := s.win.body()
	for _, st := range s.stack.stack {
		st.screen.Update(tea.WindowSizeMsg{Width: bw, Height: bh})
	}
	if !s.win.fits() {
		for _, q := range s.dialogs.questions() { // must be drawn again before a key counts
			q.asked, q.drawn = 0, false
		}
	}
}

// View implements tea.Model: it returns exactly the lines of the window, none wider.
func (s *Shell) View() string { return strings.Join(s.Lines(), "\n") }

// Lines returns the view in lines; unchanged lines are the same strings.
func (s *Shell) Lines() []string {
	if s.win.w <= 0 || s.win.h <= 0 {
		return nil
	}
	lines := draw.Lay(s.draw(), s.win.w, s.win.h)
	if s.win.th.Finishes() {
		lines = slices.Clone(lines) // the original is compared with the next frame
		for i, l := range lines {
			lines[i] = s.win.th.Finish(l)
		}
	}
	return lines
}

// visible reports whether dialogs and screens are on the terminal.
func (s *Shell) visible() bool {
	return s.win.fits() && !s.sent.gone && !s.lock.on
}

// draw draws the lines of the window.
func (s *Shell) draw() []string {
	switch {
	case !s.win.fits():
		return []string{draw.Cut("Window too small: needs 20x5.", s.win.w)}
	case s.sent.gone:
		return nil
	case s.lock.on:
		return s.win.blank(len(s.sent.writes) > 0)
	}
	now := s.win.now()
	lines := make([]string, 0, s.win.h)
	body := s.drawBody(now)
	noticed := s.stack.drawn().Problem
	lines = append(lines, s.head.header(now), s.head.rule(now, noticed))
	lines = append(lines, s.head.mapLines()...)
	lines = append(lines, body...)
	if len(lines) < s.win.h {
		if s.win.chrome() >= 4 {
			lines = append(lines, s.status.placeNotice(lines, noticed))
		}
		lines = append(lines, s.status.hints())
	}
	return lines
}

// behindMargin returns h lines, each by cells from the left.
func behindMargin(in []string, by, h int) []string {
	out := make([]string, h)
	for i := range min(h, len(in)) {
		if in[i] != "" {
			out[i] = draw.Space(by) + in[i]
		}
	}
	return out
}

func (s *Shell) drawBody(now time.Time) []string {
	_, h := s.win.body()
	if len(s.dialogs.overlays) > 0 {
		_, h = s.win.area()
	}
	var lines []string
	if top := s.stack.top(); top != nil {
		if l, ok := top.screen.(interface{ Lines() []string }); ok {
			lines = l.Lines()
		} else {
			lines = strings.Split(top.screen.View(), "\n")
		}
	}
	lines = behindMargin(lines, s.win.margin(), h)
	if o := s.dialogs.top(); o != nil { // not those below it, whose torn frames would stick out
		lines = s.cover(o, draw.Lay(lines, s.win.w, h), now)
	}
	return lines
}

// The smallest window that is drawn in full, in cells.
const (
	MinWidth  = 20
	MinHeight = 5
)

// window holds the terminal's size, theme and keys, and facts that do not change while
// the console runs.
type window struct {
	opt   Options
	th    *theme.Theme
	keys  *keymap.Map
	now   func() time.Time
	root  context.Context
	end   context.CancelFunc
	shown *display
	w, h  int
}

// fits reports whether the window has room for dialogs and screens.
func (s *window) fits() bool { return s.w >= MinWidth && s.h >= MinHeight }

// Margins is the number of cells beside a screen, half of them on each side, in all but narrow windows.
const Margins = 2

// margin returns the cells to the left of the screen, and as many are to its right.
func (s *window) margin() int {
	if s.compact() || s.th.Linear {
		return 0
	}
	return Margins / 2
}

// body returns the size of screens.
func (s *window) body() (w, h int) {
	return s.w - 2*s.margin(), max(s.h-s.chrome(), 0)
}

// chrome returns the number of lines of the shell: header, rule, hints and, if there
// is room, the line for notices.
func (s *window) chrome() int {
	if s.h < 8 {
		return 3
	}
	return 4 + s.mapped()
}

// headed returns the number of lines above the screen: header, rule and map.
func (s *window) headed() int { return 2 + s.mapped() }

// area returns the room for dialogs: the body, and in a low window also the lines below it.
func (s *window) area() (w, h int) {
	_, h = s.body()
	if s.h < 12 {
		h = s.h - 2
	}
	return s.w, h
}

// The shortest intervals between wake-ups of the shell and of a screen, so that a mistake
// in a Ticker does not cause a busy loop.
const (
	soonest       = 10 * time.Millisecond
	soonestScreen = 250 * time.Millisecond
)

// What changes in more than farOff, an age in steps of ten seconds, may change as much as delay after its time: then
// ages that change one after the other are drawn once.
const (
	farOff = 5 * time.Second
	delay  = time.Second
)

// next is the time when drawn text changes next; zero if none does.
func (s *Shell) next(now time.Time) time.Time {
	switch {
	case s.lock.on: // the screen is blank
		return time.Time{}
	case !s.visible():
		return Sooner(s.win.shown.revealed, s.lock.lockAt(s.sent.leaving))
	}
	at := s.head.headerNext(now)
	if top := s.stack.top(); top != nil {
		if c, ok := top.screen.(Ticker); ok {
			if t := c.NextTick(now); !t.IsZero() {
				s.wakes.screen = Sooner(s.wakes.screen, later(t, now.Add(soonestScreen)))
			}
		}
		at = Sooner(at, s.wakes.screen)
	}
	if at.Sub(now) > farOff {
		at = at.Add(delay)
	}
	at = Sooner(at, s.status.notice.until, s.win.shown.revealed, s.lock.lockAt(s.sent.leaving))
	for _, o := range s.dialogs.overlays {
		at = Sooner(at, o.counts(s, now))
	}
	if !at.IsZero() {
		at = later(at, now.Add(soonest))
	}
	return at
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// wakes holds the scheduled wake-ups.
type wakes struct {
	ticks  []tick
	seq    uint64
	screen time.Time // when the screen on top changes; zero: it does not
}

// tick is a scheduled wake-up.
type tick struct {
	seq uint64
	at  time.Time
}

// schedule schedules a wake-up at the next change, unless there is already one that is at
// least as early. It keeps a later one for its own time, so that there are never two
// for the same time.
func (w *wakes) schedule(next func(now time.Time) time.Time, win *window) tea.Cmd {
	now := win.now()
	at := next(now)
	if at.IsZero() {
		return nil
	}
	for _, t := range w.ticks {
		if !t.at.After(at) {
			return nil
		}
	}
	w.seq++
	seq := w.seq
	w.ticks = append(w.ticks, tick{seq, at})
	return win.opt.Tick(at.Sub(now), func(time.Time) tea.Msg {
		return do(func(s *Shell) tea.Cmd { return s.ticked(seq) })
	})
}

// ticked handles a wake-up: it removes what has expired, and tells the screen on top if it is due.
func (s *Shell) ticked(seq uint64) tea.Cmd {
	n := len(s.wakes.ticks)
	s.wakes.ticks = slices.DeleteFunc(s.wakes.ticks, func(t tick) bool { return t.seq == seq })
	if len(s.wakes.ticks) == n {
		return nil
	}
	now := s.win.now()
	s.status.expireNotice(now)
	cmd := s.maskAgain(now)
	if due := s.wakes.screen; due.IsZero() || due.After(now) || !s.visible() {
		return cmd
	}
	s.wakes.screen = time.Time{}
	if top := s.stack.top(); top != nil {
		return tea.Batch(cmd, s.route.deliver(top, Tick{}))
	}
	return cmd
}

// Environment is the kind of service that the console uses.
type Environment uint8

// The environments.
const (
	Sandbox Environment = iota
	Test
	Production
)

// Word is the word for the environment, which is always on screen.
func (g Environment) Word() string {
	switch g {
	case Production:
		return "PRODUCTION"
	case Test:
		return "TEST"
	}
	return "SANDBOX"
}

// About holds facts that do not change while the console runs.
type About struct {
	Context     string // name of the config's context
	Environment Environment
	ReadOnly    bool
	Person      string // who; from the SSH key, or empty
	Role        string
	// Remote is the start of a command line that runs this program over SSH:
	// "ssh -p 2222 ana@192.0.2.7"; "" on a local terminal. Over SSH the person cannot
	// use files of the host.
	Remote string
	// SecondPerson: a write waits for the approval of another person.
	SecondPerson bool
	// Proxy is the proxy for calls to the service, without credentials; "" for none.
	Proxy string
}

// Env is the environment of one screen, from its creation on. Its fields do not change; Zone and
// Masked may, and the shell then sends DisplayChanged.
type Env struct {
	// Ctx ends when this screen is closed: the parent of its reads.
	Ctx context.Context
	// Root ends when the console exits: the parent of writes. The shell then drops a write
	// that was not sent; one that was sent must finish.
	Root  context.Context
	Now   func() time.Time
	Theme *theme.Theme
	Keys  *keymap.Map // copy your group; never switch keys off in this map
	About About

	filters FilterMemory
	id      screenID
	screen  Screen // nil until it is made
	shared  *display
}

type display struct {
	zone     *time.Location
	local    *time.Location
	masked   bool
	revealed time.Time // end of the current reveal; zero: none
	alone    bool      // lists show no preview

	found       VerdictFacts // the newest
	reading     bool         // a read of it was begun
	readVerdict func(context.Context) verdict.Verdict
}

func (d *display) hides() bool { return d.masked && d.revealed.IsZero() }

// Preview reports whether lists show a preview of the row under the cursor.
func (e *Env) Preview() bool { return !e.shared.alone }

// SwitchPreview shows or hides the previews of all lists, and saves the choice for the
// person.
func (e *Env) SwitchPreview() Action {
	return do(func(s *Shell) tea.Cmd {
		s.win.shown.alone = !s.win.shown.alone
		keep, ctx, on := s.win.opt.KeepPreview, context.WithoutCancel(s.win.root), !s.win.shown.alone
		return tea.Batch(s.route.broadcast(DisplayChanged{}), func() tea.Msg { keep(ctx, on); return nil })
	})
}

// Proven is the sentence about a write on an object's item ("": on any) that is done. If only a read shows that, it
// says so, and until when a request without an answer may still arrive.
func (e *Env) Proven(object, item, done string) string {
	if c, byRead := evidence.Of(e.Root).ByRead(object, item); byRead {
		done = strings.TrimSpace("A read confirms: " + done + " " + c.Missing())
	}
	return done
}

// Zone returns the time zone of shown times: local or UTC.
func (e *Env) Zone() *time.Location { return e.shared.zone }

// Snapshot returns a copy of the environment for drawing outside the update loop. Later
// changes by the person do not affect it.
func (e *Env) Snapshot() *Env {
	still, shown, th := *e, *e.shared, *e.Theme
	still.shared, still.Theme = &shown, &th
	return &still
}

// Masked reports whether account numbers and the like are drawn masked.
func (e *Env) Masked() bool { return e.shared.hides() }

// FilterMemory keeps the filters that the person in ctx typed, by kind of list. Its functions may wait.
type FilterMemory struct {
	Last func(ctx context.Context, kind string) ([]string, error) // newest first; nil: none is kept
	Keep func(ctx context.Context, kind, text string) error
}

// Filters returns the store of filters.
func (e *Env) Filters() FilterMemory { return e.filters }

// Requests returns the counter of one kind of read of this screen.
func (e *Env) Requests() *Requests { return &Requests{env: e} }

// Ticket routes an answer that is never stale, a write's outcome, to this screen.
func (e *Env) Ticket() Ticket { return Ticket{screen: e.id, layer: layerOf(e.screen)} }

// Sooner returns the earlier of the times that are not zero.
func Sooner(times ...time.Time) time.Time {
	var out time.Time
	for _, t := range times {
		if !t.IsZero() && (out.IsZero() || t.Before(out)) {
			out = t
		}
	}
	return out
}
