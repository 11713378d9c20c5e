package plain

import (
	"context"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"opdeck/api/untrusted"
	"opdeck/internal/format"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/widget"
)

const (
	pageRows = 10 // rows that are printed at a time
	atOnce   = 16 // sentences of sections that are printed without a command
)

// reader prints a screen: all of it, or its changes.
type reader struct {
	talk *Talk
	opt  HostOptions
	sh   ui.Driver
	home bool // in the main menu, not on a screen
	said said // of a screen, last
}

// content is what the screen on top shows, its rows in pages.
func (h *reader) content() ui.Content {
	c, ok := h.sh.Shell.Top().(ui.Contenter)
	if !ok {
		return ui.Content{}
	}
	out := c.Content()
	if out.Table != nil {
		out.Table.Paged(pageRows)
	}
	return out
}

// room is what is between the parts of a line.
var room = regexp.MustCompile(`  +([^ #])`)

// sentence is a line of a screen with commas for the room between its parts.
func sentence(s string) string { return room.ReplaceAllString(strings.TrimSpace(s), ", $1") }

func sentences(list []string) []string {
	var out []string
	for _, l := range list {
		if l = sentence(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// opening lists what opens something on the page on top; a number of one more than its
// place here names it.
func (h *reader) opening() []widget.Link {
	page, ok := h.sh.Shell.Top().(ui.Linker)
	if !ok {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(page.Links()), func(l widget.Link) bool { return !l.Opens })
}

// section is a part of a screen in sentences, with the numbers of what opens something.
func (h *reader) section(s ui.Section) []string {
	var out []string
	if s.Title != "" {
		out = append(out, s.Title+".")
	}
	opening := h.opening()
	add := func(line string, of widget.Link) {
		if i := slices.Index(opening, of); i >= 0 && line != "" {
			line = format.Count(i+1) + ". " + line
		}
		if line != "" {
			out = append(out, line)
		}
	}
	for _, p := range s.Facts {
		add(p.Sentence(), p.Link)
	}
	for i, l := range s.Lines {
		var of widget.Link
		if i < len(s.Links) {
			of = s.Links[i]
		}
		add(sentence(l), of)
	}
	return out
}

func (h *reader) sections(list []ui.Section) []string {
	var out []string
	for _, s := range list {
		out = append(out, h.section(s)...)
	}
	return out
}

// screen returns the screen on top in lines: its first sentences, a limited number of sentences of its
// sections, and its rows.
func (h *reader) screen() (parts [3][]string) {
	top, c := h.sh.Shell.Top(), h.content()
	if top == nil {
		return parts
	}
	parts[0] = sentences(c.Lines)
	parts[1] = h.sections(c.Sections)
	if c.Table == nil && len(parts[1]) > atOnce && len(titles(c.Sections)) > 0 {
		leads := func(s ui.Section) bool { return s.Lead }
		rest := slices.DeleteFunc(slices.Clone(c.Sections), leads)
		parts[1] = h.sections(slices.DeleteFunc(slices.Clone(c.Sections), func(s ui.Section) bool { return !leads(s) }))
		if names := titles(rest); len(names) > 0 {
			parts[1] = append(parts[1], "all shows everything. Parts: "+List(names)+".")
		}
	}
	if c.Table != nil {
		parts[2] = rows(top.Title(), c.Table)
	}
	return parts
}

func titles(list []ui.Section) []string {
	var out []string
	for _, s := range list {
		if s.Title != "" {
			out = append(out, s.Title)
		}
	}
	return out
}

// rows are the rows of the page, each a sentence.
func rows(title string, t *widget.Table) []string {
	n := t.Cursor.Len()
	if n == 0 {
		return sentences([]string{t.Empty().Text, t.Empty().Hint})
	}
	from, to := t.Cursor.Visible()
	head := title + ", " + format.Plural(n, "row", "rows") + "."
	if from > 0 || to < n {
		head = title + " " + format.Count(from+1) + " to " + format.Count(to) + " of " + format.Count(n) + "."
	}
	out := []string{head}
	marked := map[string]bool{}
	for _, id := range t.Marked() {
		marked[id] = true
	}
	for i := from; i < to; i++ {
		r := t.Cursor.Row(i)
		line := row(t.Cursor.Columns.Titles(), r)
		if marked[r.ID] {
			line = "marked, " + line
		}
		out = append(out, format.Count(i+1)+". "+line)
	}
	if to < n {
		out = append(out, "next shows more.")
	}
	return out
}

func row(titles []string, r widget.Row) string {
	var parts []string
	for i, cell := range r.Cells {
		if cell = sentence(cell); cell == "" || cell == "–" {
			continue
		}
		if i < len(titles) && titles[i] != "" {
			cell = titles[i] + " " + cell
		}
		parts = append(parts, cell)
	}
	line := strings.Join(parts, ", ") + "."
	if r.Sign != "" {
		line = r.Sign + " " + line
	}
	return line
}

// moving is what changes by itself: numbers, and times with their units.
var moving = regexp.MustCompile(`[0-9][0-9.,:]*[a-z]{0,3}( ago)?|just now|\bnow\b`)

func steady(list []string) string { return moving.ReplaceAllString(strings.Join(list, "\n"), "") }

// said is what was said of a screen last, without what changes by itself.
type said struct {
	of    ui.Screen
	parts [3]string
	whole string // all sections, though not all were said
}

func (h *reader) seen() said {
	now := said{of: h.sh.Shell.Top(), whole: steady(h.sections(h.content().Sections))}
	for i, list := range h.screen() {
		now.parts[i] = steady(list)
	}
	return now
}

// sayScreen says the screen on top.
func (h *reader) sayScreen() {
	h.said = said{}
	h.sayChanges()
	if aged := h.sh.Shell.Top().Source().Aged(h.opt.Now(), h.sh.Zone()); aged != "" {
		h.talk.Say(aged + ".")
	}
}

// sayChanges says what of the screen reads otherwise than when it was said last;
// false: nothing does.
func (h *reader) sayChanges() bool {
	before, now := h.said, h.seen()
	h.said = now
	for i, list := range h.screen() {
		switch {
		case now.of != before.of || i != 1 && now.parts[i] != before.parts[i]:
			h.talk.Say(list...)
		case i == 1:
			for _, s := range h.content().Sections {
				if list := h.section(s); !strings.Contains(before.whole, steady(list)) {
					h.talk.Say(list...)
				}
			}
		}
	}
	return now != before
}

// Options are the input and output of a Talk. In and Out are required.
type Options struct {
	In  io.Reader
	Out io.Writer
	// Width is where lines are wrapped, in cells, at least 20; 0: not at all.
	Width int
	// ASCII writes other characters as \u escapes, for terminals that know none.
	ASCII bool
	// Echo repeats each line that is taken, as a line of its own: for a raw
	// channel whose other end does not show what is typed. Secrets are then simply
	// read and not repeated.
	Echo bool
	// Secret reads a line unseen; nil: there is no way to.
	Secret func(prompt string) (string, error)
	// Pause is how long a question ignores what is typed before its last line is
	// said; 0: 400 ms.
	Pause time.Duration
	// Settle is how long after a yes the silence must last; 0: 80 ms.
	Settle time.Duration
}

// Talk is a conversation. Say may be called from any goroutine, the rest from
// one.
type Talk struct {
	opt Options
	in  *input

	mu   sync.Mutex
	gone bool // guarded by mu: Out failed
}

// New starts a conversation. Close ends it.
func New(opt Options) *Talk {
	if opt.Width > 0 {
		opt.Width = max(opt.Width, 20)
	}
	if opt.Pause == 0 {
		opt.Pause = 400 * time.Millisecond
	}
	if opt.Settle == 0 {
		opt.Settle = 80 * time.Millisecond
	}
	return &Talk{opt: opt, in: newInput(opt.In)}
}

// Close stops reading. A Read that is under way ends when In does.
func (t *Talk) Close() { t.in.close() }

// Say writes lines, each safe and with a line end. What comes from outside
// cannot act on the terminal, whatever it holds.
func (t *Talk) Say(lines ...string) { t.say(t.opt.Width, lines) }

// Whole says lines that may be copied: the terminal breaks those that are too wide.
func (t *Talk) Whole(lines ...string) { t.say(0, lines) }

func (t *Talk) say(width int, lines []string) {
	var b strings.Builder
	for _, l := range lines {
		for _, part := range t.lay(l, width) {
			b.WriteString(part)
			b.WriteByte('\n')
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone {
		return
	}
	if _, err := io.WriteString(t.opt.Out, b.String()); err != nil {
		t.gone = true
	}
}

func (t *Talk) lay(l string, width int) []string {
	l, _ = untrusted.Clean(l, len(l)+1)
	if t.opt.ASCII {
		l = ascii(l)
	}
	if width <= 0 || draw.Width(l) <= width {
		return []string{l}
	}
	return draw.Wrap(l, width)
}

// ascii writes what is not ASCII as the escapes of a Go string, but for the
// marks that our own texts hold.
func ascii(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < 0x7f:
			b.WriteRune(r)
		case r == untrusted.Mark:
			b.WriteByte('.')
		case r == '…':
			b.WriteString("...")
		case r == '–':
			b.WriteByte('-')
		default:
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		}
	}
	return b.String()
}

func (t *Talk) lost() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.gone
}

// read takes the next line, without the white space around it.
func (t *Talk) read(ctx context.Context, unseen bool) (string, error) {
	for {
		if t.lost() {
			return "", ErrGone
		}
		l, err := t.in.next(ctx)
		if err != nil {
			return "", err
		}
		if l.long {
			t.Say("That line is too long. Try again:")
			continue
		}
		s := strings.TrimSpace(l.text)
		if t.opt.Echo && !unseen {
			t.Say("You typed " + orEmpty(s) + ".")
		}
		return s, nil
	}
}

func orEmpty(s string) string {
	if s == "" {
		return "an empty line"
	}
	return s
}

// prompt says what is waited for and takes a line.
func (t *Talk) prompt(ctx context.Context, p string) (string, error) {
	t.Say(p)
	return t.read(ctx, false)
}

// Field is a text that the person enters.
type Field struct {
	Label string // "File on this host"
	Help  string // a sentence
	// Optional takes an empty line; without it an empty line goes back.
	Optional bool
	Value    string             // the value of an empty line
	Check    func(string) error // after an error, Ask prints it and asks again
}

// Ask reads a text. "?" explains the field, "back" cancels (ErrBack), "menu" and
// "quit" work as everywhere.
func (t *Talk) Ask(ctx context.Context, f Field) (string, error) {
	p := f.Label + ", or back:"
	switch {
	case f.Value != "":
		p = f.Label + ", or an empty line for " + f.Value + ":"
	case f.Optional:
		p = f.Label + ", or an empty line for none:"
	}
	for {
		s, err := t.prompt(ctx, p)
		if err != nil {
			return "", err
		}
		switch strings.ToLower(s) {
		case "?", "help":
			t.Say(strings.TrimSpace(f.Help + " back cancels, menu goes to the main menu, quit leaves."))
			continue
		case "":
			if !f.Optional && f.Value == "" {
				return "", ErrBack
			}
			s = f.Value
		}
		if err := way(s); err != nil {
			return "", err
		}
		if f.Check != nil && (s != "" || !f.Optional) {
			if err := f.Check(s); err != nil {
				t.Say(err.Error())
				continue
			}
		}
		return s, nil
	}
}

// way reads the words that lead elsewhere.
func way(s string) error {
	switch strings.ToLower(s) {
	case "back":
		return ErrBack
	case "menu":
		return ErrHome
	case "quit", "exit":
		return ErrQuit
	}
	return nil
}

// Secret reads a text that is neither shown nor repeated. An empty one goes back
// (ErrBack). ErrNoSecret: the input cannot be hidden.
func (t *Talk) Secret(ctx context.Context, label string) (string, error) {
	p := label + ", not shown; an empty line goes back:"
	var s string
	var err error
	switch {
	case t.opt.Secret != nil:
		safe, _ := untrusted.Clean(p, len(p)+1)
		s, err = t.opt.Secret(safe + "\n")
		if err != nil && ctx.Err() != nil {
			return "", ErrInterrupted
		}
		if errors.Is(err, io.EOF) {
			return "", ErrEnd
		}
		s = strings.TrimSpace(s)
	case t.opt.Echo:
		t.Say(p)
		s, err = t.read(ctx, true)
	default:
		return "", ErrNoSecret
	}
	if err != nil {
		return "", err
	}
	if s == "" {
		return "", ErrBack
	}
	return s, nil
}
