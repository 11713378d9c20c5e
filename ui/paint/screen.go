package paint

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"opdeck/ui/draw"
)

// screen holds the content of the terminal and writes the bytes that change it to the next
// frame. Only one goroutine at a time uses it.
//
// Invariant: after a terminal of w by h cells has processed the bytes of draw,
// its cells are those of rows, its scroll region is the whole screen
// and its pen is the default one.
type screen struct {
	w, h    int
	valid   bool  // rows are what the terminal shows
	rows    []row // as shown
	next    []row // as wanted; a row is swapped with its counterpart when drawn
	changed []bool
	near    int // how far away the last row was found that stood elsewhere
	parser  *parser
	pen     pen
	shifts  shifter
}

func newScreen() *screen {
	p := newParser()
	return &screen{parser: p, pen: pen{parser: p}}
}

// invalidate drops the known content of the terminal: the next frame is drawn in full.
func (s *screen) invalidate() { s.valid = false }

// draw appends the bytes that change the terminal to the view. It appends nothing
// if nothing changed.
func (s *screen) draw(b []byte, view []string, w, h int) []byte {
	s.pen.begin(b, w, h)
	if s.parser.full() {
		s.parser.reset()
		s.valid = false
	}
	if !s.valid || w != s.w || h != s.h {
		s.reset(w, h)
		s.pen.clear()
	}
	count := s.read(view)
	if count >= minShift {
		s.shift()
	}
	for y := range s.rows {
		if s.changed[y] {
			s.drawRow(y)
			s.rows[y], s.next[y] = s.next[y], s.rows[y]
		}
	}
	return s.pen.finish()
}

// reset makes an empty screen of w by h.
func (s *screen) reset(w, h int) {
	if w != s.w || h != s.h {
		s.rows, s.next, s.changed = make([]row, h), make([]row, h), make([]bool, h)
		s.w, s.h = w, h
	}
	for y := range s.rows {
		s.parser.parse(&s.rows[y], "", style{}, w)
	}
	s.valid = true
}

// read takes the lines of the view and returns how many rows differ from those
// shown. A line that is the very string of the frame before costs one look.
func (s *screen) read(view []string) int {
	count := 0
	st := style{}
	s.near = 0
	for y := range s.rows {
		line := ""
		if y < len(view) {
			line = view[y]
		}
		shown := &s.rows[y]
		s.changed[y] = shown.start != st || shown.src != line
		if s.changed[y] {
			count++
			s.take(y, line, st)
			st = s.next[y].end
		} else {
			shown.src = line // the next frame's is most likely the same string
			st = shown.end
		}
	}
	return count
}

// take makes the row wanted at y: a copy where the line is on the screen
// already, most likely as far away as the one before.
func (s *screen) take(y int, line string, start style) {
	next := &s.next[y]
	hash := s.parser.hash(line, start)
	for i := range s.h {
		from := (y + s.near + i) % s.h
		old := &s.rows[from]
		if old.hash != hash || old.start != start || old.src != line {
			continue
		}
		s.near = (from - y + s.h) % s.h
		next.src, next.start, next.end, next.hash, next.loose = line, start, old.end, hash, old.loose
		next.cells = append(next.cells[:0], old.cells...)
		return
	}
	s.parser.parse(next, line, start, s.w)
}

// drawRow writes the cells of row y that differ.
func (s *screen) drawRow(y int) {
	was, is := s.rows[y].cells, s.next[y].cells
	from, to := 0, s.w
	for from < to && was[from] == is[from] {
		from++
	}
	for to > from && was[to-1] == is[to-1] {
		to--
	}
	if from == to {
		return
	}
	for from > 0 && is[from].width == 0 {
		from--
	}
	text := s.w // where the blank tail begins
	for text > 0 && is[text-1] == blankCell {
		text--
	}
	loose := s.rows[y].loose || s.next[y].loose
	if loose {
		to = s.w
	}
	erase := loose || to-max(text, from) > 2
	if erase {
		s.runs(y, from, min(to, text), loose)
		if x := max(text, from); x < s.w {
			s.pen.moveTo(x, y)
			s.pen.eraseLine()
		}
		return
	}
	s.runs(y, from, to, loose)
}

// runs writes the differing cells in [from, to); all of them if all is set.
func (s *screen) runs(y, from, to int, all bool) {
	was, is := s.rows[y].cells, s.next[y].cells
	for x := from; x < to; {
		if !all && was[x] == is[x] {
			x = s.gap(y, x, to)
			continue
		}
		if is[x].width == 0 { // its first half was equal: cannot be, but never split
			x++
			continue
		}
		if n := blankRun(is[x:to]); n > 10 {
			s.pen.moveTo(x, y)
			s.pen.erase(n)
			x += n
			continue
		}
		s.pen.moveTo(x, y)
		s.pen.put(&is[x])
		x += int(is[x].width)
	}
}

// gap handles equal cells from x on: it writes them again when that is shorter
// than moving over them. It returns where the next difference is.
func (s *screen) gap(y, x, to int) int {
	was, is := s.rows[y].cells, s.next[y].cells
	end, size, plain := x, 0, true
	for end < to && was[end] == is[end] {
		size += is[end].size()
		plain = plain && s.pen.suits(&is[end])
		end++
	}
	if end < to && plain && s.pen.at(x, y) && size <= 4 {
		for ; x < end; x++ {
			if is[x].width > 0 {
				s.pen.put(&is[x])
			}
		}
	}
	return end
}

