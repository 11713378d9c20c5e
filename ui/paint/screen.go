package paint

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/cellbuf"

	"opdeck/ui/draw"
)

// screen holds the content of the terminal and writes the bytes that change it to the next
// frame. Only one goroutine at a time uses it.
//
// Invariant: after a terminal of w by h cells has processed the bytes of draw,
// its cells are those of lines, its scroll region is the whole screen
// and its pen is the default one.
//
// It keeps lines, not cells: hundreds of consoles idle in one server, and a line that changes is soon read twice.
type screen struct {
	w     int
	valid bool     // lines are what the terminal shows
	lines []string // as shown; each begins in the default style
}

// parser makes cells of lines. It is used for one frame.
type parser struct {
	w       int
	styles  []string // of the cells: sequences that set them from the default one, which is the first
	sgr     *ansi.Parser
	was, is row
}

var parsers = sync.Pool{New: func() any {
	p := &parser{sgr: &ansi.Parser{}}
	p.sgr.SetParamsSize(maxSGR)
	return p
}}

// row is one line of a frame, cut and padded to the width of the screen.
type row struct {
	cells []cell
	text  int  // how many cells are before the blank end
	loose bool // some cell is
}

// cell is one column of a row. A wide character takes several cells: those behind the first are empty.
type cell struct {
	text  string
	style int32 // index in parser.styles
	width int16
	// loose: terminals do not agree on how wide this cluster is. It has as many cells as
	// it may take, and nothing is written behind it without an absolute move.
	loose bool
}

var blank = cell{text: " ", width: 1}

const (
	mark     = "·" // drawn for what must not reach a terminal
	maxSGR   = 96  // bytes of a sequence that sets a style
	shortGap = 5   // cells that did not change are written again if there are no more of them
	minMoved = 3   // lines, which a scroll must save
	clearAll = "\x1b[m\x1b[r\x1b[H\x1b[2J"
)

// same reports whether c looks as the cell o.
func (c *cell) same(o *cell) bool {
	if c.style != o.style || c.width != o.width || c.loose != o.loose || len(c.text) != len(o.text) {
		return false
	}
	if len(c.text) == 1 {
		return c.text[0] == o.text[0]
	}
	return c.text == o.text
}

// invalidate drops the known content of the terminal: the next frame is drawn in full.
func (s *screen) invalidate() { s.valid = false }

// draw appends the bytes that change the terminal to the view. It appends nothing
// if nothing changed.
func (s *screen) draw(b []byte, view []string, w, h int) []byte {
	p := &pen{b: b, w: w, x: -1, y: -1}
	if !s.valid || w != s.w || h != len(s.lines) {
		s.w, s.valid, s.lines = w, true, make([]string, h)
		p.b = append(p.b, clearAll...)
	}
	lines := make([]string, h)
	copy(lines, view)
	s.scroll(p, lines)
	read := parsers.Get().(*parser)
	defer parsers.Put(read)
	read.begin(w)
	for y, line := range lines {
		if line != s.lines[y] {
			read.parse(&read.was, s.lines[y])
			read.parse(&read.is, line)
			p.styles = read.styles
			p.row(y, &read.was, &read.is)
		}
	}
	s.lines = lines
	p.setStyle(0)
	return p.b
}

