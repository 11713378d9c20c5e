package paint

import (
	"strconv"
	"unicode/utf8"

	"opdeck/ui/draw"
)

// pen writes cells and moves, and knows where the cursor is and which style is
// set. A coordinate of -1 is not known.
type pen struct {
	b      []byte
	mark   int // length of b at begin
	w, h   int
	x, y   int
	st     style
	last   char // of the cell written last if the cursor is right behind it, else 0
	parser *parser
}

// begin starts a frame behind b. Nothing is known of the cursor; the style is
// the default one.
func (p *pen) begin(b []byte, w, h int) {
	*p = pen{b: b, mark: len(b), w: w, h: h, x: -1, y: -1, parser: p.parser}
}

// finish leaves the default style and returns the bytes.
func (p *pen) finish() []byte {
	if len(p.b) > p.mark {
		p.style(style{})
	}
	b := p.b
	p.b = nil
	return b
}

// at is true when the cursor is known to be there.
func (p *pen) at(x, y int) bool { return p.x == x && p.y == y }

// clear erases the screen.
func (p *pen) clear() {
	p.b = append(p.b, "\x1b[m\x1b[r\x1b[H\x1b[2J"...)
	p.x, p.y, p.st, p.last = 0, 0, style{}, 0
}

func (p *pen) style(st style) {
	if p.st != st {
		p.b = appendSGR(p.b, p.st, st)
		p.st, p.last = st, 0
	}
}

// suits is true when the cell looks right in the style that is set: a blank does
// not show the colour of its text.
func (p *pen) suits(c *cell) bool {
	st := c.style()
	return p.st == st || c.ch == ' ' && p.st.blank() == st
}

// unseen sets a style that leaves no trace on erased cells.
func (p *pen) unseen() {
	if p.st.blank() != (style{}) {
		p.style(style{})
	}
}

// put writes a cell at the cursor.
func (p *pen) put(c *cell) {
	if !p.suits(c) {
		p.style(c.style())
	}
	if p.last >= utf8.RuneSelf && draw.Joins(p.parser.text(p.last), p.parser.text(c.ch)) {
		p.csi(p.x+1, 'G') // or the terminal would see one cluster in the two
	}
	if c.loose && c.width > 1 {
		// A terminal that draws it in fewer cells must not leave the others as they were.
		p.b = append(p.b, draw.Space(int(c.width))...)
		p.csi(p.x+1, 'G')
	}
	if c.ch < utf8.RuneSelf {
		p.b = append(p.b, byte(c.ch))
	} else {
		p.b = append(p.b, p.parser.text(c.ch)...)
	}
	p.last = c.ch
	p.x += int(c.width)
	if p.x >= p.w || c.loose {
		p.x, p.last = -1, 0 // in the last column terminals differ
	}
}

// eraseLine erases from the cursor to the end of the line.
func (p *pen) eraseLine() {
	p.unseen()
	p.b = append(p.b, "\x1b[K"...)
	p.last = 0
}

// erase blanks n cells from the cursor on; the cursor stays.
func (p *pen) erase(n int) {
	p.unseen()
	p.csi(n, 'X')
	p.last = 0
}

// csi appends CSI n final; n of 1 is left out.
func (p *pen) csi(n int, final byte) {
	p.b = appendCSI(p.b, n, final)
	p.last = 0
}

func appendCSI(b []byte, n int, final byte) []byte {
	b = append(b, "\x1b["...)
	if n != 1 {
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, final)
}

// moveTo brings the cursor to a place in the fewest bytes.
func (p *pen) moveTo(x, y int) {
	if p.at(x, y) {
		return
	}
	p.last = 0
	start := len(p.b)
	p.b = appendCUP(p.b, x, y)
	if p.y >= 0 {
		p.shorter(start, func(b []byte) []byte { return p.relative(b, x, y) })
		if y > p.y && y-p.y <= 6 { // CR and line feeds; never on the last line
			p.shorter(start, func(b []byte) []byte {
				b = append(b, '\r')
				for range y - p.y {
					b = append(b, '\n')
				}
				if x > 0 {
					b = appendCSI(b, x, 'C')
				}
				return b
			})
		}
	}
	p.x, p.y = x, y
}

// shorter replaces what is behind start if f writes less.
func (p *pen) shorter(start int, f func([]byte) []byte) {
	n := len(p.b)
	p.b = f(p.b)
	if alt := len(p.b) - n; alt < n-start {
		copy(p.b[start:], p.b[n:])
		p.b = p.b[:start+alt]
		return
	}
	p.b = p.b[:n]
}

// relative moves by steps from a known row.
func (p *pen) relative(b []byte, x, y int) []byte {
	if y > p.y {
		b = appendCSI(b, y-p.y, 'B')
	} else if y < p.y {
		b = appendCSI(b, p.y-y, 'A')
	}
	switch {
	case p.x == x:
	case x == 0:
		b = append(b, '\r')
	case p.x >= 0 && x > p.x && x-p.x < x+1:
		b = appendCSI(b, x-p.x, 'C')
	case p.x >= 0 && x < p.x && p.x-x <= x+1:
		b = appendCSI(b, p.x-x, 'D')
	default:
		b = appendCSI(b, x+1, 'G')
	}
	return b
}

func appendCUP(b []byte, x, y int) []byte {
	b = append(b, "\x1b["...)
	if x > 0 || y > 0 {
		b = strconv.AppendInt(b, int64(y+1), 10)
	}
	if x > 0 {
		b = append(b, ';')
		b = strconv.AppendInt(b, int64(x+1), 10)
	}
	return append(b, 'H')
}

// scroll moves the rows [top, bottom) by d: up when d > 0, down when d < 0. The
// rows that come free are blank.
func (p *pen) scroll(top, bottom, d int) {
	p.unseen()
	region := bottom < p.h
	if region {
		p.b = append(p.b, "\x1b["...)
		if top > 0 {
			p.b = strconv.AppendInt(p.b, int64(top+1), 10)
		}
		p.b = append(p.b, ';')
		p.b = strconv.AppendInt(p.b, int64(bottom), 10)
		p.b = append(p.b, 'r')
	}
	p.b = appendCUP(p.b, 0, top)
	if d > 0 {
		p.csi(d, 'M')
	} else {
		p.csi(-d, 'L')
	}
	if region {
		p.b = append(p.b, "\x1b[r"...)
	}
	p.x, p.y = -1, -1
}
