package paint

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"pgregory.net/rapid"
)

// What terminals send, and what it means here: keys and mouse events, "" for nothing.
var sent = []struct{ terminal, bytes, want string }{
	{"any", "j", "j"}, {"any", "\r", "enter"}, {"any", "\x7f", "backspace"}, {"any", "\x1b", "esc"},
	{"any", "é", "é"}, {"any", "日", "日"}, {"any", "🙂", "🙂"}, {"any", "\x1bx", "alt+x"}, {"any", "\x1b\r", "alt+enter"},
	{"any", "\x1b ", "alt+ "}, {"any", "\x1bq", "alt+q"}, {"any", "\x1b\x7f", "alt+backspace"},

	{"xterm", "\x1b[A", "up"}, {"xterm", "\x1b[B", "down"}, {"xterm", "\x1b[C", "right"}, {"xterm", "\x1b[D", "left"},
	{"xterm", "\x1bOA", "up"}, {"xterm", "\x1bOD", "left"}, {"xterm", "\x1b[H", "home"}, {"xterm", "\x1bOH", "home"},
	{"xterm", "\x1b[F", "end"}, {"xterm", "\x1bOF", "end"}, {"xterm", "\x1b[Z", "shift+tab"}, {"xterm", "\x1b[2~", "insert"},
	{"xterm", "\x1b[3~", "delete"}, {"xterm", "\x1b[5~", "pgup"}, {"xterm", "\x1b[6~", "pgdown"},
	{"xterm", "\x1b[1;5C", "ctrl+right"}, {"xterm", "\x1b[1;5D", "ctrl+left"}, {"xterm", "\x1b[5;5~", "ctrl+pgup"},
	{"xterm", "\x1b[1;3A", "alt+up"}, {"xterm", "\x1bOP", "f1"}, {"xterm", "\x1bOS", "f4"}, {"xterm", "\x1b[15~", "f5"},
	{"xterm", "\x1b[24~", "f12"}, {"xterm", "\x1b[1;2P", "f13"},
	{"tmux", "\x1b[1~", "home"}, {"tmux", "\x1b[4~", "end"}, {"rxvt", "\x1b[7~", "home"}, {"rxvt", "\x1b[8~", "end"},
	{"Linux console", "\x1b[[A", "f1"}, {"Linux console", "\x1b[[E", "f5"}, {"Linux console", "\x1b[[Z", ""},
	{"PuTTY", "\x1b\x1b[A", ""}, {"PuTTY", "\x1b\x1bOB", ""}, {"PuTTY", "\x1b[11~", "f1"},
	{"eight bits", "\x9bA", "up"}, {"eight bits", "\x8fM", "enter"}, {"eight bits", "\x9b<64;10;10M", "wheel up"},

	{"keypad", "\x1bOM", "enter"}, {"keypad", "\x1bOp", "0"}, {"keypad", "\x1bOq", "1"}, {"keypad", "\x1bOu", "5"},
	{"keypad", "\x1bOy", "9"}, {"keypad", "\x1bOj", "*"}, {"keypad", "\x1bOk", "+"}, {"keypad", "\x1bOm", "-"},
	{"keypad", "\x1bOn", "."}, {"keypad", "\x1bOo", "/"}, {"keypad", "\x1bOX", "="}, {"keypad", "\x1bOI", "tab"},
	{"keypad", "\x1bO ", " "}, {"keypad", "\x1bOE", ""}, {"keypad", "\x1bO5M", ""}, {"keypad", "\x1bOz", ""},

	{"SGR mouse", "\x1b[<64;10;10M", "wheel up"}, {"SGR mouse", "\x1b[<65;120;40M", "wheel down"},
	{"SGR mouse", "\x1b[<0;3;4M", "left press"}, {"SGR mouse", "\x1b[<0;3;4m", "left release"},
	{"SGR mouse", "\x1b[<35;7;7M", "motion"}, {"SGR mouse", "\x1b[<1;2;3;4M", ""},
	{"X10 mouse", "\x1b[M `M", "left press"}, {"X10 mouse", "\x1b[Maqx", "wheel down"}, {"X10 mouse", "\x1b[M \xffM", "left press"},
	{"X10 mouse", "\x1b[M \x01M", ""}, {"urxvt mouse", "\x1b[96;10;10M", ""},
	{"focus", "\x1b[I", ""}, {"focus", "\x1b[O", ""},

	{"paste", "\x1b[200~M\x1b[201~", "[M]"}, {"paste", "\x1b[200~y\rq\x1b[Bé\x1b[201\x1b[201~", "[y\rq\x1b[Bé\x1b[201]"},
	{"paste", "\x1b[200~\x1b[201~", "[]"}, {"paste", "\x1b[200~a\x1b\x1b[201~", "[a\x1b]"},
	{"paste", "\x1b\x1b[200~M\x1b[201~", "esc [M]"}, {"paste", "\x1b[201~", ""},

	{"DA", "\x1b[?62;1;4M", ""}, {"DA", "\x1b[?64;1;2;6;9;15;16;17;18;21;22;28c", ""}, {"DA", "\x1b[>41;354;0c", ""},
	{"DA", "\x1bP!|00000000\x1b\\", ""}, {"DSR", "\x1b[0n", ""}, {"DSR", "\x1b[24;80R", ""}, {"DSR", "\x1b[1;2R", ""},
	{"DSR", "\x1b[?1;1;1R", ""}, {"DECRQM", "\x1b[?2026;2$y", ""}, {"DECRQM", "\x1b[4;2$y", ""},
	{"DECRQSS", "\x1bP1$r0m\x1b\\", ""}, {"XTVERSION", "\x1bP>|XTerm(354)\x1b\\", ""}, {"XTGETTCAP", "\x1bP1+r544e=4d4d\x1b\\", ""},
	{"colours", "\x1b]10;rgb:ffff/ffff/ffff\x1b\\", ""}, {"colours", "\x1b]11;rgb:1e1e/1e1e/1e1e\a", ""},
	{"colours", "\x1b]4;1;rgb:cd/00/00\a", ""}, {"colours", "\x1b[?997;1n", ""},
	{"clipboard", "\x1b]52;c;TU1NTQ==\a", ""}, {"title", "\x1b]lM Übersicht ✜ 朜 M\x1b\\", ""}, {"title", "\x1b]LM\x1b\\", ""},
	{"kitty", "\x1b[?0u", ""}, {"kitty", "\x1b[77;5u", ""}, {"kitty", "\x1b[57417;1:3u", ""}, {"kitty", "\x1b_Gi=31;OK M é\x1b\\", ""},
	{"modifyOtherKeys", "\x1b[27;5;77~", ""}, {"Windows Terminal", "\x1b[77;50;77;1;16;1_", ""}, {"iTerm2", "\x1b]1337;M=x\a", ""},
	{"iTerm2", "\x1bP1000p M\x1b\\", ""}, {"window", "\x1b[8;24;80t", ""}, {"window", "\x1b[48;24;80;480;800t", ""},
	{"PM", "\x1b^M é M\x1b\\", ""}, {"SOS", "\x1bXM é M\x1b\\", ""}, {"APC", "\x1b_M\x1b\\", ""},
	{"malformed", "\x1b[ 1M", ""}, {"malformed", "\x1b[1<M", ""}, {"malformed", "\x1b[1\rM", ""}, {"malformed", "\x1b[é1M", ""},
	{"malformed", "\x1b]11;x\x18", ""}, {"malformed", "\xffj", "j"}, {"malformed", "\xe9j", "j"}, {"malformed", "\xe2\x82\x1b[B", "down"},
	{"malformed", "\x1b[1" + strings.Repeat(";1", 200) + "M", ""},
	{"two", "\x1b]11;rgb:1/2\x1b[<64;1;1M", "wheel up"}, {"two", "\x1b[1;\x1b[B", "down"}, {"two", "\x1bP\x1b[A", "up"},
	{"two", "\x1b\x1b]11;M\a", "esc"}, {"two", "\x1b\x1b[24;80R", "esc"}, {"two", "\x1b\x1bj", "esc alt+j"}, {"two", "\x1b\x1b", "esc esc"},
	{"two", "\x1b[Ié", "é"}, {"two", "\x1bé", "esc é"}, {"two", "\x1b[B\x1b[I\x1b[B", "down down"}, {"held", "\x1b\x1b\x1b\x1b", "esc esc esc esc"},
}

