package plain

import (
	"cmp"
	"context"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"opdeck/api/untrusted"
	"opdeck/internal/act"
	"opdeck/ui"
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
}

// settle is how long after a yes the silence must last.
const settle = 80 * time.Millisecond

// Talk is a conversation. Say may be called from any goroutine, the rest from
// one.
type Talk struct {
	opt   Options
	in    *input
	ahead string // text typed behind a command: the answer to its first prompt, but never to a question

	mu   sync.Mutex
	gone bool // guarded by mu: Out failed
}

// New starts a conversation. Close ends it.
func New(opt Options) *Talk {
	if opt.Width > 0 {
		opt.Width = max(opt.Width, 20)
	}
	opt.Pause = cmp.Or(opt.Pause, 400*time.Millisecond)
	in := &input{r: opt.In, want: make(chan struct{}, 1), more: make(chan struct{}, 1)}
	go in.pump()
	return &Talk{opt: opt, in: in}
}

// Close stops reading. A Read that is under way ends when In does.
func (t *Talk) Close() { close(t.in.want) }

// Say writes lines, each safe and with a line end. What comes from outside
// cannot act on the terminal, whatever it holds.
func (t *Talk) Say(lines ...string) { t.say(t.opt.Width, lines) }

// Whole says lines that may be copied: the terminal breaks those that are too wide.
func (t *Talk) Whole(lines ...string) { t.say(0, lines) }

