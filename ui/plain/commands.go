package plain

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"opdeck/api"
	"opdeck/internal/format"
	"opdeck/ui"
	"opdeck/ui/keymap"
)

// command is a word that the person can type.
type command struct {
	name  string
	alias string
	key   string // the key that does it on the drawn screen; it can be typed too
	args  string // its arguments
	help  string // a sentence
	why   string // why it cannot be used now; "": it can
	press *keymap.Key
	do    func(ctx context.Context, arg string) error
}

func (c command) is(word string) bool { return c.name == word || c.alias == word }

// opensPlace reports whether a key goes to one of the numbered places.
func (h *reader) opensPlace(k keymap.Key) bool {
	return slices.ContainsFunc(keymap.All(h.sh.Map().Global)[:8], func(p keymap.Key) bool { return p.Name == k.Name })
}

// commands are those of the screen, or of the main menu, and those of every place.
// A name belongs to the first that has it.
func (h *Host) commands() []command {
	var out []command
	taken := map[string]bool{}
	add := func(c command) {
		if c.press != nil && c.press.Name == h.sh.Map().Global.OpenID.Name && !taken["open"] {
			c.name, c.args = "open", "[ID]"
		}
		if !taken[c.name] {
			taken[c.name] = true
			out = append(out, c)
		}
	}
	if !h.home {
		for _, c := range h.moves() {
			add(c)
		}
	}
	for _, k := range h.sh.Keys() {
		if k.Typed.None == "" && (!h.home || h.everywhere(k)) {
			add(h.keyCommand(k))
		}
	}
	if s, ok := h.sh.Shell.Top().(ui.Commander); ok && !h.home {
		for _, c := range s.Commands() {
			add(command{name: strings.ToLower(c.Title), help: cmp.Or(c.About, c.Title) + ".", why: c.Why,
				do: func(ctx context.Context, _ string) error {
					return h.after(ctx, h.run(ctx, h.sh.Shell.RunCommand(c)), keymap.Key{})
				}})
		}
	}
	for _, p := range h.opt.Places {
		c := command{name: p.Word, help: "opens that screen.", do: func(ctx context.Context, arg string) error {
			if arg != "" && p.IDs {
				return h.openID(ctx, p.Kind, arg)
			}
			return h.open(ctx, p)
		}}
		if p.IDs {
			c.args = "[ID]"
		}
		add(c)
	}
	for _, c := range h.always() {
		add(c)
	}
	return out
}

// everywhere reports whether a key works without a screen: not what opens a place,
// which the menu has, nor what reads one again.
func (h *reader) everywhere(k keymap.Key) bool {
	g := h.sh.Map().Global
	return k.Name == g.OpenID.Name || k.Name == g.Zone.Name || k.Name == g.Activity.Name
}

func (h *Host) keyCommand(k keymap.Key) command {
	c := command{name: k.Word, alias: k.Name[strings.LastIndexByte(k.Name, '.')+1:], key: k.Binding.Help().Key,
		help: k.Long + ".", why: k.Why(), press: &k,
		do: func(ctx context.Context, arg string) error { return h.key(ctx, k, arg) }}
	place := h.opensPlace(k)
	if place {
		c.key = "" // numbers are rows
	}
	if k.Typed.Help != "" {
		c.help = k.Typed.Help
	}
	if strings.Contains(k.Name, ".") && !h.home && h.content().Table != nil && !place && !k.Typed.OfList {
		c.args = "[NUMBER]"
	}
	return c
}

// moves are the commands of a screen without a key.
func (h *Host) moves() []command {
	nav, c := h.sh.Map().Nav, h.content()
	var out []command
	if c.Table != nil && c.Table.Cursor.Len() > pageRows {
		turn := func(name, alias, help string, k keymap.Key, none string) {
			out = append(out, command{name: name, alias: alias, help: help,
				do: func(ctx context.Context, _ string) error { return h.page(ctx, k, none) }})
		}
		turn("next", "n", "shows the next page.", nav.PageDown, "No more pages.")
		turn("previous", "p", "shows the previous page.", nav.PageUp, "This is the first page.")
		turn("first", "", "shows the first page.", nav.Top, "This is the first page.")
		turn("last", "", "shows the last page.", nav.Bottom, "This is the last page.")
	}
	if len(c.Sections) > 0 {
		out = append(out, command{name: "all", help: "shows everything. One part by name: " + List(titles(c.Sections)) +
			".", do: func(context.Context, string) error {
			c := h.content()
			h.talk.Say(append(append(sentences(c.Lines), h.sections(c.Sections)...), "That is all.")...)
			return nil
		}})
	}
	return out
}