// terminalLine is a program with what a terminal sends it, in simulated time.
type terminalLine struct {
	io.Writer
	mu  sync.Mutex
	got []string // guarded by mu
}

func (l *terminalLine) Init() tea.Cmd { return nil }
func (l *terminalLine) View() string  { return "" }

// Update notes keys one by one: what came together is not the same when it is cut.
func (l *terminalLine) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch msg := msg.(type) {
	case tea.KeyMsg:
		if msg.Type != tea.KeyRunes || msg.Paste || msg.Alt {
			l.got = append(l.got, msg.String())
			break
		}
		for _, r := range msg.Runes {
			l.got = append(l.got, string(r))
		}
	case tea.MouseMsg:
		l.got = append(l.got, msg.String())
	case tea.WindowSizeMsg, drawMsg:
	default:
		l.got = append(l.got, fmt.Sprintf("%T", msg))
	}
	return l, nil
}

func (l *terminalLine) forget() { l.mu.Lock(); l.got = nil; l.mu.Unlock() }

func (l *terminalLine) keys() []string { l.mu.Lock(); defer l.mu.Unlock(); return slices.Clone(l.got) }

// after sends the parts with a gap between them, and returns what they were within a second.
func (l *terminalLine) after(gap time.Duration, parts ...string) string {
	l.forget()
	for i, part := range parts {
		if i > 0 {
			time.Sleep(gap)
		}
		_, _ = io.WriteString(l, part)
		synctest.Wait()
	}
	time.Sleep(time.Second)
	synctest.Wait()
	return strings.Join(l.keys(), " ")
}

