// Package plain is the plain mode: the console for screen readers and for
// terminals that can do nothing but print. It hosts the same screens as the drawn
// console and talks with a person line by line: menus with numbers, commands made
// from the screens' keys, prompts, questions and announcements. It writes lines of
// safe text that end in LF and nothing else: no escape sequence, no cursor
// movement, no line that is drawn twice. Prompts are lines too, and end in a colon.
//
// Talk is the conversation: it reads lines, asks, and prints. Host connects it to a ui.Shell:
// it presses keys there, runs the commands of the screens until all have
// finished, and prints the ui.Content of the screens. A new
// screen or key needs no code here.
//
// A line counts when it is finished. The other end may be a terminal that edits
// lines itself, a pipe, or a raw channel: CR and CRLF end lines as well,
// backspace and ctrl+u edit, ctrl+c interrupts, ctrl+d on an empty line is the
// end of input, and whatever escape sequences arrow keys send is dropped.
package plain

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/format"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// How a person leaves the place where they are.
var (
	ErrBack        = errors.New("plain: back")
	ErrHome        = errors.New("plain: to the main menu")
	ErrQuit        = errors.New("plain: quit")
	ErrEnd         = errors.New("plain: end of input")
	ErrInterrupted = errors.New("plain: interrupted")
	ErrGone        = errors.New("plain: the other end is gone") // a write failed
	ErrNoSecret    = errors.New("plain: input cannot be hidden here")
)

// Place is an entry of the main menu.
type Place struct {
	Name string
	Word string // the command that opens it
	ui.Place
	ByID bool // it is of an operation, whose id is asked for
	IDs  bool // an id may be typed behind its name
}

// HostOptions say what a Host needs to know beside the shell. News and Now are
// required.
type HostOptions struct {
	Ground string // the context and the person in a sentence, said before each question
	Places []Place
	Now    func() time.Time
	// News returns the events since its last call; look: it reads the store first, else it
	// returns only those that are already known.
	News func(ctx context.Context, look bool) []tea.Msg
	// Said returns sentences for news that no screen shows. nil: none.
	Said func(tea.Msg) []string
	// NoFiles returns why the person cannot use files of this host, "" if they can.
	NoFiles string
}

// Host prints what a shell would draw, and presses its keys. It belongs to one goroutine.
type Host struct {
	*reader
	loop    *loop
	base    ui.Screen // the one that was opened from the main menu
	news    bool      // the current output is about an event, not a command
	refused string    // the command that cannot be used; its reason is printed next
}

// NewHost returns a host that uses t for input and output.
func NewHost(t *Talk, opt HostOptions) *Host {
	return &Host{reader: &reader{talk: t, opt: opt, home: true},
		loop: &loop{results: make(chan result), closed: make(chan struct{}), running: map[uint64]bool{}}}
}

// leads are the words before notices.
var leads = map[ui.Level]string{ui.Success: "Done. ", ui.Warning: "Attention. ", ui.Error: "Failed. "}

// Report prints a notice or the text of a Copy; it is for ui.Options.Report.
func (h *Host) Report(a ui.Action) {
	switch a := a.(type) {
	case ui.Notify:
		lead := ""
		switch {
		case h.refused != "":
			lead, h.refused = h.refused+" cannot be used now. ", ""
		case h.news:
			lead = "News. "
		}
		h.talk.Say(lead + leads[a.Level] + a.Text)
	case ui.Copy:
		what := cmp.Or(a.What, "the text")
		h.talk.Say(strings.ToUpper(what[:1]) + what[1:] + ":")
		h.talk.Whole(strings.Split(a.Text, "\n")...)
	}
}

func (h *Host) update(msg tea.Msg) tea.Cmd {
	if h.opt.Said != nil {
		for _, s := range h.opt.Said(msg) {
			h.talk.Say("News. " + s)
		}
	}
	_, cmd := h.sh.Shell.Update(msg)
	return cmd
}

