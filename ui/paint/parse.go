package paint

import (
	"hash/maphash"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// cell is one column of a row: 16 bytes without a pointer, so that a frame is
// compared and collected quickly. A wide character takes two cells: the second has
// width 0 and no character.
type cell struct {
	ch     char
	fg, bg colour
	at     attrs
	width  uint8
	// loose: terminals do not agree on how wide this cluster is, so nothing
	// may be written behind it without an absolute move.
	loose bool
}

// char is a character: a rune, or beyond the runes the index of a longer cluster
// in the parser's table.
type char uint32

const firstCluster char = unicode.MaxRune + 1

var blankCell = cell{ch: ' ', width: 1}

func newCell(ch char, st style, width uint8) cell {
	return cell{ch: ch, fg: st.fg, bg: st.bg, at: st.at, width: width}
}

func (c *cell) style() style { return style{c.fg, c.bg, c.at} }

// size estimates the bytes of the cell's text.
func (c *cell) size() int {
	if c.ch < utf8.RuneSelf {
		return 1
	}
	return 3
}

// row is one line of a frame, cut and padded to the width of the screen.
type row struct {
	src        string // as in the view
	start, end style  // of the pen before and behind it
	hash       uint64 // of src and start
	cells      []cell
	loose      bool // some cell is
}

const (
	mark        = '·'  // drawn for what must not reach a terminal
	maxSGR      = 96   // bytes of parameters
	maxCluster  = 48   // bytes of one cluster
	window      = 192  // bytes looked at for one cluster
	maxClusters = 8192 // longer clusters remembered from frame to frame
)

// parser turns lines into rows.
type parser struct {
	seed   maphash.Seed
	known  map[string]cell // clusters that are not ASCII, without style
	longer []string        // clusters of more than one rune
	widths [0x3000]uint8   // of single runes, plus one; 0 is not known
}

func newParser() *parser {
	return &parser{seed: maphash.MakeSeed(), known: map[string]cell{}}
}

// full is true when the table should be emptied; cells parsed before are void then.
func (p *parser) full() bool { return len(p.longer) > maxClusters || len(p.known) > maxClusters }

func (p *parser) reset() {
	clear(p.known)
	clear(p.longer)
	p.longer = p.longer[:0]
}

// appendText appends the text of a character.
func (p *parser) appendText(b []byte, ch char) []byte {
	if ch >= firstCluster {
		return append(b, p.longer[ch-firstCluster]...)
	}
	return utf8.AppendRune(b, rune(ch))
}

// parse fills r from a line of w columns; the pen starts as start.
func (p *parser) parse(r *row, line string, start style, w int) {
	r.src, r.start, r.loose, r.hash = line, start, false, p.hash(line, start)
	if cap(r.cells) < w {
		r.cells = make([]cell, w)
	}
	cells, x := r.cells[:w], 0
	st := start
	for i := 0; i < len(line); {
		var n int
		if n, x = plain(cells, x, line[i:], st); n > 0 {
			i += n
			continue
		}
		if line[i] == 0x1b {
			if n := sgrLen(line[i:]); n > 0 {
				st.apply(line[i+2 : i+n-1])
				i += n
				continue
			}
		}
		if line[i] == '\r' && i+1 == len(line) {
			break // CR LF
		}
		if x >= w { // the row is full: only styles matter
			n := strings.IndexByte(line[i+1:], 0x1b)
			if n < 0 {
				break
			}
			i += 1 + n
			continue
		}
		c, n := p.cluster(line[i:])
		i += n
		if x+int(c.width) > w { // half of a wide character does not fit
			c = newCell(' ', st.blank(), 1)
		} else {
			c.fg, c.bg, c.at = st.fg, st.bg, st.at
			r.loose = r.loose || c.loose
		}
		cells[x] = c
		x++
		if c.width == 2 {
			cells[x] = newCell(0, st, 0)
			x++
		}
	}
	for ; x < w; x++ {
		cells[x] = blankCell
	}
	r.cells, r.end = cells, st
}

// plain takes the printable ASCII in front of s into cells from x on, as far as
// there is room and nothing behind it could join the last character.
func plain(cells []cell, x int, s string, st style) (n, end int) {
	text, blank := newCell(0, st, 1), newCell(' ', st.blank(), 1)
	for n < len(s) && x < len(cells) {
		b := s[n]
		if b < ' ' || b >= 0x7f || n+1 < len(s) && s[n+1] >= 0x80 {
			break
		}
		if b == ' ' {
			cells[x] = blank
		} else {
			text.ch = char(b)
			cells[x] = text
		}
		x++
		n++
	}
	return n, x
}

// sgrLen is the length of the SGR sequence that s starts with, 0 if it does not.
func sgrLen(s string) int {
	if len(s) < 3 || s[1] != '[' {
		return 0
	}
	for i := 2; i < len(s) && i < maxSGR; i++ {
		switch b := s[i]; {
		case b == 'm':
			return i + 1
		case b >= '0' && b <= ';': // digits, ':' and ';'
		default:
			return 0
		}
	}
	return 0
}

// cluster returns the grapheme cluster in front, made safe and without style, and
// its length in s.
func (p *parser) cluster(s string) (cell, int) {
	if s[0] < ' ' || s[0] == 0x7f {
		return cell{ch: mark, width: 1}, 1
	}
	r, n := utf8.DecodeRuneInString(s)
	if int(r) < len(p.widths) && !extends(r) {
		if next, _ := utf8.DecodeRuneInString(s[n:]); n == len(s) || !extends(next) {
			return p.single(r), n
		}
	}
	look := s
	if cut := window; len(look) > cut {
		for cut > window-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
			cut--
		}
		look = look[:cut]
	}
	text, _ := ansi.FirstGraphemeCluster(look, ansi.GraphemeWidth)
	if c, ok := p.known[text]; ok {
		return c, len(text)
	}
	switch {
	case r == utf8.RuneError && n <= 1:
		return cell{ch: '\ufffd', width: 1}, max(n, 1)
	case !printable(r) || unicode.Is(unicode.M, r):
		return cell{ch: mark, width: 1}, n
	}
	c, used := p.learn(text)
	if used == len(look) && used < len(s) { // marks without end
		for used < len(s) {
			r, n := utf8.DecodeRuneInString(s[used:])
			if r != utf8.RuneError && !unicode.Is(unicode.M, r) {
				break
			}
			used += n
		}
	}
	return c, used
}

