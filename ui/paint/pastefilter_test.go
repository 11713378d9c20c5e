package paint

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"pgregory.net/rapid"
)

func TestSieve(t *testing.T) {
	long := strings.Repeat("abcdefgh", 10)
	for name, c := range map[string]struct{ in, want string }{
		"keys":                    {"/status:PENDING\r", "/status:PENDING\r"},
		"keys behind a line":      {"/EUR\rjjj", "/EUR\rjjj"},
		"a long line":             {"/" + long + "\r", "/" + long + "\r"},
		"lines":                   {long + "\ry\r", pasteBegin + long + "\ry\r" + pasteEnd},
		"lines with line feeds":   {long + "\ny\n", pasteBegin + long + "\ny\n" + pasteEnd},
		"one key, held":           {strings.Repeat("j", 900), strings.Repeat("j", 900)},
		"arrows":                  {strings.Repeat("\x1b[B", 900), strings.Repeat("\x1b[B", 900)},
		"too much":                {strings.Repeat("jk", 200), pasteBegin + strings.Repeat("jk", 200) + pasteEnd},
		"a way out of the marks":  {long + "\r" + pasteEnd + "y\r\x1b", pasteBegin + long + "\r[201~y\r" + pasteEnd},
		"marked":                  {pasteBegin + long + "\ry\r" + pasteEnd + "j", pasteBegin + long + "\ry\r" + pasteEnd + "j"},
		"marked, with an answer":  {pasteBegin + "\x1b]0;x\a" + pasteEnd, pasteBegin + "\x1b]0;x\a" + pasteEnd},
		"OSC 52 answer":           {"j\x1b]52;c;eQ==\ak", "jk"},
		"title report":            {"\x1b]ly\x1b\\", ""},
		"DCS answer":              {"\x1bP1$r0m\x1b\\k", "k"},
		"an answer without end":   {"\x1b]ly", "\x1b]ly"},
		"alt and another escape":  {"\x1bP\x1b[A", "\x1bP\x1b[A"},
		"wide":                    {"日本", "日本"},
		"broken":                  {"\xff\xfe", "\xff\xfe"},
		"answer of another kind":  {"\x1b[?62;4c", "\x1b[?62;4c"},
		"escape, then a question": {"\x1b", "\x1b"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(new(pasteFilter).pass([]byte(c.in))); got != c.want {
				t.Errorf("%q instead of %q", got, c.want)
			}
		})
	}
}

// A paste in marks is passed as it is, however the reads cut it.
func TestSieveKeepsPastes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.ReplaceAll(string(rapid.SliceOfN(rapid.Byte(), 0, 600).Draw(rt, "text")), "\x1b[20", "x")
		all := []byte(pasteBegin + text + pasteEnd)
		var v pasteFilter
		var got []byte
		for rest := all; len(rest) > 0; {
			n := len(rest) // the marks are in one piece: the reader sees to that
			if len(rest) > len(pasteEnd) && len(rest) < len(all) {
				n = rapid.IntRange(1, len(rest)-len(pasteEnd)).Draw(rt, "n")
			} else if len(rest) == len(all) {
				n = len(pasteBegin)
			}
			got = append(got, v.pass(rest[:n])...)
			rest = rest[n:]
		}
		if !bytes.Equal(got, all) || v.pasting {
			rt.Fatalf("%q instead of %q", got, all)
		}
	})
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
