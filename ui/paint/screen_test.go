package paint

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"opdeck/ui/draw"
	"opdeck/ui/paint/painttest"
)

var (
	clusters = []string{"a", "b", "Z", "7", " ", " ", " ", "é", "─", "│", "·", "漢", "字", "カ", "한", "e\u0301", "o\u0308\u0323", "🙂", "👍🏽", "❤\ufe0f", "🇩🇪", "ﷺ", "ก็", "क्षि", "€", "▣", "ﾔ", "ﾀﾞ", "ﾊﾟ", "\u1112\u1161\u11ab", "か\u3099", "漢\u0301", "🇩"}
	styles   = []string{"", "", "\x1b[m", "\x1b[0m", "\x1b[1m", "\x1b[2;3m", "\x1b[22m", "\x1b[4m", "\x1b[24m", "\x1b[7m", "\x1b[27m", "\x1b[9m", "\x1b[31m", "\x1b[97;104m", "\x1b[38;5;229;48;5;57m", "\x1b[38;2;1;22;133m", "\x1b[48;2;9;8;7m", "\x1b[39m", "\x1b[49m", "\x1b[1;4;38;5;9m", "\x1b[5m"}
)

// genLine draws a line that fits in w cells: a wide character never hangs over
// the edge, which terminals clip in ways of their own.
func genLine(t *rapid.T, w int) string {
	var b strings.Builder
	left := rapid.IntRange(0, w).Draw(t, "width")
	for left > 0 {
		b.WriteString(rapid.SampledFrom(styles).Draw(t, "style"))
		c := rapid.SampledFrom(clusters).Draw(t, "cluster")
		n := min(left/draw.Width(c), rapid.SampledFrom([]int{1, 1, 2, 5, 12}).Draw(t, "repeat"))
		if n == 0 {
			break
		}
		b.WriteString(strings.Repeat(c, n))
		left -= n * draw.Width(c)
	}
	if rapid.Bool().Draw(t, "close") {
		b.WriteString("\x1b[0m")
	}
	return b.String()
}

// genNext draws a frame near the last one: shifted as a whole or in part, with
// some lines changed, or a new one altogether.
func genNext(t *rapid.T, last []string, w, h int) []string {
	next := append([]string(nil), last...)
	for len(next) < h {
		next = append(next, genLine(t, w))
	}
	next = next[:h]
	for range rapid.IntRange(0, 3).Draw(t, "shifts") {
		a := rapid.IntRange(0, h-1).Draw(t, "from")
		b := rapid.IntRange(a, h).Draw(t, "to")
		d := rapid.IntRange(-5, 5).Draw(t, "by")
		part := append([]string(nil), next[a:b]...)
		for i := range part {
			if j := i + d; j >= 0 && j < len(part) {
				next[a+i] = part[j]
			} else {
				next[a+i] = genLine(t, w)
			}
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "edits") {
		y := rapid.IntRange(0, h-1).Draw(t, "edit")
		next[y] = genLine(t, w)
	}
	return next
}

func genSize(t *rapid.T) (int, int) {
	w := rapid.OneOf(rapid.IntRange(1, 12), rapid.IntRange(1, 90)).Draw(t, "w")
	h := rapid.OneOf(rapid.IntRange(1, 6), rapid.IntRange(1, 30)).Draw(t, "h")
	return w, h
}

// After any frames at any sizes the terminal shows the last frame, and every
// byte is one of the painter's.
func TestTerminalShowsTheLastFrame(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w, h := genSize(rt)
		e, s := newTerminal(t, w, h), &screen{}
		e.feed(modes{}.enter(nil))
		var lines []string
		for range rapid.IntRange(1, 8).Draw(rt, "frames") {
			if rapid.IntRange(0, 9).Draw(rt, "resize") == 0 {
				w, h = genSize(rt)
				e.resize(w, h)
				lines = nil
				s.invalidate()
			}
			lines = genNext(rt, lines, w, h)
			view := strings.Join(lines, "\n")
			b := s.draw(nil, strings.Split(view, "\n"), w, h)
			if err := painttest.Check(b); err != nil {
				rt.Fatalf("%v in %q", err, b)
			}
			e.feed(b)
			if err := differ(e, reference(t, view, w, h)); err != nil {
				rt.Fatalf("%v\nwritten %q", err, b)
			}
			if again := s.draw(nil, strings.Split(view, "\n"), w, h); len(again) != 0 {
				rt.Fatalf("the same frame again writes %q", again)
			}
		}
	})
}