// onLine runs f beside a program with the mouse on.
func onLine(t *testing.T, f func(t *testing.T, l *terminalLine)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		in, w := io.Pipe()
		l, done := &terminalLine{Writer: w}, make(chan struct{})
		go func() {
			defer close(done)
			_, _ = Run(ctx, l, Options{In: in, Out: io.Discard, Mouse: true, Size: func() (int, int) { return 80, 24 }})
		}()
		defer func() { cancel(); <-done; _ = w.Close() }()
		synctest.Wait()
		f(t, l)
	})
}

// A sequence that is cut at any byte, with gaps of up to 100 ms, is the one that came whole; what has no meaning here
// is swallowed whole.
func TestSequenceCutAnywhere(t *testing.T) {
	for _, c := range sent {
		t.Run(fmt.Sprintf("%s %.40q", c.terminal, c.bytes), func(t *testing.T) {
			onLine(t, func(t *testing.T, l *terminalLine) {
				if got := l.after(0, c.bytes); got != c.want {
					t.Fatalf("whole it is %q instead of %q", got, c.want)
				}
				for _, gap := range []time.Duration{0, 20 * time.Millisecond, 60 * time.Millisecond, 100 * time.Millisecond} {
					for i := 1; i < len(c.bytes); i++ {
						if got := l.after(gap, c.bytes[:i], c.bytes[i:]); got != c.want {
							t.Errorf("%q, %v, %q is %q instead of %q", c.bytes[:i], gap, c.bytes[i:], got, c.want)
						}
					}
					if got := l.after(gap, strings.Split(c.bytes, "")...); gap > 0 && got != c.want && !strings.Contains(c.bytes, "\xff") {
						t.Errorf("character by character, %v apart, it is %q instead of %q", gap, got, c.want)
					}
				}
			})
		})
	}
}

// An escape with nothing behind it acts after 100 to 150 ms. What is behind it later is a key of its own.
func TestEscapeAlone(t *testing.T) {
	onLine(t, func(t *testing.T, l *terminalLine) {
		_, _ = io.WriteString(l, "\x1b")
		time.Sleep(100 * time.Millisecond)
		if synctest.Wait(); len(l.keys()) != 0 {
			t.Errorf("%q within 100 ms", l.keys())
		}
		time.Sleep(50 * time.Millisecond)
		if synctest.Wait(); len(l.keys()) != 1 {
			t.Errorf("%q within 150 ms", l.keys())
		}
		if got := l.after(150*time.Millisecond, "\x1b", "j"); got != "esc j" {
			t.Errorf("%q", got)
		}
	})
}