// Run runs until the person quits (ErrQuit) or interrupts it (ErrInterrupted), the input
// ends (ErrEnd), or a write fails (ErrGone).
func (h *Host) Run(ctx context.Context, sh *ui.Shell) error {
	defer close(h.loop.closed)
	h.sh = ui.Driver{Shell: sh}
	h.loop.start(tea.Batch(sh.Init(), func() tea.Msg {
		return tea.WindowSizeMsg{Width: ui.PlainWidth, Height: pageRows + 8}
	}), false)
	err := h.settle(ctx)
	if err == nil {
		err = h.converse(ctx)
	}
	if !h.loop.quit {
		h.loop.start(sh.Leave(), false)
		if left := h.settle(context.WithoutCancel(ctx)); !errors.Is(left, ErrQuit) {
			return left
		}
	}
	return err
}

func (h *Host) converse(ctx context.Context) error {
	h.sayHome()
	for {
		if err := h.readNews(ctx); err != nil {
			return err
		}
		line, err := h.talk.prompt(ctx, h.prompt())
		if err == nil {
			err = h.take(ctx, line)
		}
		h.talk.ahead = ""
		if errors.Is(err, ErrHome) {
			h.home = true
			if err = h.run(ctx, h.sh.Home()); err == nil {
				h.sayHome()
			}
		}
		switch {
		case errors.Is(err, ErrBack):
			h.talk.Say("Unchanged.")
		case err != nil:
			return err
		}
	}
}

// readNews prints the events since the last prompt.
func (h *Host) readNews(ctx context.Context) error {
	before := h.seen()
	looking, cancel := context.WithTimeout(ctx, leaveIn)
	list := h.opt.News(looking, true)
	cancel()
	h.news = true
	for _, m := range list {
		h.loop.start(h.update(m), false)
	}
	h.loop.start(h.sh.Elapse(), false)
	h.loop.start(h.update(ui.Tick{}), false)
	err := h.settle(ctx)
	h.news = false
	if now := h.seen(); err == nil && !h.home && len(list) > 0 && now.of == before.of && now.differs(before) {
		h.talk.Say("This screen has changed. again shows it.")
		h.said = now
	}
	return err
}

// run runs the shell's commands, waits for them, and handles the resulting
// dialogs.
func (h *Host) run(ctx context.Context, cmd tea.Cmd) error {
	h.loop.start(cmd, false)
	if err := h.settle(ctx); err != nil {
		return err
	}
	return h.dialogs(ctx)
}

func (h *Host) press(ctx context.Context, k keymap.Key) error { return h.run(ctx, h.update(k.Msg())) }

// open opens a place and prints it.
func (h *Host) open(ctx context.Context, p Place) error {
	before := h.sh.Shell.Top()
	if p.ByID {
		h.loop.start(h.sh.Shell.AskID(p.Kind), false)
		if err := h.dialogs(ctx); err != nil {
			return err
		}
		if h.sh.Shell.Top() == before && before.Place().ID == "" {
			return nil
		}
	} else if err := h.run(ctx, h.sh.Show(p.Place)); err != nil {
		return err
	}
	if h.home {
		h.home, h.base = false, h.sh.Shell.Top()
	}
	h.sayScreen()
	return nil
}

// take performs a typed line.
func (h *Host) take(ctx context.Context, typed string) error {
	word, arg, _ := strings.Cut(typed, " ")
	arg = strings.TrimSpace(arg)
	h.loop.start(h.sh.ReadVerdict(), false)
	if err := h.settle(ctx); err != nil {
		return err
	}
	if n, ok := number(word); ok && arg == "" {
		return h.number(ctx, n)
	}
	if typed == "" {
		h.talk.Say("Nothing was typed.")
		return nil
	}
	all, near := h.commands(), ""
	for _, c := range all {
		if c.key == word || c.is(strings.ToLower(word)) {
			return c.do(ctx, arg)
		}
	}
	for _, c := range all {
		if strings.EqualFold(typed, c.name) { // a name of several words
			return c.do(ctx, "")
		}
		if near == "" && len(word) > 1 && strings.HasPrefix(c.name, strings.ToLower(word)) {
			near = " Did you mean " + c.name + "?"
		}
	}
	if !h.home {
		for _, s := range h.content().Sections {
			if strings.EqualFold(s.Title, typed) {
				h.talk.Say(h.section(s)...)
				return nil
			}
		}
	}
	if do, why, ok := h.sh.Named(typed, !h.home); ok { // a word of the palette; the menu is over a screen
		if why != "" {
			h.refused = typed
			return h.run(ctx, do())
		}
		return h.after(ctx, h.run(ctx, do()), keymap.Key{})
	}
	h.talk.Say("There is no command " + typed + " here." + near + " ? lists the commands.")
	return nil
}