// single is the cell of a rune that is a cluster by itself.
func (p *parser) single(r rune) cell {
	w := p.widths[r]
	if w == 0 {
		w = 1
		if printable(r) {
			w += uint8(ansi.StringWidth(string(r)))
		}
		p.widths[r] = w
	}
	if w == 1 {
		return cell{ch: mark, width: 1}
	}
	return cell{ch: char(r), width: w - 1}
}

// learn makes a cell of a cluster not seen before. used is less than the cluster
// when something in it may not be written: that is drawn by itself.
func (p *parser) learn(text string) (c cell, used int) {
	used = len(text)
	runes, size := 0, 0
	for i, r := range text {
		n := utf8.RuneLen(r)
		if r == utf8.RuneError || i > 0 && !printable(r) {
			used = i
			break
		}
		if i+n <= maxCluster { // of marks without end the first few are drawn
			runes, size = runes+1, i+n
		}
	}
	shown := text[:size]
	w := ansi.StringWidth(shown)
	if w <= 0 {
		return cell{ch: mark, width: 1}, used
	}
	first, _ := utf8.DecodeRuneInString(text)
	c = cell{ch: char(first), width: uint8(min(w, 2)), loose: isLoose(shown)}
	if runes > 1 {
		c.ch = firstCluster + char(len(p.longer))
		p.longer = append(p.longer, strings.Clone(shown))
	}
	if used == len(text) && used <= window/2 {
		p.known[strings.Clone(text)] = c
	}
	return c, used
}

// isLoose is true for clusters that are more than a base with marks: emoji with
// a presentation selector or skin tone, flags, conjuncts.
func isLoose(text string) bool {
	for i, r := range text {
		if i > 0 && (!unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Variation_Selector, r)) {
			return true
		}
	}
	r, _ := utf8.DecodeRuneInString(text)
	return r >= 0x1f1e6 && r <= 0x1f1ff // half a flag
}

// extends is false for characters that surely are clusters of their own whatever
// ordinary character is beside them: Latin, Greek, Cyrillic, symbols, box drawing, kana, ideographs.
func extends(r rune) bool {
	switch {
	case r < 0x300, r >= 0x370 && r < 0x483, r >= 0x48a && r < 0x530, r >= 0x3041 && r < 0x3097, r >= 0x30a1 && r < 0x30fb:
		return false
	case r >= 0x2010 && r < 0x20d0, r >= 0x2100 && r < 0x2c00, r >= 0x3400 && r < 0xa000:
		return false
	}
	return true
}

// printable is true for the characters that the painter lets through to a
// terminal: graphic ones without the ones that hide, reorder or control.
func printable(r rune) bool {
	switch {
	case r < ' ':
		return false
	case r < 0x7f:
		return true
	case r < 0xa0 || r == 0xad:
		return false
	case r < 0x300:
		return true
	}
	if unicode.Is(unicode.Variation_Selector, r) {
		return r == 0xfe0e || r == 0xfe0f
	}
	return unicode.IsGraphic(r) && !unicode.In(r, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point)
}

// hash identifies a line by what it says and the style it starts with.
func (p *parser) hash(line string, start style) uint64 {
	return maphash.String(p.seed, line) ^ uint64(start.fg)<<32 ^ uint64(start.bg) ^ uint64(start.at)<<24
}