// Lines that are too long, half wide characters at the edge, too many lines.
func TestFrameIsCutToTheTerminal(t *testing.T) {
	e, s := newTerminal(t, 5, 3), &screen{}
	e.feed(modes{}.enter(nil))
	e.feed(s.draw(nil, strings.Split("abcdefgh\n漢字漢字\n\x1b[7mabcd漢\x1b[0m\nno place", "\n"), 5, 3))
	for y, want := range []string{"abcde", "漢字", "abcd"} {
		if got := e.text(y); got != want {
			t.Errorf("row %d is %q, want %q", y, got, want)
		}
	}
	e.feed(s.draw(nil, []string{"x"}, 5, 3))
	if got := e.text(0) + e.text(1) + e.text(2); got != "x" {
		t.Errorf("left behind: %q", got)
	}
}

// What is neither text nor SGR is drawn as a mark and never written.
func TestHostileViewIsDrawnAsMarks(t *testing.T) {
	for view, want := range map[string]string{
		"a\x1b]0;y\ab":        "a·]0;y·b",
		"a\x1b[2Jb":           "a·[2Jb",
		"\x1b[?1049l":         "·[?1049l",
		"\x1bPq\x1b\\":        "·Pq·\\",
		"a\u009b2Jb":          "a·2Jb",
		"a\x9b2Jb":            "a\ufffd2Jb",
		"a\rb\tc\bd\x7fe":     "a·b·c·d·e",
		"pay\u202etxt.exe":    "pay·txt.exe",
		"a\u200bb\u2066c":     "a·b·c",
		"a\u2028b":            "a·b",
		"\u0301x":             "·x",
		"\x1b[1;\x1b[2mx":     "·[1;x",
		"line\r\nnext\r":      "line",
		"\x1b[8mseen":         "seen",
		"\x1b[99999999999mx":  "x",
		"\x1b[38;5mx\x1b[38m": "x",
	} {
		e, s := newTerminal(t, 40, 1), &screen{}
		b := s.draw(nil, strings.Split(view, "\n"), 40, 1)
		if err := painttest.Check(b); err != nil {
			t.Errorf("%q: %v", view, err)
		}
		e.feed(b)
		if got := e.text(0); got != want {
			t.Errorf("%q is shown as %q, want %q", view, got, want)
		}
	}
}

// A stack of marks and clusters side by side that would join do not move what
// is behind them.
func TestNeighboursDoNotJoin(t *testing.T) {
	s, e := &screen{}, newTerminal(t, 30, 1)
	// two halves of a flag, kept apart by a style that is then the same
	b := s.draw(nil, []string{"\U0001f1e9\x1b[0m\U0001f1eax \u1100\x1b[0m\u1161y e\x1b[0m\u0301z" + strings.Repeat("\u0301", 200) + "!"}, 30, 1)
	if err := painttest.Check(b); err != nil {
		t.Error(err)
	}
	e.feed(b)
	for x, want := range map[int]string{0: "\U0001f1e9", 2: "\U0001f1ea", 4: "x", 6: "\u1100", 8: "", 9: "y"} {
		if got := e.look(x, 0).Content; got != want && x != 8 {
			t.Errorf("column %d shows %q, want %q: %q", x, got, want, b)
		}
	}
	if got := e.text(0); !strings.HasSuffix(got, "!") {
		t.Errorf("shown as %q", got)
	}
}

