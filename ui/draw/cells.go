// Package draw fits text into terminal cells: it cuts, pads, wraps and aligns, and handles
// wide characters. Package opdeck/internal/format formats values.
//
// Functions that take a plain string expect safe text. Text from outside
// is untrusted.Text (package opdeck/api/untrusted) and becomes safe by Line, Block or
// Middle. Cluster says how many cells a character takes, in every part of the console.
package draw

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"opdeck/api/untrusted"
	"opdeck/internal/format"
)

const ellipsis = "…"

// Width is the number of cells that are kept for s; SGR sequences take none.
func Width(s string) int {
	n, ok := quick(s)
	if ok {
		return n
	}
	n = 0
	for i := 0; i < len(s); {
		size, cells := next(s[i:])
		n, i = n+cells, i+size
	}
	return n
}

// MaxCluster is the length in bytes up to which the marks of a character are drawn. A letter behind them begins another
// character.
const MaxCluster = 48

// window is how many bytes are looked at for the end of a character: then marks without end cost no more than their
// length.
const window = 192

// Cluster returns the first character of s, as people see it, and how many cells are kept for it: as many as the
// terminals take that take most. Some count a cluster of several code points as one character, others add up its code
// points. sure is false if they do not agree: then the cursor has to be placed anew behind it. s is text without
// sequences, and not empty.
func Cluster(s string) (cluster string, cells int, sure bool) {
	r, size := utf8.DecodeRuneInString(s)
	if n := alone(r); n > 0 {
		if then, _ := utf8.DecodeRuneInString(s[size:]); size == len(s) || alone(then) > 0 {
			return s[:size], n, true
		}
	}
	cut := min(len(s), window)
	for cut < len(s) && cut > size && !utf8.RuneStart(s[cut]) {
		cut--
	}
	cluster, _ = ansi.FirstGraphemeCluster(s[:cut], ansi.GraphemeWidth)
	for len(cluster) == cut && cut < len(s) && !unicode.Is(unicode.M, r) {
		r, n := utf8.DecodeRuneInString(s[cut:])
		if !unicode.Is(unicode.M, r) {
			break
		}
		cut += n
		cluster = s[:cut]
	}
	sum := 0
	for i, r := range cluster {
		if i < MaxCluster {
			one := string(r)
			sum += max(ansi.StringWidth(one), ansi.StringWidthWc(one))
		} else if !unicode.Is(unicode.M, r) {
			cluster = cluster[:i]
			break
		}
	}
	together := ansi.StringWidth(cluster)
	return cluster, max(together, sum), len(cluster) == size && together == sum && ansi.StringWidthWc(cluster) == sum
}

// next is the length of the sequence or character that s begins with, and its cells.
func next(s string) (size, cells int) {
	if s[0] < ' ' || s[0] == 0x7f {
		_, _, size, _ = ansi.DecodeSequence(s, ansi.NormalState, nil)
		return max(size, 1), 0
	}
	cluster, cells, _ := Cluster(s)
	return len(cluster), cells
}

// Joins reports whether two characters side by side, each of which is one by itself, could become one.
func Joins(a, b string) bool {
	if last, _ := utf8.DecodeLastRuneInString(a); alone(last) > 0 {
		if first, _ := utf8.DecodeRuneInString(b); alone(first) > 0 {
			return false
		}
	}
	both, _ := ansi.FirstGraphemeCluster(a+b, ansi.GraphemeWidth)
	return len(both) != len(a)
}

// alone is how many cells a character takes that joins with no other one of its kind; 0 where that needs a closer
// look.
func alone(r rune) int {
	if r >= ' ' && r < 0x7f {
		return 1
	}
	return cells(r)
}