// always are the commands of every place.
func (h *Host) always() []command {
	return []command{
		{name: "where", help: "shows the context, the session and the budgets.",
			do: func(context.Context, string) error {
				h.talk.Say(h.opt.Ground)
				h.talk.Say(h.sh.Standing()...)
				return nil
			}},
		{name: "again", help: "prints this screen again.", do: func(context.Context, string) error {
			if h.home {
				h.sayHome()
			} else {
				h.sayScreen()
			}
			return nil
		}},
		{name: "back", alias: "esc", key: "esc", help: "goes back; clears a filter or marks first.",
			do: func(ctx context.Context, _ string) error { return h.back(ctx) }},
		{name: "menu", help: "goes to the main menu.", do: func(context.Context, string) error { return ErrHome }},
		{name: "quit", alias: "exit", help: "leaves the console.",
			do: func(context.Context, string) error { return ErrQuit }},
		{name: "help", alias: "?", key: "?", help: "lists the commands.",
			do: func(context.Context, string) error { h.help(); return nil }},
	}
}

func (h *Host) help() {
	if h.home {
		h.talk.Say("You are in the main menu. A number opens that screen.")
	} else {
		h.talk.Say("You are in: " + strings.Join(ui.Named(h.sh.Shell.Top()), ", ") + ".")
		if h.content().Table != nil {
			h.talk.Say("A number opens that row, or shows it. After a command, it selects the row.")
		} else if len(h.opening()) > 0 {
			h.talk.Say("A number opens the line with that number.")
		}
	}
	for _, c := range h.commands() {
		name := c.name
		if c.args != "" {
			name += " " + c.args
		}
		if c.key != "" && c.key != c.name {
			name += ", or " + c.key
		}
		l := name + ": " + c.help
		if c.why != "" {
			l += " Not now. " + c.why
		}
		h.talk.Say(l)
	}
}

func (h *Host) back(ctx context.Context) error {
	if h.home {
		h.talk.Say("This is the main menu. quit leaves.")
		return nil
	}
	if cmd, had := h.sh.Escape(); had {
		if err := h.run(ctx, cmd); err != nil {
			return err
		}
		if !h.sayChanges() {
			h.talk.Say("Done.")
		}
		return nil
	}
	if h.sh.Root() || h.sh.Shell.Top() == h.base {
		return ErrHome
	}
	if err := h.run(ctx, h.sh.Shell.Back()); err != nil {
		return err
	}
	h.sayScreen()
	return nil
}

// key performs a key of the drawn screen, for the row whose number was typed after it,
// if any.
func (h *Host) key(ctx context.Context, k keymap.Key, arg string) error {
	word, rest, _ := strings.Cut(arg, " ")
	if n, err := strconv.Atoi(strings.TrimSuffix(word, ".")); err == nil && !h.home && !k.Typed.OfList &&
		h.content().Table != nil {
		if !h.selectRow(n) {
			return nil
		}
		arg = strings.TrimSpace(rest)
		for _, now := range h.sh.Keys() { // whether it can be used depends on the row
			if now.Name == k.Name {
				k = now
				break
			}
		}
	}
	m := h.sh.Map()
	l, g := m.List, m.Global
	if n, err := strconv.Atoi(strings.TrimSuffix(arg, ".")); err == nil && k.Name == l.Open.Name && !h.home && h.point(n) {
		arg = ""
	}
	switch {
	case k.Name == l.Open.Name && arg != "" && !h.home && h.lists(h.sh.Shell.Top().Place().Kind):
		return h.openID(ctx, h.sh.Shell.Top().Place().Kind, arg)
	case k.Name == l.Open.Name && arg != "" && !h.home, k.Name == g.OpenID.Name && arg != "":
		return h.openID(ctx, ui.KindOperation, arg)
	case (k.Name == g.Documents.Name || k.Name == m.Operations.Documents.Name || k.Name == m.Operation.Documents.Name) &&
		arg != "":
		return h.openID(ctx, ui.KindDocuments, arg)
	case k.Name == g.Operation.Name && arg != "":
		return h.openID(ctx, ui.KindOperation, arg)
	case k.Name == g.Compliance.Name && arg != "":
		return h.openID(ctx, ui.KindCompliance, arg)
	case k.Why() != "":
		h.refused = k.Word
		return h.press(ctx, k) // the shell says why, and notes who was refused
	}
	h.arg = arg
	return h.after(ctx, h.press(ctx, k), k)
}