// Behind a cluster whose width terminals do not agree on, the cursor is placed
// again, and the cell that may be left over is blank.
func TestClustersOfDoubtfulWidthMoveNothing(t *testing.T) {
	for _, c := range []string{"❤\ufe0f", "🇩🇪", "👍🏽", "ﾀﾞ", "क्षि", "か\u3099", "\u1112\u1161\u11ab", "漢\u0301"} {
		s, n := &screen{}, draw.Width(c)
		b := string(s.draw(nil, []string{c + "x"}, 10, 1))
		if !strings.Contains(b, fmt.Sprintf("%s\x1b[1G%s\x1b[%dGx", draw.Space(n), c, n+1)) {
			t.Errorf("%s is written as %q", c, b)
		}
	}
	// what is behind it is drawn again with it
	s := &screen{}
	s.draw(nil, []string{"ab❤\ufe0fcd"}, 10, 1)
	if b := string(s.draw(nil, []string{"aB❤\ufe0fcd"}, 10, 1)); !strings.Contains(b, "cd") {
		t.Errorf("the rest of the line is not drawn: %q", b)
	}
}

// From one cell to 500x200 and back: always the whole frame, and nothing else.
func TestAllSizes(t *testing.T) {
	s, e := &screen{}, newTerminal(t, 80, 24)
	e.feed(modes{}.enter(nil))
	for _, z := range []Size{{80, 24}, {1, 1}, {2, 1}, {1, 9}, {20, 5}, {500, 200}, {3, 3}, {120, 40}, {300, 100}, {80, 24}} {
		e.resize(z.W, z.H)
		s.invalidate()
		l := newList(z.W, z.H)
		for i := range 4 {
			l.top, l.cur = i*i, i*i+i
			view := l.view()
			e.feed(s.draw(nil, view, z.W, z.H))
			if err := differ(e, reference(t, clip(strings.Join(view, "\n"), z.W), z.W, z.H)); err != nil {
				t.Fatalf("%v, frame %d: %v", z, i, err)
			}
		}
	}
}

// clip cuts every line to w columns.
func clip(view string, w int) string {
	lines := strings.Split(view, "\n")
	for i := range lines {
		lines[i] = ansi.Truncate(lines[i], w, "") // all of it is certain
	}
	return strings.Join(lines, "\n")
}

// Lines made to be slow to take apart cost no more than their length.
func TestHostileLinesAreReadInLinearTime(t *testing.T) {
	for _, in := range []string{
		strings.Repeat("a\u200d", 100_000), strings.Repeat("\u0301", 200_000), "a" + strings.Repeat("\u0301", 200_000),
		strings.Repeat("\x1b[", 100_000), strings.Repeat("\x1b[1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1", 20_000),
		strings.Repeat("\U0001f1e9", 100_000), strings.Repeat("\U0001f469\u200d", 50_000), strings.Repeat("\xff", 300_000), strings.Repeat("\n", 300_000),
	} {
		start := time.Now()
		if err := painttest.Check((&screen{}).draw(nil, strings.Split(in, "\n"), 500, 200)); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("%q… took %v", in[:8], d)
		}
	}
}

func FuzzView(f *testing.F) {
	f.Add("a\x1b[1mb\nc", "a\x1b[31mb", uint8(10), uint8(3))
	f.Add("漢字\x1b]52;c;?\a", "\u202e\x9b", uint8(3), uint8(2))
	f.Add(strings.Repeat("a\u200d", 3000), strings.Repeat("\u0301", 5000), uint8(80), uint8(2))
	f.Fuzz(func(t *testing.T, one, two string, w, h uint8) {
		s := &screen{}
		width, height := int(w)+1, int(h)%40+1
		for _, view := range []string{one, two, one + "\n" + two, two + "\n" + one} {
			b := s.draw(nil, strings.Split(view, "\n"), width, height)
			if err := painttest.Check(b); err != nil {
				t.Fatalf("%v in %q", err, b)
			}
			p := parsers.Get().(*parser)
			p.begin(width)
			for y, line := range s.lines {
				if p.parse(&p.is, line); len(p.is.cells) != width {
					t.Fatalf("row %d has %d cells, want %d", y, len(p.is.cells), width)
				}
			}
		}
	})
}