// A rest that comes late, or never, is no key; and the keys behind it act again.
func TestRestIsLost(t *testing.T) {
	onLine(t, func(t *testing.T, l *terminalLine) {
		for _, c := range sent {
			for i := 2; i < len(c.bytes); i++ {
				if c.bytes[0] != esc || c.bytes[1] == esc || c.terminal == "paste" {
					continue
				}
				if got := l.after(400*time.Millisecond, c.bytes[:i], c.bytes[i:]); got != c.want && c.terminal != "two" {
					t.Errorf("%q and 400 ms later %q: %q instead of %q", c.bytes[:i], c.bytes[i:], got, c.want)
				}
				if got := l.after(0, c.bytes[:i]); c.terminal == "malformed" || c.terminal == "two" {
					continue
				} else if got != "" {
					t.Errorf("%q is %q", c.bytes[:i], got)
				}
				if got := l.after(0, "j"); got != "j" {
					t.Errorf("j behind %q is %q", c.bytes[:i], got)
				}
			}
		}
	})
}

// Without a mouse, mouse events have no meaning.
func TestNoMouse(t *testing.T) {
	s := newSequences(false)
	if got := s.read([]byte("\x1b[<0;3;4Mj\x1b[M `M")); strings.Join(got, "|") != "j" {
		t.Errorf("%q", got)
	}
}

// Whatever comes in sequences, cut anywhere, is no letter that acts, and blocks no key for longer than the time limit.
func TestNoLetterOutOfSequences(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newSequences(true)
		for range rapid.IntRange(1, 20).Draw(rt, "sequences") {
			var b []byte
			switch rapid.IntRange(0, 2).Draw(rt, "kind") {
			case 0:
				b = []byte("\x1b[" + rapid.StringMatching(`[ -?]{0,9}[@-LN-Z\\-~]`).Draw(rt, "control"))
			case 1:
				b = []byte("\x1b" + rapid.SampledFrom([]string{"]", "P", "_", "^", "X"}).Draw(rt, "string") +
					rapid.StringMatching(`[ -~é✜]{0,20}`).Draw(rt, "data") + "\x1b\\")
			default:
				b = []byte(rapid.SampledFrom(sent).Draw(rt, "sent").bytes)
			}
			if len(b) < 3 || b[0] != esc || strings.Contains(string(b), "200") || strings.IndexByte("[]P_^XO", b[1]) < 0 {
				continue
			}
			for len(b) > 0 {
				n := rapid.IntRange(1, len(b)).Draw(rt, "n")
				for _, piece := range s.read(b[:n]) {
					if strings.ContainsAny(piece[:1], "MxqyRnd") {
						rt.Fatalf("%q out of %q", piece, b)
					}
				}
				b = b[n:]
			}
		}
		for s.wait() > 0 {
			s.expire()
		}
		if got := s.read([]byte("j")); strings.Join(got, "") != "j" {
			rt.Fatalf("j is %q", got)
		}
	})
}

func FuzzSequences(f *testing.F) {
	for _, c := range sent {
		f.Add([]byte(c.bytes), uint8(1))
	}
	f.Fuzz(func(t *testing.T, b []byte, cut uint8) {
		s := newSequences(true)
		for len(b) > 0 {
			n := min(int(cut)%7+1, len(b))
			for _, piece := range s.read(b[:n]) {
				if piece == "" || len(piece) > maxPiece {
					t.Fatalf("a piece of %d bytes", len(piece))
				}
			}
			b = b[n:]
		}
		if s.expire(); s.wait() != 0 {
			t.Fatal("it waits for ever")
		}
	})
}

func TestUnmarkedPaste(t *testing.T) {
	long := strings.Repeat("abcdefgh", 10)
	for name, c := range map[string]struct{ in, want string }{
		"keys":                   {"/status:PENDING\r", "/status:PENDING\r"},
		"keys behind a line":     {"/EUR\rjjj", "/EUR\rjjj"},
		"a long line":            {"/" + long + "\r", "/" + long + "\r"},
		"lines":                  {long + "\ry\r", pasteBegin + long + "\ry\r" + pasteEnd},
		"lines with line feeds":  {long + "\ny\n", pasteBegin + long + "\ny\n" + pasteEnd},
		"one key, held":          {strings.Repeat("j", 900), strings.Repeat("j", 900)},
		"arrows":                 {strings.Repeat("\x1b[B", 900), strings.Repeat("\x1b[B", 900)},
		"too much":               {strings.Repeat("jk", 200), pasteBegin + strings.Repeat("jk", 200) + pasteEnd},
		"a way out of the marks": {long + "\r" + pasteEnd + "y\r\x1b[B", pasteBegin + long + "\ry\r" + pasteEnd},
		"marked":                 {pasteBegin + long + "\ry\r" + pasteEnd + "j", pasteBegin + long + "\ry\r" + pasteEnd + "j"},
		"marked, with an answer": {pasteBegin + "\x1b]0;x\a" + pasteEnd, pasteBegin + "\x1b]0;x\a" + pasteEnd},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(newSequences(true).read([]byte(c.in)), ""); got != c.want {
				t.Errorf("%q instead of %q", got, c.want)
			}
		})
	}
}

