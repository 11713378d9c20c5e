package paint

import "slices"

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
