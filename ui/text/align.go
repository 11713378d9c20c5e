package text

import "strings"

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

func (n number) in(w, p, u int) string {
	return Space(w-n.w) + n.whole + n.part + Space(p-n.p) + n.unit + Space(u-n.u)
}

// Align pads numbers, each may have a unit behind a space, so that decimal
// points stand in one column and units in another; all results have the same
// width.
func Align(col []string) []string {
	list := make([]number, len(col))
	var w, p, u int
	for i, s := range col {
		list[i] = parts(s)
		w, p, u = max(w, list[i].w), max(p, list[i].p), max(u, list[i].u)
	}
	out := make([]string, len(col))
	for i, n := range list {
		out[i] = n.in(w, p, u)
	}
	return out
}

// AlignTo is Align in exactly width cells, at the right edge. When not all
// numbers fit in line, those with the most decimals leave it and stand at the
// right edge alone. A number wider than width becomes "###": it is never cut to
// another number.
func AlignTo(col []string, width int) []string {
	out := make([]string, len(col))
	list := make([]number, len(col))
	limit := 0 // of decimals
	for i, s := range col {
		list[i] = parts(s)
		if Width(s) <= width {
			limit = max(limit, list[i].p)
		}
	}
	var w, p, u int
	for ; ; limit-- {
		w, p, u = 0, 0, 0
		for i, n := range list {
			if n.p <= limit && Width(col[i]) <= width {
				w, p, u = max(w, n.w), max(p, n.p), max(u, n.u)
			}
		}
		if w+p+u <= width || limit <= 0 {
			break
		}
	}
	for i, n := range list {
		switch {
		case Width(col[i]) > width:
			out[i] = strings.Repeat("#", max(width, 0))
		case n.p <= limit && w+p+u <= width:
			out[i] = PadLeft(n.in(w, p, u), width)
		default:
			out[i] = PadLeft(col[i], width)
		}
	}
	return out
}