func (t *Talk) say(width int, lines []string) {
	var b strings.Builder
	for _, l := range lines {
		if l, _ = untrusted.Clean(l, len(l)+1); t.opt.ASCII {
			l = ascii(l)
		}
		parts := []string{l}
		if width > 0 && draw.Width(l) > width {
			parts = draw.Wrap(l, width)
		}
		for _, part := range parts {
			b.WriteString(part + "\n")
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.gone {
		_, err := io.WriteString(t.opt.Out, b.String())
		t.gone = err != nil
	}
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
	for !t.lost() {
		l, err := t.in.next(ctx)
		if err != nil {
			return "", err
		}
		if len(l) > maxLine {
			t.Say("That line is too long. Try again:")
			continue
		}
		s := strings.TrimSpace(edited(l))
		if t.opt.Echo && !unseen {
			t.Say("You typed " + cmp.Or(s, "an empty line") + ".")
		}
		return s, nil
	}
	return "", ErrGone
}

// prompt says what is waited for and takes a line, unless there is one already.
func (t *Talk) prompt(ctx context.Context, p string) (string, error) {
	if s := t.ahead; s != "" {
		t.ahead = ""
		return s, nil
	}
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
		if err == nil {
			err = way(s)
		}
		if s == "" {
			s = f.Value
		}
		switch word := strings.ToLower(s); {
		case err != nil:
			return "", err
		case word == "?" || word == "help":
			t.Say(strings.TrimSpace(f.Help + " back cancels, menu goes to the main menu, quit leaves."))
			continue
		case s == "" && f.Optional:
			return "", nil
		case s == "":
			return "", ErrBack
		case f.Check != nil:
			err = f.Check(s)
		}
		if err == nil {
			return s, nil
		}
		t.Say(err.Error())
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
func (t *Talk) Secret(ctx context.Context, label string) (s string, err error) {
	p := label + ", not shown; an empty line goes back:"
	switch {
	case t.opt.Secret != nil:
		safe, _ := untrusted.Clean(p, len(p)+1)
		s, err = t.opt.Secret(safe + "\n")
		s = strings.TrimSpace(s)
	case t.opt.Echo:
		t.Say(p)
		s, err = t.read(ctx, true)
	default:
		return "", ErrNoSecret
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return "", ErrInterrupted
	case errors.Is(err, io.EOF):
		return "", ErrEnd
	case err == nil && s == "":
		return "", ErrBack
	}
	return s, err
}

// Confirm asks what a screen asks, after the sentence lead. Nothing but the answer in
// full, typed after the question was said to its end, is a yes. Whatever was typed before is
// dropped, and an answer that more lines follow at once is pasted text: both are
// No, as are an empty line, a letter and the end of input. The error is set when
// the person wants elsewhere as well.
func (t *Talk) Confirm(ctx context.Context, lead string, q ui.Question) (bool, error) {
	yes, what := "yes", "yes"
	if q.Typed {
		yes = act.LastOf(q.ID)
		what = "the last " + strconv.Itoa(len(yes)) + " characters of the " + cmp.Or(q.IDLabel, "id")
	}
	t.question(lead, q)
	if yes == "" {
		t.Say("The end of this id cannot be typed, so it cannot be confirmed here. Nothing was sent.")
		return false, nil
	}
	for {
		t.in.during(ctx, t.opt.Pause)
		t.Say("Type " + what + " to " + strings.ToLower(q.Verb) + "; anything else is No:")
		switch answer, err := t.read(ctx, false); {
		case err != nil:
			return false, err
		case answer == "?":
			t.question(lead, q)
			t.Say("An empty line is No.")
		case answer != yes && (q.Typed || !strings.EqualFold(answer, yes)):
			t.Say("No. Nothing was sent.")
			if err := way(answer); !errors.Is(err, ErrBack) {
				return false, err
			}
			return false, nil
		case t.in.during(ctx, settle):
			t.in.during(ctx, t.opt.Pause)
			t.Say("More text followed the answer, as in a paste. That counts as No. Nothing was sent.")
			return false, nil
		case ctx.Err() != nil:
			return false, ErrInterrupted
		default:
			return true, nil
		}
	}
}

func (t *Talk) question(lead string, q ui.Question) {
	if lead != "" {
		t.Say(lead)
	}
	t.Say("Question. " + q.Ask)
	if q.ID != "" {
		t.Say(cmp.Or(q.IDLabel, "id") + ": " + untrusted.Text(q.ID).Line(200))
	}
	for _, f := range q.Facts {
		if f.Label != "" {
			t.Say(f.Label + ": " + f.Value)
		}
	}
	if q.Risk != "" {
		t.Say(q.Risk)
	}
}

// maxLine is the maximum of bytes in a line; what is beyond is dropped and the line refused.
const maxLine = 16 << 10

// input reads lines. It reads only when someone waits for a line, so that a
// hidden prompt can have the terminal for itself in between.
type input struct {
	r    io.Reader
	want chan struct{} // asks the reading goroutine for one Read
	more chan struct{} // holds one token: something came

	mu      sync.Mutex // guards the rest
	reading bool
	lines   []string // as they were sent
	cur     []byte
	cr      bool // the last byte was a CR
	err     error
}

func (in *input) pump() {
	buf := make([]byte, 4<<10)
	for range in.want {
		n, err := in.r.Read(buf)
		in.feed(buf[:n], err)
		select {
		case in.more <- struct{}{}:
		default:
		}
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
	defer in.mu.Unlock()
	in.reading = false
	for _, c := range b {
		switch {
		case in.err != nil, c == '\n' && in.cr:
		case c == '\n', c == '\r':
			in.lines, in.cur = append(in.lines, string(in.cur)), nil
		case c == 0x03:
			in.err = ErrInterrupted
		case c == 0x04 && edited(string(in.cur)) == "":
			in.err = ErrEnd
		case len(in.cur) <= maxLine:
			in.cur = append(in.cur, c)
		}
		in.cr = c == '\r'
	}
	if err != nil && in.err == nil {
		in.err = ErrEnd // a failed reader returns no more input
	}
}

// sequences are what keys and the terminal send: CSI, SS3, strings such as OSC, and the others.
var sequences = regexp.MustCompile("\x1b(\\[[^@-~\x1b]*[@-~]?|O.?|[\\]P_^X][^\a\x1b]*\a?|[^\x1b])?")

// edited is a line without sequences, after its editing keys.
func edited(line string) string {
	var out []byte
	for _, c := range []byte(sequences.ReplaceAllString(line, "")) {
		switch {
		case c == 0x08 || c == 0x7f:
			_, n := utf8.DecodeLastRune(out)
			out = out[:len(out)-n]
		case c == 0x15:
			out = nil
		case c == '\t':
			out = append(out, ' ')
		case c >= 0x20:
			out = append(out, c)
		}
	}
	return string(out)
}

// next waits for a line.
func (in *input) next(ctx context.Context) (string, error) {
	for {
		in.mu.Lock()
		err := in.err
		if ctx.Err() != nil {
			err = ErrInterrupted
		}
		if len(in.lines) > 0 && !errors.Is(err, ErrInterrupted) {
			l := in.lines[0]
			in.lines = in.lines[1:]
			in.mu.Unlock()
			return l, nil
		}
		in.mu.Unlock()
		if err != nil {
			return "", err
		}
		in.demand()
		select {
		case <-in.more:
		case <-ctx.Done():
		}
	}
}

// during waits d, forgets everything that was typed and not taken until then, and reports whether there was any.
func (in *input) during(ctx context.Context, d time.Duration) (some bool) {
	t := time.NewTimer(d)
	defer t.Stop()
	for end := false; !end; {
		in.demand()
		select {
		case <-in.more:
		case <-t.C:
			end = true
		case <-ctx.Done():
			end = true
		}
		in.mu.Lock()
		some = some || len(in.lines) > 0 || len(in.cur) > 0
		in.lines, in.cur = nil, nil
		in.mu.Unlock()
	}
	return some
}

// List joins words: "a, b and c".
func List(words []string) string {
	n := len(words)
	if n < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
}
