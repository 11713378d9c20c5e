package plain

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"opdeck/api/untrusted"
	"opdeck/ui/draw"
)

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