// after prints the result of a key.
func (h *Host) after(ctx context.Context, err error, k keymap.Key) error {
	if err == nil && h.content().Filter != nil {
		err = h.filter(ctx)
	}
	if err != nil {
		return err
	}
	l, g, c := h.sh.Map().List, h.sh.Map().Global, h.content()
	switch {
	case k.Typed.Quiet:
		h.said = h.seen()
	case k.Name == l.Mark.Name || k.Name == l.MarkAll.Name || k.Name == l.Range.Name || k.Name == l.Remark.Name:
		h.said = h.seen()
		h.talk.Say(format.Plural(len(c.Table.Marked()), "row is marked.", "rows are marked."))
	case k.Name == l.Filter.Name || k.Name == l.Sort.Name || k.Name == l.Views.Name:
		if err := h.press(ctx, h.sh.Map().Nav.Top); err != nil { // another list begins at its beginning
			return err
		}
		h.sayScreen()
	case k.Name == g.Reload.Name:
		h.sayScreen()
	case h.home && h.sh.Root():
	default:
		h.home = false
		h.sayChanges()
	}
	return nil
}

// lists reports whether the place of a kind lists what its own kind opens by an id.
func (h *reader) lists(kind string) bool {
	return slices.ContainsFunc(h.opt.Places, func(p Place) bool { return p.Kind == kind && p.IDs && !p.ByID })
}

// openID opens an operation, its documents or a customer by an id that was typed.
func (h *Host) openID(ctx context.Context, kind, id string) error {
	if kind == ui.KindOperation || kind == ui.KindDocuments {
		before := h.sh.Shell.Top()
		if err := h.run(ctx, h.sh.Shell.OpenTyped(kind, id)); err != nil {
			return err
		}
		if at := h.sh.Shell.Top(); at == before && at.Place().ID != id { // it was said why
			return nil
		}
		return h.open(ctx, Place{Place: h.sh.Shell.Top().Place()})
	}
	id = api.ReadID(id)
	if err := ui.CheckID(id); err != nil {
		h.talk.Say("Not a valid id: " + err.Error() + ".")
		return nil
	}
	return h.open(ctx, Place{Place: ui.Place{Kind: kind, ID: id}})
}

const (
	maxLine = 16 << 10 // bytes of a line; what is beyond is dropped and the line refused
	chunk   = 4 << 10
)

// line is one finished line.
type line struct {
	text string
	long bool // it was longer than maxLine
}

// input reads lines. It reads only when someone waits for a line, so that a
// hidden prompt can have the terminal for itself in between.
type input struct {
	r    io.Reader
	want chan struct{} // asks the reading goroutine for one Read
	more chan struct{} // holds one token: something came

	mu      sync.Mutex // guards the rest
	reading bool
	lines   []line
	cur     []byte
	long    bool
	cr      bool // the last byte was a CR
	esc     int  // where we are in an escape sequence
	err     error
}

func newInput(r io.Reader) *input {
	in := &input{r: r, want: make(chan struct{}, 1), more: make(chan struct{}, 1)}
	go in.pump()
	return in
}

