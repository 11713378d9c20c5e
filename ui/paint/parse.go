package paint

import (
	"hash/maphash"
	"strings"
	"unicode"
	"unicode/utf8"

	"opdeck/ui/draw"
)

// cell is one column of a row: 16 bytes without a pointer, so that a frame is
// compared and collected quickly. A wide character takes several cells: those behind
// the first have width 0 and no character.
type cell struct {
	ch     char
	fg, bg colour
	at     attrs
	width  uint8
	// loose: terminals do not agree on how wide this cluster is. It has as many cells as
	// it may take, and nothing is written behind it without an absolute move.
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
	maxClusters = 8192 // longer clusters remembered from frame to frame
)

// parser turns lines into rows.
type parser struct {
	seed   maphash.Seed
	known  map[string]cell // clusters that are not ASCII, without style
	longer []string        // clusters of more than one rune
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

// text is the text of a character.
func (p *parser) text(ch char) string {
	if ch >= firstCluster {
		return p.longer[ch-firstCluster]
	}
	return string(rune(ch))
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
		for range c.width - 1 {
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
	text, width, sure := draw.Cluster(s)
	if c, ok := p.known[text]; ok {
		return c, len(text)
	}
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && n <= 1:
		return cell{ch: '\ufffd', width: 1}, max(n, 1)
	case !printable(r) || unicode.In(r, unicode.Mn, unicode.Me):
		return cell{ch: mark, width: 1}, n
	}
	for i, r := range text {
		if r == utf8.RuneError || i > 0 && !printable(r) { // drawn by itself
			text = text[:i]
			_, width, sure = draw.Cluster(text)
			break
		}
	}
	if width <= 0 {
		return cell{ch: mark, width: 1}, len(text)
	}
	c := cell{ch: char(r), width: uint8(width), loose: !sure}
	known := strings.Clone(text)
	if len(text) > n {
		shown := known
		for len(shown) > draw.MaxCluster {
			_, last := utf8.DecodeLastRuneInString(shown)
			shown = shown[:len(shown)-last]
		}
		c.ch = firstCluster + char(len(p.longer))
		p.longer = append(p.longer, shown)
	}
	p.known[known] = c
	return c, len(text)
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
