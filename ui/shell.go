package ui

import (
	"context"
	"slices"
	"strings"
	"time"

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
	// the shell runs the command that it returns. May be nil.
	OnBarred func(a *act.Act, at Place) tea.Cmd
	UTC      bool // show UTC at first
	Local    *time.Location
	Mask     bool // mask account numbers and the like
	// IdleLock is the time without a key after which the screen goes blank until the next key;
	// 0: never. It closes open questions.
	IdleLock time.Duration
	// Reveal is called before masked values are shown: it records that, and may
	// refuse. nil: they are shown.
	Reveal func(ctx context.Context, at Place) error
	// NoPreview hides the previews of lists at first. KeepPreview saves the person's change of
	// this; it is called in a command. nil: the change ends with the console.
	NoPreview   bool
	KeepPreview func(ctx context.Context, on bool)
	// Finder finds local objects by typed text; nil: only whole ids work.
	Finder  Finder
	Filters FilterMemory
	// Commands returns further commands for the palette; it is called when the palette opens, and
	// must not wait. May be nil.
	Commands func() []Command
	// Themes returns the theme of a name of theme.Names for this output; nil: the theme is fixed.
	Themes func(name string) *theme.Theme
	// KeepTheme saves the person's theme; it is called in a command. nil: the theme ends with the console.
	KeepTheme func(ctx context.Context, name string) error
	// Contexts are the other contexts that the person can switch to, with what is known of them.
	Contexts []About
	// OnPlace is called with the person's place, and whether a question about a write is
	// open, after each change of these. It must not block. May be nil.
	OnPlace func(At)
	// Verdict reads what is wrong, without a call to the service; nil: only the feeds send it.
	Verdict func(ctx context.Context) verdict.Verdict
	// Report receives notices (Notify) and texts to copy (Copy) if the shell is not
	// drawn. It must not block. nil: they are drawn, and sent to the terminal.
	Report func(Action)

	Clip Clip
	// Copy writes a terminal sequence past the frames; called in a command.
	Copy func(seq string) error
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
	hints    *hintBar
	route    *router
	activity *activity
	lock     *idleLock

	barred  barred
	clicked clicked
	laid    draw.Laid
	wakes   wakes

	searches    int    // for typed texts, in the local data, that have not ended
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
	s := &Shell{win: w, stack: stack, dialogs: open, sent: sent, head: head, status: status,
		activity: act, lock: lock,
		hints: &hintBar{win: w, stack: stack, dialogs: open, status: status},
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
	if s.win.opt.OnPlace == nil || s.stack.top() == nil {
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
	case foundMsg:
		return s.onFound(msg)
	case formMsg:
		return s.onForm(msg)
	case moreMsg:
		return s.onMoreItems(msg)
	case themeKept:
		return s.onThemeKept(msg)
	case resolvedMsg:
		s.searches--
		return s.resolved(msg)
	case revealedMsg:
		return s.revealed(msg)
	case tickMsg:
		return s.ticked(msg)
	case StreamMsg:
		return tea.Batch(s.take(msg.Msg), msg.Next)
	case BatchMsg:
		var cmds []tea.Cmd
		for _, m := range msg {
			cmds = append(cmds, s.take(m))
		}
		return tea.Batch(cmds...)
	case writeEndedMsg:
		return s.writeEnded(msg)
	case copiedMsg:
		return s.status.copied(msg)
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
	lines := s.laid.Lay(s.draw(), s.win.w, s.win.h)
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
		lines = append(lines, s.hints.line())
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
	if len(s.dialogs.overlays) > 0 {
		lines = draw.Lay(lines, s.win.w, h)
	}
	for _, o := range s.dialogs.overlays {
		lines = s.cover(o, lines, now)
	}
	return lines
}