// close ends the reading goroutine, when the Read that it is in returns.
func (in *input) close() { close(in.want) }

func (in *input) pump() {
	buf := make([]byte, chunk)
	for range in.want {
		n, err := in.r.Read(buf)
		in.feed(buf[:n], err)
	}
}

// demand asks for one more Read unless one is under way.
func (in *input) demand() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.reading && in.err == nil {
		in.reading = true
		in.want <- struct{}{}
	}
}

func (in *input) feed(b []byte, err error) {
	in.mu.Lock()
	in.reading = false
	for _, c := range b {
		if in.err == nil {
			in.take(c)
		}
	}
	if err != nil && in.err == nil {
		in.err = ErrEnd // a failed reader returns no more input
	}
	in.mu.Unlock()
	select {
	case in.more <- struct{}{}:
	default:
	}
}

// The places in an escape sequence.
const (
	noEsc = iota
	afterEsc
	inCSI
	afterSS3
	inString // OSC, DCS and their like: answers of the terminal
)

func (in *input) take(c byte) {
	if in.esc != noEsc {
		in.escape(c)
		return
	}
	wasCR := in.cr
	in.cr = c == '\r'
	switch {
	case c == '\n' && wasCR:
	case c == '\n', c == '\r':
		in.lines = append(in.lines, line{string(in.cur), in.long})
		in.cur, in.long = nil, false
	case c == 0x03:
		in.err = ErrInterrupted
	case c == 0x04 && len(in.cur) == 0:
		in.err = ErrEnd
	case c == 0x08 || c == 0x7f:
		_, n := utf8.DecodeLastRune(in.cur)
		in.cur = in.cur[:len(in.cur)-n]
	case c == 0x15:
		in.cur, in.long = nil, false
	case c == 0x1b:
		in.esc = afterEsc
	case c == '\t':
		in.put(' ')
	case c >= 0x20:
		in.put(c)
	}
}

func (in *input) put(c byte) {
	if len(in.cur) >= maxLine {
		in.long = true
		return
	}
	in.cur = append(in.cur, c)
}

// escape drops the sequences that keys and the terminal send. A line end cannot be part of one.
func (in *input) escape(c byte) {
	state := in.esc
	in.esc = noEsc
	switch {
	case c == '\r' || c == '\n' || c == 0x03:
		in.take(c)
	case state == afterEsc && c == '[':
		in.esc = inCSI
	case state == afterEsc && c == 'O':
		in.esc = afterSS3
	case c == 0x1b: // the next one begins, or a string ends
		in.esc = afterEsc
	case state == afterEsc && strings.IndexByte("]P_^X", c) >= 0, state == inString && c != '\a':
		in.esc = inString
	case state == inCSI && (c < 0x40 || c > 0x7e):
		in.esc = inCSI
	}
}

// next waits for a line.
func (in *input) next(ctx context.Context) (line, error) {
	for {
		in.mu.Lock()
		if len(in.lines) > 0 && !errors.Is(in.err, ErrInterrupted) && ctx.Err() == nil {
			l := in.lines[0]
			in.lines = in.lines[1:]
			in.mu.Unlock()
			return l, nil
		}
		err := in.err
		in.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return line{}, ErrInterrupted
		case err != nil:
			return line{}, err
		}
		in.demand()
		select {
		case <-in.more:
		case <-ctx.Done():
		}
	}
}

// drop forgets everything that was typed and not taken.
func (in *input) drop() {
	in.mu.Lock()
	in.lines, in.cur, in.long = nil, nil, false
	in.mu.Unlock()
}

// hush drops whatever is typed during d.
func (in *input) hush(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		in.drop()
		in.demand()
		select {
		case <-in.more:
		case <-t.C:
			in.drop()
			return
		case <-ctx.Done():
			return
		}
	}
}

// follows reports whether anything more arrives within d.
func (in *input) follows(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		in.mu.Lock()
		some := len(in.lines) > 0 || len(in.cur) > 0
		in.mu.Unlock()
		if some {
			return true
		}
		in.demand()
		select {
		case <-in.more:
		case <-t.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}
