package paint

import (
	"hash/maphash"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// cell is one column of a row. A wide character takes two: the second has width
// 0 and no text.
type cell struct {
	text  string
	st    style
	width uint8
	// loose: terminals do not agree on how wide this cluster is, so nothing
	// may be written behind it without an absolute move.
	loose bool
}

var blankCell = cell{text: " ", width: 1}

// row is one line of a frame, cut and padded to the width of the screen.
type row struct {
	src        string // as in the view
	start, end style  // of the pen before and behind it
	hash       uint64 // of src and start
	cells      []cell
	loose      bool // some cell is
}

const (
	mark        = "·" // drawn for what must not reach a terminal
	asciiText   = " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"
	maxSGR      = 96   // bytes of parameters
	maxCluster  = 48   // bytes of one cluster
	maxInterned = 8192 // clusters remembered
)

// parser turns lines into rows. It remembers clusters so that cells do not keep
// whole views alive and a frame allocates little.
type parser struct {
	seed     maphash.Seed
	clusters map[string]cluster
}

// cluster is what the parser knows of a grapheme cluster that is not ASCII.
type cluster struct {
	text  string
	width uint8
	loose bool
}

func newParser() *parser {
	return &parser{seed: maphash.MakeSeed(), clusters: map[string]cluster{}}
}

// parse fills r from a line of w columns; the pen starts as start.
func (p *parser) parse(r *row, line string, start style, w int) {
	r.src, r.start, r.loose = line, start, false
	cells := r.cells[:0]
	st := start
	for i := 0; i < len(line); {
		b := line[i]
		if b >= ' ' && b < 0x7f && (i+1 == len(line) || line[i+1] < 0x80) {
			if len(cells) < w {
				c := cell{text: asciiText[b-' ' : b-' '+1], st: st, width: 1}
				if b == ' ' {
					c.st = st.blank()
				}
				cells = append(cells, c)
			}
			i++
			continue
		}
		if b == 0x1b {
			if n := sgrLen(line[i:]); n > 0 {
				st.apply(line[i+2 : i+n-1])
				i += n
				continue
			}
		}
		if b == '\r' && i+1 == len(line) {
			break // CR LF
		}
		c, n := p.cluster(line[i:])
		i += n
		if len(cells)+int(c.width) > w {
			for len(cells) < w { // half of a wide character has no place
				cells = append(cells, cell{text: " ", st: st.blank(), width: 1})
			}
			continue
		}
		cells = append(cells, cell{text: c.text, st: st, width: c.width, loose: c.loose})
		r.loose = r.loose || c.loose
		if c.width == 2 {
			cells = append(cells, cell{st: st})
		}
	}
	for len(cells) < w {
		cells = append(cells, blankCell)
	}
	r.cells, r.end = cells, st
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

// cluster returns the grapheme cluster in front, made safe, and its length in s.
func (p *parser) cluster(s string) (cluster, int) {
	if s[0] < ' ' || s[0] == 0x7f {
		return cluster{text: mark, width: 1}, 1
	}
	text, width := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	if c, ok := p.clusters[text]; ok {
		return c, len(text)
	}
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && n <= 1:
		return cluster{text: "\ufffd", width: 1}, max(n, 1)
	case !Printable(r) || width <= 0 || unicode.Is(unicode.M, r):
		return cluster{text: mark, width: 1}, n
	}
	used := len(text)
	if used > maxCluster { // marks without end: the first few are drawn
		cut := maxCluster
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut]
	}
	// Cut before the first thing that may not follow: it is drawn by itself.
	for i, c := range text {
		if i > 0 && (!Printable(c) || c == utf8.RuneError) {
			text, used = text[:i], i
			width = ansi.StringWidth(text)
			break
		}
	}
	if width <= 0 {
		return cluster{text: mark, width: 1}, n
	}
	c := cluster{text: strings.Clone(text), width: uint8(min(width, 2)), loose: isLoose(text, n)}
	if len(p.clusters) >= maxInterned {
		clear(p.clusters)
	}
	if used == len(text) {
		p.clusters[c.text] = c
	}
	return c, used
}

// isLoose is true for clusters that are more than a base with marks: emoji with
// a presentation selector or skin tone, flags, conjuncts.
func isLoose(text string, first int) bool {
	for _, r := range text[first:] {
		if !unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Variation_Selector, r) {
			return true
		}
	}
	r, _ := utf8.DecodeRuneInString(text)
	return r >= 0x1f1e6 && r <= 0x1f1ff // half a flag
}

// Printable is true for the characters that the painter lets through to a
// terminal: graphic ones without the ones that hide, reorder or control.
func Printable(r rune) bool {
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

// identify sets the hash by which shifted rows are found.
func (p *parser) identify(r *row) {
	r.hash = maphash.String(p.seed, r.src) ^ uint64(r.start.fg)<<32 ^ uint64(r.start.bg) ^ uint64(r.start.at)<<24
}