// quick counts what nearly every line of a frame is made of: ASCII, the letters
// of common scripts, the signs of the theme, SGR sequences. Anything else, and
// with it whatever joins to a character before it, is not ok.
func quick(s string) (n int, ok bool) {
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c >= 0x20 && c < 0x7f:
			n++
			i++
		case c == 0x1b:
			if i+1 >= len(s) || s[i+1] != '[' {
				return 0, false
			}
			for i += 2; i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == ';'); i++ {
			}
			if i >= len(s) || s[i] != 'm' {
				return 0, false
			}
			i++
		case c >= 0xc2:
			r, size := utf8.DecodeRuneInString(s[i:])
			w := cells(r)
			if w == 0 {
				return 0, false
			}
			n += w
			i += size
		default:
			return 0, false
		}
	}
	return n, true
}

// cells is how many cells a character takes that joins with no neighbour of
// these ranges; 0 where that needs a closer look.
func cells(r rune) int {
	switch {
	case r < 0x80:
		return 0
	case r >= 0xa1 && r <= 0x24f && r != 0xad, // Latin
		r >= 0x391 && r <= 0x3c9 && r != 0x3a2,             // Greek
		r >= 0x400 && r <= 0x481, r >= 0x48a && r <= 0x52f, // Cyrillic
		r >= 0x2010 && r <= 0x2026, r >= 0x2500 && r <= 0x259f,
		r == '›', r == '●', r == '▣', r == '▲', r == '▼', r == '◌', r == '✓', r == '✗':
		if r == 0xa9 || r == 0xae { // they may be drawn as pictures
			return 0
		}
		return 1
	case r >= 0x3041 && r <= 0x3096, r >= 0x30a1 && r <= 0x30fa, r >= 0x4e00 && r <= 0x9fff:
		return 2
	}
	return 0
}

// Cut returns s in at most w cells; a cut text ends in "…". It keeps SGR sequences,
// which the caller's reset closes.
func Cut(s string, w int) string {
	switch {
	case w <= 0:
		return ""
	case Width(s) <= w:
		return s
	}
	return cut(s, w)
}

// cut is Cut for a text that is wider than w, which is at least 1.
func cut(s string, w int) string {
	head, rest := split(s, w-1)
	return head + ellipsis + sequences(rest)
}

// split cuts s behind the characters that fit in w cells.
func split(s string, w int) (head, rest string) {
	n, i := 0, 0
	for n < w && i+1 < len(s) && s[i] >= ' ' && s[i] < 0x7f && s[i+1] < utf8.RuneSelf { // as nearly every letter is
		n, i = n+1, i+1
	}
	for i < len(s) {
		size, cells := next(s[i:])
		if n += cells; n > w {
			return s[:i], s[i:]
		}
		i += size
	}
	return s, ""
}

// drop cuts the characters off that take any of the first w cells.
func drop(s string, w int) string {
	head, rest := split(s, w)
	if rest != "" && Width(head) < w { // a wide one is in the way
		size, _ := next(rest)
		head, rest = s[:len(head)+size], rest[size:]
	}
	return sequences(head) + rest
}