// scroll lets the terminal move the block of lines with the most that would have to be drawn otherwise.
func (s *screen) scroll(p *pen, lines []string) {
	h := len(lines)
	changed := func(y int) bool { return lines[y] != s.lines[y] }
	top, bottom, by, best := 0, 0, 0, minMoved-1
	differ := 0
	for y := range lines {
		if changed(y) {
			differ++
		}
	}
	if differ < minMoved {
		return
	}
	for d := 1 - h; d < h; d++ {
		saved := 0
		for y, from := max(0, -d), -1; y <= min(h, h-d); y++ {
			if y < min(h, h-d) && lines[y] == s.lines[y+d] {
				if from < 0 {
					from, saved = y, 0
				}
				if changed(y) && lines[y] != "" {
					saved++
				}
				continue
			}
			if from >= 0 && saved > best {
				first, last := min(from, from+d), max(y, y+d)
				for freed := first; freed < last; freed++ { // they are blank then
					if (freed < from || freed >= y) && !changed(freed) && lines[freed] != "" {
						saved--
					}
				}
				if saved > best {
					top, bottom, by, best = first, last, d, saved
				}
			}
			from = -1
		}
	}
	if by == 0 {
		return
	}
	p.b = append(p.b, ansi.SetTopBottomMargins(top+1, bottom)+ansi.CursorPosition(1, top+1)...)
	region := s.lines[top:bottom]
	if by > 0 {
		p.b = append(p.b, ansi.DeleteLine(by)...)
		copy(region, region[by:])
		region = region[len(region)-by:]
	} else {
		p.b = append(p.b, ansi.InsertLine(-by)...)
		copy(region[-by:], region)
		region = region[:-by]
	}
	p.b = append(p.b, "\x1b[r"...)
	clear(region)
}

// begin forgets the styles of an earlier frame.
func (p *parser) begin(w int) {
	p.w, p.styles = w, append(p.styles[:0], "")
}

// parse makes a row of a line.
func (p *parser) parse(r *row, line string) {
	if cap(r.cells) < p.w {
		r.cells = make([]cell, 0, p.w)
	}
	r.cells, r.text, r.loose = r.cells[:0], 0, false
	var st cellbuf.Style
	style, onBlank := int32(0), false
	for line != "" && line != "\r" && len(r.cells) < p.w { // it may end in CR LF
		if n := sgrLen(line); n > 0 {
			ansi.DecodeSequence(line[:n], ansi.NormalState, p.sgr)
			style, onBlank = p.restyle(&st)
			line = line[n:]
			continue
		}
		c, n := cluster(line)
		line = line[n:]
		if len(r.cells)+int(c.width) > p.w { // half of a wide character does not fit
			c = blank
		}
		c.style = style
		r.cells = append(r.cells, c)
		for range c.width - 1 {
			r.cells = append(r.cells, cell{})
		}
		r.loose = r.loose || c.loose
		if c.text != " " || onBlank {
			r.text = len(r.cells)
		}
	}
	r.cells = r.cells[:r.text]
	for len(r.cells) < p.w {
		r.cells = append(r.cells, blank)
	}
}

// restyle changes st by the sequence that was read last. It returns the style, and whether a blank shows it. Conceal is
// left out: the painter does not hide text.
func (p *parser) restyle(st *cellbuf.Style) (style int32, onBlank bool) {
	cellbuf.ReadStyle(p.sgr.Params(), st)
	st.Ul = nil
	st.Attrs &^= cellbuf.ConcealAttr | cellbuf.RapidBlinkAttr
	st.UlStyle = min(st.UlStyle, cellbuf.SingleUnderline)
	if st.Empty() {
		return 0, false
	}
	sequence := st.Sequence()
	i := slices.Index(p.styles, sequence)
	if i < 0 {
		i = len(p.styles)
		p.styles = append(p.styles, sequence)
	}
	unseen := cellbuf.BoldAttr | cellbuf.FaintAttr | cellbuf.ItalicAttr
	return int32(i), st.Bg != nil || st.UlStyle != cellbuf.NoUnderline || st.Attrs&^unseen != 0
}

// sgrLen is the length of the SGR sequence that s starts with, 0 if it does not.
func sgrLen(s string) int {
	if !strings.HasPrefix(s, "\x1b[") {
		return 0
	}
	n := 2
	for n < min(len(s), maxSGR) && s[n] >= '0' && s[n] <= ';' { // digits, ':' and ';'
		n++
	}
	if n == len(s) || s[n] != 'm' {
		return 0
	}
	return n + 1
}

