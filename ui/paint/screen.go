package paint

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