// number reads a word as a number, with or without a full stop.
func number(word string) (n int, ok bool) {
	n, err := strconv.Atoi(strings.TrimSuffix(word, "."))
	return n, err == nil
}

// number opens the place or the row of a number.
func (h *Host) number(ctx context.Context, n int) error {
	if h.home {
		if n < 1 || n > len(h.opt.Places) {
			h.talk.Say("Type a number from 1 to " + strconv.Itoa(len(h.opt.Places)) + ".")
			return nil
		}
		return h.open(ctx, h.opt.Places[n-1])
	}
	list := h.sh.Map().List.Open
	switch links := len(h.opening()); {
	case h.point(n):
		return h.after(ctx, h.press(ctx, list), list)
	case links > 0:
		h.talk.Say("Type a number on this page: 1 to " + format.Count(links) + ".")
		return nil
	case !h.selectRow(n):
		return nil
	}
	for _, k := range h.sh.Keys() {
		if k.Name == list.Name && k.Enabled() {
			return h.key(ctx, k, "")
		}
	}
	h.talk.Say(widget.Sentences(h.content().Detail)...)
	h.said = h.seen()
	return nil
}

// point puts the cursor of a page on what opens something by its number; false: there
// is none of that number.
func (h *Host) point(n int) bool {
	links := h.opening()
	return n >= 1 && n <= len(links) && h.sh.Shell.Top().(ui.Linker).Point(links[n-1].ID)
}

// selectRow puts the cursor on a row of the page; false after saying why not.
func (h *Host) selectRow(n int) bool {
	t := h.content().Table
	if t == nil || t.Cursor.Len() == 0 {
		h.talk.Say("There are no rows here.")
		return false
	}
	from, to := t.Cursor.Visible()
	s, ok := h.sh.Shell.Top().(ui.Selecter)
	if n <= from || n > to || !ok || !s.Select(t.Cursor.Row(n-1).ID) {
		h.talk.Say("Type a number on this page: " + format.Count(from+1) + " to " + format.Count(to) + ".")
		return false
	}
	return true
}

const (
	// grace is how long commands are waited for while no screen says that it waits and
	// none answers: the one that still runs then waits for events, not for an answer.
	grace = 300 * time.Millisecond
	// leaveIn is how long a store that hangs may hold up what is said before a prompt.
	leaveIn = 2 * time.Second
)

// progressAt has the times at which a long wait is reported; after them each minute.
var progressAt = [...]time.Duration{3 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute}

// result is a message of a command; done: the command has ended.
type result struct {
	id   uint64
	msg  tea.Msg
	done bool
}

// loop runs the commands of a shell, each in a goroutine; the rest belongs to the one of the conversation.
type loop struct {
	results chan result
	closed  chan struct{} // nobody receives any more
	last    uint64
	running map[uint64]bool // by command: true when no one waits for it any more
	quit    bool
}

// start runs a command away from the conversation.
func (l *loop) start(cmd tea.Cmd, unawaited bool) {
	if cmd == nil {
		return
	}
	l.last++
	id := l.last
	l.running[id] = unawaited
	go func() {
		l.run(id, cmd, false)
		l.post(result{id: id, done: true})
	}()
}

func (l *loop) post(r result) {
	select {
	case l.results <- r:
	case <-l.closed:
	}
}

// run runs a command. The parts of a sequence, whose type the framework keeps to itself, are run in turn, each with all
// that it comes to.
func (l *loop) run(id uint64, cmd tea.Cmd, inTurn bool) {
	if cmd == nil {
		return
	}
	msg, list := cmd(), reflect.TypeFor[[]tea.Cmd]()
	_, batch := msg.(tea.BatchMsg)
	if v := reflect.ValueOf(msg); v.IsValid() && v.Type().ConvertibleTo(list) && (inTurn || !batch) {
		for _, c := range v.Convert(list).Interface().([]tea.Cmd) {
			l.run(id, c, true)
		}
		return
	}
	l.post(result{id: id, msg: msg})
}

