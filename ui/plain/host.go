package plain

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/format"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
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
	loop *loop
	base ui.Screen // the one that was opened from the main menu
	news bool      // the current output is about an event, not a command

	arg     string // unused text after a command
	refused string // the command that cannot be used; its reason is printed next
}

// NewHost returns a host that uses t for input and output.
func NewHost(t *Talk, opt HostOptions) *Host {
	return &Host{reader: &reader{talk: t, opt: opt, home: true}, loop: newLoop()}
}

// Report prints a notice or the text of a Copy; it is for ui.Options.Report.
func (h *Host) Report(a ui.Action) {
	lead := ""
	if h.news {
		lead = "News. "
	}
	switch a := a.(type) {
	case ui.Notify:
		if h.refused != "" {
			lead, h.refused = h.refused+" cannot be used now. ", ""
		}
		switch a.Level {
		case ui.Success:
			lead += "Done. "
		case ui.Warning:
			lead += "Attention. "
		case ui.Error:
			lead += "Failed. "
		}
		h.talk.Say(lead + a.Text)
	case ui.Copy:
		what := a.What
		if what == "" {
			what = "the text"
		}
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
	_, cmd := h.sh.Update(msg)
	return cmd
}

// Run runs until the person quits (ErrQuit) or interrupts it (ErrInterrupted), the input
// ends (ErrEnd), or a write fails (ErrGone).
func (h *Host) Run(ctx context.Context, sh *ui.Shell) error {
	h.sh = ui.Driver{Shell: sh}
	h.loop.take(h.update)
	h.loop.start(tea.Batch(sh.Init(), func() tea.Msg {
		return tea.WindowSizeMsg{Width: ui.PlainWidth,
			Height: pageRows + 8}
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
		if err != nil {
			return err
		}
		h.arg = ""
		switch err := h.take(ctx, line); {
		case errors.Is(err, ErrBack):
			h.talk.Say("Unchanged.")
		case errors.Is(err, ErrHome):
			if err := h.goHome(ctx); err != nil {
				return err
			}
		case err != nil:
			return err
		}
	}
}

// named returns the name of what is open: a page, else the screen.
func (h *reader) named() string {
	names := ui.Named(h.sh.Top())
	return names[len(names)-1]
}

func (h *reader) prompt() string {
	if h.home {
		return "Main menu. A number, a command, or ? for help:"
	}
	if h.content().Table != nil || len(h.opening()) > 0 {
		return h.named() + ". A number, a command, or ? for help:"
	}
	return h.named() + ". A command, or ? for help:"
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
	if now := h.seen(); err == nil && !h.home && len(list) > 0 && now.of == before.of && now != before {
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

func (h *Host) goHome(ctx context.Context) error {
	h.home = true
	if err := h.run(ctx, h.sh.Home()); err != nil {
		return err
	}
	h.sayHome()
	return nil
}

func (h *reader) sayHome() {
	h.talk.Say("Main menu.")
	for i, p := range h.opt.Places {
		h.talk.Say(strconv.Itoa(i+1) + ". " + p.Name + ".")
	}
}

// open opens a place and prints it.
func (h *Host) open(ctx context.Context, p Place) error {
	before := h.sh.Top()
	if p.ByID {
		h.loop.start(h.sh.AskID(p.Kind), false)
		if err := h.dialogs(ctx); err != nil {
			return err
		}
		if h.sh.Top() == before && h.sh.Top().Place().ID == "" {
			return nil
		}
	} else if err := h.run(ctx, h.sh.Show(p.Place)); err != nil {
		return err
	}
	if h.home {
		h.home, h.base = false, h.sh.Top()
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
	if n, err := strconv.Atoi(strings.TrimSuffix(word, ".")); err == nil && arg == "" {
		return h.number(ctx, n)
	}
	if typed == "" {
		h.talk.Say("Nothing was typed.")
		return nil
	}
	all := h.commands()
	for _, c := range all {
		if c.key == word || c.is(strings.ToLower(word)) {
			return h.do(ctx, c, arg)
		}
	}
	for _, c := range all { // names of several words
		if strings.EqualFold(typed, c.name) {
			return h.do(ctx, c, "")
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
	if do, why, ok := h.sh.Named(typed); ok { // a word of the palette
		if why != "" {
			h.refused = typed
			return h.run(ctx, do())
		}
		return h.after(ctx, h.run(ctx, do()), keymap.Key{})
	}
	h.talk.Say("There is no command " + typed + " here." + nearest(all, strings.ToLower(word)) +
		" ? lists the commands.")
	return nil
}

func nearest(all []command, word string) string {
	for _, c := range all {
		if len(word) > 1 && strings.HasPrefix(c.name, word) {
			return " Did you mean " + c.name + "?"
		}
	}
	return ""
}

func (h *Host) do(ctx context.Context, c command, arg string) error {
	if c.why != "" && c.press == nil {
		h.talk.Say(c.name + " cannot be used now. " + c.why)
		return nil
	}
	return c.do(ctx, arg)
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
	if n < 1 || n > len(links) {
		return false
	}
	return h.sh.Top().(ui.Linker).Point(links[n-1].ID)
}

// selectRow puts the cursor on a row of the page; false after saying why not.
func (h *Host) selectRow(n int) bool {
	t := h.content().Table
	if t == nil || t.Len() == 0 {
		h.talk.Say("There are no rows here.")
		return false
	}
	from, to := t.Visible()
	s, ok := h.sh.Top().(ui.Selecter)
	if n <= from || n > to || !ok || !s.Select(t.Row(n-1).ID) {
		h.talk.Say("Type a number on this page: " + format.Count(from+1) + " to " + format.Count(to) + ".")
		return false
	}
	return true
}

// page says another page of the rows.
func (h *Host) page(ctx context.Context, k keymap.Key, none string) error {
	t := h.content().Table
	from, to := t.Visible()
	n := t.Len()
	if err := h.press(ctx, k); err != nil {
		return err
	}
	if f, e := t.Visible(); f == from && e == to && t.Len() == n {
		h.talk.Say(none)
		return nil
	}
	h.sayScreen()
	return nil
}