// sequences is s without its text.
func sequences(s string) string {
	if strings.IndexByte(s, 0x1b) < 0 {
		return ""
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		size, cells := next(s[i:])
		if cells == 0 && s[i] == 0x1b {
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// Space returns n spaces; none when n is negative.
func Space(n int) string { return strings.Repeat(" ", max(n, 0)) }

// Pad fills s with spaces on the right to w cells; a longer s stays.
func Pad(s string, w int) string { return padFrom(s, Width(s), w) }

// padFrom is Pad for s of n cells.
func padFrom(s string, n, w int) string {
	for n < w {
		ascii := s == "" || s[len(s)-1] < utf8.RuneSelf
		if s += Space(w - n); ascii {
			return s
		}
		n = Width(s) // its end may join with a space
	}
	return s
}

// PadLeft fills s with spaces on the left to w cells.
func PadLeft(s string, w int) string {
	for n := Width(s); n < w; n = Width(s) { // its beginning may join with a space
		s = Space(w-n) + s
	}
	return s
}

// Fit is Cut and Pad: exactly w cells.
func Fit(s string, w int) string {
	switch n := Width(s); {
	case n <= w:
		return padFrom(s, n, w)
	case w <= 0:
		return ""
	}
	return Pad(cut(s, w), w)
}

// FitRight is Fit with the text at the right edge.
func FitRight(s string, w int) string { return PadLeft(Cut(s, w), w) }

// Line draws text from outside as one safe line of at most w cells.
func Line(u untrusted.Text, w int) string {
	if w <= 0 {
		return ""
	}
	// A character takes 0 to 2 cells; more characters than this never fit.
	return Cut(u.Line(4*w+16), w)
}

// Middle draws s in at most w cells and keeps both ends, so that a file name shows its
// beginning and its extension.
func Middle(s string, w int) string {
	if w <= 0 {
		return ""
	}
	n := Width(s)
	if n <= w {
		return s
	}
	if w < 5 {
		return Cut(s, w)
	}
	tail := (w - 1) / 2
	head := w - 1 - tail
	front, _ := split(s, head)
	return front + ellipsis + drop(s, n-tail)
}

// File draws a file name from outside in at most w cells, both ends kept.
func File(u untrusted.Text, w int) string { return Middle(u.Line(512), w) }

// Wrap breaks safe text into lines of at most w cells, at spaces and behind hyphens where it can.
func Wrap(s string, w int) []string {
	if w <= 0 {
		return nil
	}
	var lines []string
	begin, n := 0, 0             // of the line, and its cells
	end, then, behind := 0, 0, 0 // where it can be broken, where the next line begins, cells up to there
	line := func(end int) {
		l := strings.TrimRight(s[begin:end], " ")
		if head, rest := split(l, w); strings.Trim(ansi.Strip(rest), " ") == "" {
			lines = append(lines, head+sequences(rest))
		} else { // one character is too wide
			lines = append(lines, Cut(l, w))
		}
		begin, n = then, n-behind
	}
	for i := 0; i < len(s); {
		size, cells := next(s[i:])
		for n+cells > w && n > 0 && cells > 0 && s[i] != ' ' {
			if then <= begin {
				end, then, behind = i, i, n
			}
			line(end)
		}
		n, i = n+cells, i+size
		switch s[i-1] {
		case '\n':
			end, then, behind = i-1, i, n
			line(end)
		case ' ':
			end, then, behind = i-1, i, n
		case '-':
			end, then, behind = i, i, n
		}
	}
	line(len(s))
	return lines
}

// Hang breaks a safe line, which may be drawn, into lines of at most w cells. The lines below
// the first begin in the column of its text, by cells from the left, or, if that leaves
// little room, two cells to the right of the start of s.
func Hang(s string, by, w int) []string {
	const little = 30
	if plain := ansi.Strip(s); by > 0 && w-by < little {
		by = min(by, len(plain)-len(strings.TrimLeft(plain, " "))+2)
	}
	if by <= 0 || by >= w || Width(s) <= w {
		return Wrap(s, w)
	}
	label, text := split(s, by)
	out := Wrap(text, w-by)
	for i := range out {
		lead := Space(by)
		if i == 0 {
			lead = label
		}
		out[i] = lead + out[i]
	}
	return out
}

// Lay returns exactly h lines of at most w cells each: it adds empty lines and cuts
// the rest.
func Lay(lines []string, w, h int) []string {
	out := make([]string, max(h, 0))
	for i := range out {
		if i < len(lines) {
			out[i] = cutStyled(lines[i], w)
		}
	}
	return out
}

const reset = "\x1b[0m"

func cutStyled(s string, w int) string {
	if Width(s) <= w {
		return s
	}
	c := Cut(s, w)
	if strings.Contains(c, "\x1b[") {
		c += reset
	}
	return c
}

// Unstyled returns a drawn line without its styles, for drawing in another style.
func Unstyled(line string) string { return ansi.Strip(line) }

// Finds reports whether a drawn line contains the search text, in any case.
func Finds(line, typed string) bool {
	return strings.Contains(strings.ToLower(ansi.Strip(line)), strings.ToLower(typed))
}

// Spread puts left and right on one line of exactly w cells. If both do not
// fit, it drops right first.
func Spread(left, right string, w int) string {
	l, r := Width(left), Width(right)
	if l+r+1 > w || r == 0 {
		return cutStyled(left, w) + Space(w-l)
	}
	return left + Space(w-l-r) + right
}

// number is a drawn number in its parts: "1,234", ".50", " EUR".
type number struct {
	whole, part, unit string
	w, p, u           int // cells
}

func parts(s string) number {
	var n number
	n.whole = s
	if i := strings.IndexByte(s, ' '); i >= 0 {
		n.whole, n.unit = s[:i], s[i:]
	}
	if i := strings.IndexByte(n.whole, '.'); i >= 0 {
		n.whole, n.part = n.whole[:i], n.whole[i:]
	}
	n.w, n.p, n.u = Width(n.whole), Width(n.part), Width(n.unit)
	return n
}

// pointCells is what a decimal point and four decimals take: numbers with more do not move those of a column.
const pointCells = 5

// Align pads numbers, each may have a unit behind a space, so that decimal points are in one column and units in
// another; all results have the same width. The unit of a number with more than four decimals is behind its last one.
func Align(col []string) []string {
	at := PointsOf(col, math.MaxInt32)
	out, widest := make([]string, len(col)), 0
	for i, s := range col {
		n := parts(s)
		out[i] = Space(at.w-n.w) + n.whole + n.part + Space(at.p-n.p) + n.unit
		widest = max(widest, Width(out[i]))
	}
	for i := range out {
		out[i] = Pad(out[i], widest)
	}
	return out
}

// Shortened returns a number with more than four decimals with three of them and "…", which is never rounded; and
// others as they are.
func Shortened(s string) string {
	i := strings.IndexByte(s, '.')
	if i < 0 || len(s)-i <= pointCells {
		return s
	}
	n := parts(s)
	if n.p <= pointCells {
		return s
	}
	return n.whole + n.part[:pointCells-1] + ellipsis + n.unit
}

// Points is where a column of numbers has its decimal points and units, at the
// right edge of a width.
type Points struct {
	width   int
	limit   int // of decimals; numbers with more are not aligned
	w, p, u int // cells of the three parts
}

// PointsOf finds the place of the points of a column. When not all numbers fit in
// line, those with the most decimals leave it and are at the right edge alone.
func PointsOf(col []string, width int) Points {
	at := Points{width: width}
	var list []number
	for _, s := range col {
		if Width(s) <= width {
			n := parts(s)
			list = append(list, n)
			at.limit = min(max(at.limit, n.p), pointCells)
		}
	}
	for ; ; at.limit-- {
		at.w, at.p, at.u = 0, 0, 0
		for i := range list {
			if n := &list[i]; n.p <= at.limit {
				at.w, at.p, at.u = max(at.w, n.w), max(at.p, n.p), max(at.u, n.u)
			} else if width == math.MaxInt32 {
				at.w = max(at.w, n.w)
			}
		}
		if at.inLine() || at.limit <= 0 {
			return at
		}
	}
}

func (at Points) inLine() bool { return at.w+at.p+at.u <= at.width }

// Put places one number of the column. One that is wider than the column becomes
// "###": it is never cut to another number.
func (at Points) Put(s string) string {
	if Width(s) > at.width {
		return strings.Repeat("#", max(at.width, 0))
	}
	n := parts(s)
	if n.p <= at.limit && at.inLine() {
		return Space(at.width-at.p-at.u-n.w) + n.whole + n.part + Space(at.p-n.p) + n.unit + Space(at.u-n.u)
	}
	return PadLeft(s, at.width)
}

// ID draws an identifier in at most w cells: the whole of it, its short form, or as much of both ends as fits.
func ID(id string, w int) string {
	whole := untrusted.Text(id).Line(256)
	if Width(whole) <= w {
		return whole
	}
	return Middle(format.ShortID(untrusted.Text(id)), w)
}

// Fitting returns the first of the sentences that fits into w cells; the sentences begin with the longest. If none
// fits, it cuts the last one.
func Fitting(w int, sentences ...string) string {
	for _, s := range sentences {
		if Width(s) <= w {
			return s
		}
	}
	if len(sentences) == 0 {
		return ""
	}
	return Cut(sentences[len(sentences)-1], w)
}