// take hands a message to update, which returns what is to be run next.
func (l *loop) take(r result, update func(tea.Msg) tea.Cmd) {
	unawaited := l.running[r.id]
	switch msg := r.msg.(type) {
	case nil:
	case tea.QuitMsg:
		l.quit = true
	case tea.BatchMsg:
		for _, c := range msg {
			l.start(c, unawaited)
		}
	default:
		l.start(update(msg), unawaited)
	}
	if r.done {
		delete(l.running, r.id)
	}
}

// drain takes the messages that are there.
func (l *loop) drain(update func(tea.Msg) tea.Cmd) {
	for {
		select {
		case r := <-l.results:
			l.take(r, update)
		default:
			return
		}
	}
}

// idle reports whether nothing runs that someone waits for.
func (l *loop) idle() bool {
	for _, unawaited := range l.running {
		if !unawaited {
			return false
		}
	}
	return true
}

// settle waits until the screens have what they asked for and says now and then
// that it continues. When ctx ends, what was not sent is dropped and what was sent is
// awaited.
func (h *Host) settle(ctx context.Context) error {
	began, still, calm := time.Now(), 0, time.Time{}
	done := ctx.Done()
	for {
		h.loop.drain(h.update)
		doing, busy := h.busy()
		switch now := time.Now(); {
		case h.loop.quit && ctx.Err() != nil:
			return ErrInterrupted
		case h.loop.quit:
			return ErrQuit
		case h.loop.idle():
			return nil
		case busy:
			calm = time.Time{}
		case calm.IsZero():
			calm = now
		case now.Sub(calm) >= grace: // nobody waits for what still runs
			for id := range h.loop.running {
				h.loop.running[id] = true
			}
			return nil
		}
		due := progressAt[min(still, len(progressAt)-1)] + time.Duration(max(still-len(progressAt)+1, 0))*time.Minute
		next := time.Until(began.Add(due))
		if !calm.IsZero() {
			next = min(next, time.Until(calm.Add(grace)))
		}
		select {
		case r := <-h.loop.results:
			if !h.loop.running[r.id] { // more may follow from an answer
				calm = time.Time{}
			}
			h.loop.take(r, h.update)
		case <-done:
			done = nil
			h.loop.start(h.sh.Shell.Leave(), false)
		case <-time.After(next):
			if time.Since(began) >= due {
				still++
				h.still(ctx, cmp.Or(doing, "working"), due)
			}
		}
	}
}

// still says that a wait continues, and why if a call takes long.
func (h *Host) still(ctx context.Context, doing string, so time.Duration) {
	for _, m := range h.opt.News(ctx, false) {
		h.loop.start(h.update(m), true)
	}
	far := format.Plural(int(so/time.Second), "second", "seconds")
	if so >= time.Minute {
		far = format.Plural(int(so/time.Minute), "minute", "minutes")
	}
	h.talk.Say(strings.TrimSpace("Still " + doing + ", " + far + " so far. " + h.sh.CallWaits()))
}

// busy reports whether a screen or a write waits for an answer, and what for.
func (h *reader) busy() (doing string, yes bool) {
	if sent := h.sh.Waiting(); len(sent) > 0 {
		return "waiting for the answer to: " + List(sent), true
	}
	if h.sh.Searching() {
		return "searching the index", true
	}
	top := h.sh.Shell.Top()
	if top == nil {
		return "", false
	}
	c := h.content()
	switch {
	case c.Doing != "":
		return c.Doing, true
	case top.Source().Loading:
		return "reading " + top.Title(), true
	case c.Table != nil:
		from, to := c.Table.Cursor.Visible()
		for i := from; i < to; i++ {
			if c.Table.Cursor.Row(i).ID == "" { // not read yet
				return "reading rows", true
			}
		}
	}
	return "", false
}