// cluster returns the grapheme cluster in front, made safe and without style, and
// its length in s.
func cluster(s string) (cell, int) {
	switch {
	case s[0] < ' ' || s[0] == 0x7f:
		return cell{text: mark, width: 1}, 1
	case s[0] < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf): // nothing joins
		return cell{text: s[:1], width: 1}, 1
	}
	text, width, sure := draw.Cluster(s)
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && n <= 1:
		return cell{text: "\ufffd", width: 1}, n
	case !printable(r) || unicode.In(r, unicode.Mn, unicode.Me):
		return cell{text: mark, width: 1}, n
	}
	for i, r := range text {
		if r == utf8.RuneError || i > 0 && !printable(r) { // drawn by itself
			text = text[:i]
			_, width, sure = draw.Cluster(text)
			break
		}
	}
	if width <= 0 {
		return cell{text: mark, width: 1}, len(text)
	}
	shown := text
	for len(shown) > draw.MaxCluster {
		_, last := utf8.DecodeLastRuneInString(shown)
		shown = shown[:len(shown)-last]
	}
	return cell{text: shown, width: int16(width), loose: !sure}, len(text)
}

// printable is true for the characters that the painter lets through to a
// terminal: graphic ones without the ones that hide, reorder or control.
func printable(r rune) bool {
	if unicode.Is(unicode.Variation_Selector, r) {
		return r == 0xfe0e || r == 0xfe0f
	}
	return unicode.IsGraphic(r) && !unicode.In(r, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point)
}

// pen writes cells and moves, and knows where the cursor is and which style is set.
type pen struct {
	b      []byte
	w      int
	x, y   int      // -1: not known
	style  int32    // that is set
	styles []string // parser.styles
	last   string   // text of the cell written last
}

// row writes what changes one row into another.
func (p *pen) row(y int, was, is *row) {
	loose := was.loose || is.loose
	x := 0
	for x < len(is.cells) && was.cells[x].same(&is.cells[x]) {
		x++
	}
	for x < is.text {
		same := 0
		for !loose && x+same < is.text && was.cells[x+same].same(&is.cells[x+same]) {
			same++
		}
		if same > 0 && (same > shortGap || x+same == is.text || p.x != x || p.y != y) {
			x += same
			continue
		}
		p.moveTo(x, y)
		p.put(is.cells[x])
		x += int(is.cells[x].width)
	}
	if was.text > x || loose && x < p.w {
		p.moveTo(x, y)
		p.setStyle(0)
		p.b = append(p.b, ansi.EraseLineRight...)
	}
}

// put writes a cell at the cursor.
func (p *pen) put(c cell) {
	p.setStyle(c.style)
	if p.last != "" && draw.Joins(p.last, c.text) { // the terminal would see one cluster in the two
		p.b = append(p.b, ansi.CursorHorizontalAbsolute(p.x+1)...)
	}
	if c.loose && c.width > 1 { // a terminal that draws it in fewer cells must not leave the others as they were
		p.b = append(p.b, draw.Space(int(c.width))+ansi.CursorHorizontalAbsolute(p.x+1)...)
	}
	p.b = append(p.b, c.text...)
	p.x, p.last = p.x+int(c.width), c.text
	if c.loose || p.x >= p.w { // in the last column terminals differ
		p.x = -1
	}
}

// moveTo brings the cursor to a place.
func (p *pen) moveTo(x, y int) {
	switch {
	case p.y != y:
		p.b = append(p.b, ansi.CursorPosition(x+1, y+1)...)
	case p.x != x:
		p.b = append(p.b, ansi.CursorHorizontalAbsolute(x+1)...)
	default:
		return
	}
	p.x, p.y, p.last = x, y, ""
}

// setStyle sets the style of what is written next.
func (p *pen) setStyle(style int32) {
	switch {
	case style == p.style:
		return
	case style == 0:
		p.b = append(p.b, ansi.ResetStyle...)
	case p.style == 0:
		p.b = append(p.b, p.styles[style]...)
	default:
		p.b = append(append(p.b, "\x1b[;"...), p.styles[style][2:]...)
	}
	p.style = style
}
