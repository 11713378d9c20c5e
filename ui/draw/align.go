package draw

import (
	"math"
	"strings"
)

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
	var room [64]number // a page of rows needs no memory of its own
	list := room[:0]
	for _, s := range col {
		if fits(s, width) {
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

// Width is the width that the points were found for.
func (at Points) Width() int { return at.width }

func (at Points) inLine() bool { return at.w+at.p+at.u <= at.width }

// Put places one number of the column. One that is wider than the column becomes
// "###": it is never cut to another number.
func (at Points) Put(s string) string { return string(at.Append(nil, s)) }

// Append appends what Put returns.
func (at Points) Append(b []byte, s string) []byte {
	if !fits(s, at.width) {
		return append(b, strings.Repeat("#", max(at.width, 0))...)
	}
	n := parts(s)
	if n.p <= at.limit && at.inLine() {
		b = append(append(append(b, Space(at.width-at.p-at.u-n.w)...), n.whole...), n.part...)
		return append(append(append(b, Space(at.p-n.p)...), n.unit...), Space(at.u-n.u)...)
	}
	return AppendPadLeft(b, s, at.width)
}

// fits reports whether s takes at most w cells; no character has more cells than bytes.
func fits(s string, w int) bool { return len(s) <= w || Width(s) <= w }