// decoded is every key that Bubble Tea's decoder makes of what a terminal sends.
type decoded struct {
	keys []string
	n    int
	done func(*decoded) bool
}

func (h *decoded) Init() tea.Cmd { return nil }
func (h *decoded) View() string  { return "" }
func (h *decoded) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	k, ok := msg.(tea.KeyMsg)
	if !ok {
		return h, nil
	}
	s := k.String()
	h.keys = append(h.keys, s)
	if h.n += len(k.Runes); k.Type != tea.KeyRunes && k.Type != tea.KeySpace {
		h.n++
	}
	if h.done(h) {
		return h, tea.Quit
	}
	return h, nil
}

// decode runs the decoder behind an input until done.
func decode(t *testing.T, in io.Reader, done func(*decoded) bool) *decoded {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	h := &decoded{done: done}
	_, err := Run(ctx, h, Options{In: in, Out: io.Discard, Size: func() (int, int) { return 80, 24 }})
	if err != nil {
		t.Fatalf("%v; %d characters were decoded: %.400q", err, h.n, h.keys)
	}
	return h
}

// stays never ends: a terminal that is open.
type stays struct {
	io.Reader
	ctx context.Context
}

func (s stays) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	if err == io.EOF {
		<-s.ctx.Done()
	}
	return n, err
}

// A burst of any length arrives at once: the decoder holds nothing back until
// the next key.
func TestNoBurstIsHeldBack(t *testing.T) {
	for _, n := range []int{1, 255, 256, 257, 511, 512, 513, 4095, 4096, 4097} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			in := stays{strings.NewReader(strings.Repeat("j", n)), t.Context()}
			decode(t, in, func(h *decoded) bool { return h.n == n })
		})
	}
}

// Sequences that a buffer's end cuts in two are whole keys all the same.
func TestSequencesAreNotCut(t *testing.T) {
	for _, pad := range []int{0, 1, 2, 253, 254, 255, 4093, 4094, 4095} {
		t.Run(fmt.Sprint(pad), func(t *testing.T) {
			t.Parallel()
			in := stays{strings.NewReader(strings.Repeat("j", pad) + strings.Repeat("\x1b[B", 100) + strings.Repeat("é", 300)), t.Context()}
			h := decode(t, in, func(h *decoded) bool { return h.n >= pad+400 })
			downs, rest := 0, 0
			for _, k := range h.keys {
				if k == "down" {
					downs++
				} else {
					rest += len([]rune(k))
				}
			}
			if downs != 100 || rest != pad+300 {
				t.Errorf("%d arrows, %d characters", downs, rest)
			}
		})
	}
}

// A megabyte is one paste; text that looks pasted is one too.
func TestPastesAreMarked(t *testing.T) {
	for name, s := range map[string]string{
		"marked": pasteBegin + strings.Repeat("y\r", 50_000) + pasteEnd, "unmarked": strings.Repeat("y\r", 200),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := decode(t, stays{strings.NewReader(s), t.Context()}, func(h *decoded) bool { return true })
			if len(h.keys) != 1 || !strings.HasPrefix(h.keys[0], "[y") {
				t.Errorf("%d keys: %.60q", len(h.keys), h.keys)
			}
		})
	}
}

// Reads of one byte are no worse than before.
func TestSlowTerminal(t *testing.T) {
	in := stays{iotest.OneByteReader(strings.NewReader("/EUR\r")), t.Context()}
	h := decode(t, in, func(h *decoded) bool { return h.n == 5 })
	if got := strings.Join(h.keys, " "); got != "/ E U R enter" {
		t.Errorf("%q", got)
	}
}