// blankRun counts the blanks in front.
func blankRun(cells []cell) int {
	n := 0
	for n < len(cells) && cells[n] == blankCell {
		n++
	}
	return n
}

// Rows below which shifts are not looked for, and what a shift costs in bytes.
const (
	minShift  = 3
	shiftCost = 22
	maxShifts = 6
)

// shifter finds blocks of rows that moved up or down.
type shifter struct {
	cost    []int // bytes for drawing a row from its current state
	offsets []int // shifts at which a wanted row is already on screen
	spare   []row
}

// block is a shift of the rows [top, bottom) by d: the row wanted at y, for the
// block's part of the region, is shown at y+d.
type block struct{ top, bottom, d, gain int }

// shift lets the terminal move blocks of rows where that saves bytes, and
// brings rows and changed up to date.
func (s *screen) shift() {
	s.shifts.cost = append(s.shifts.cost[:0], make([]int, s.h)...)
	for y := range s.rows {
		s.estimate(y)
	}
	for range maxShifts {
		b := s.bestShift()
		if b.gain <= shiftCost {
			return
		}
		s.pen.scroll(b.top, b.bottom, b.d)
		s.moveRows(b)
	}
}

// estimate notes what it takes to draw row y now.
func (s *screen) estimate(y int) {
	s.shifts.cost[y] = 0
	if s.changed[y] {
		s.shifts.cost[y] = estimateBytes(s.rows[y].cells, s.next[y].cells)
	}
}

// estimateBytes estimates the bytes that turn one row into another.
func estimateBytes(was, is []cell) int {
	n, run := 0, false
	for x := range is {
		if was[x] == is[x] {
			run = false
			continue
		}
		if !run {
			n, run = n+6, true
		}
		n += is[x].size()
	}
	return n
}

// estimateOnBlank estimates the bytes a row costs on an empty line.
func estimateOnBlank(is []cell) int {
	n := 6
	for x := range is {
		if is[x] != blankCell {
			n += is[x].size()
		}
	}
	return n
}

// want is the row that the frame has at y.
func (s *screen) want(y int) *row {
	if s.changed[y] {
		return &s.next[y]
	}
	return &s.rows[y]
}

// bestShift finds the block that saves most.
func (s *screen) bestShift() block {
	best := block{}
	for _, d := range s.findOffsets() {
		lo, hi := max(0, -d), min(s.h, s.h-d)
		for y := lo; y < hi; {
			if !s.moved(y, d) {
				y++
				continue
			}
			end, gain := y, 0
			for end < hi && s.moved(end, d) {
				gain += s.shifts.cost[end]
				end++
			}
			if b := s.weigh(y, end, d, gain); b.gain > best.gain {
				best = b
			}
			y = end
		}
	}
	return best
}

// findOffsets lists how far rows moved that are to be drawn: shifts by anything else
// would save nothing.
func (s *screen) findOffsets() []int {
	out := s.shifts.offsets[:0]
	for y := range s.rows {
		if !s.changed[y] {
			continue
		}
		for at := range s.rows {
			if d := at - y; d != 0 && s.moved(y, d) && !slices.Contains(out, d) {
				out = append(out, d)
			}
		}
	}
	s.shifts.offsets = out
	return out
}

// moved is true when the row wanted at y is the one shown at y+d.
func (s *screen) moved(y, d int) bool {
	a, b := s.want(y), &s.rows[y+d]
	return a.hash == b.hash && a.start == b.start && a.src == b.src
}

// weigh says what a shift would save: the rows of the block, less the rows that
// the move leaves blank.
func (s *screen) weigh(from, to, d, gain int) block {
	b := block{top: from, bottom: to + d, d: d, gain: gain}
	freed, end := to, to+d
	if d < 0 {
		b.top, b.bottom = from+d, to
		freed, end = from+d, from
	}
	if gain <= shiftCost {
		return b
	}
	for y := max(freed, b.top); y < min(end, b.bottom); y++ {
		b.gain += s.shifts.cost[y] - estimateOnBlank(s.want(y).cells)
	}
	return b
}

// moveRows does to rows what the terminal does to its lines.
func (s *screen) moveRows(b block) {
	// what is wanted at each row of the region moves out of rows first
	for y := b.top; y < b.bottom; y++ {
		if !s.changed[y] {
			s.take(y, s.rows[y].src, s.rows[y].start)
		}
	}
	region := s.rows[b.top:b.bottom]
	n := b.d
	if n < 0 {
		n = len(region) + n
	}
	s.shifts.spare = append(s.shifts.spare[:0], region[:n]...)
	copy(region, region[n:])
	copy(region[len(region)-n:], s.shifts.spare)
	clear(s.shifts.spare)
	blank := region[:max(0, -b.d)]
	if b.d > 0 {
		blank = region[len(region)-b.d:]
	}
	for i := range blank {
		s.parser.parse(&blank[i], "", style{}, s.w)
	}
	for y := b.top; y < b.bottom; y++ {
		shown, want := &s.rows[y], &s.next[y]
		s.changed[y] = shown.src != want.src || shown.start != want.start
		s.estimate(y)
	}
}

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
