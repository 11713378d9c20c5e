package widget

import (
	"slices"

	"opdeck/ui/draw"
)

// moreSign is what the sign behind the last title takes, where more columns follow.
const moreSign = 2

// moveColumn moves the cursor over the heads: over the columns that the window has
// room for, then over the others, which scroll in from the right. To the left of the
// first one there is none.
func (t *tableColumns) moveColumn(by int) {
	order, _ := t.sequence()
	if len(order) == 0 {
		return
	}
	at := max(min(slices.Index(order, t.column)+by, len(order)-1), -1)
	if t.column = -1; at >= 0 {
		t.column = order[at]
	}
	t.shown = t.layout()
	t.measured = false
}

// LeaveColumn takes the cursor off the heads; false when it was on none.
func (t *tableColumns) LeaveColumn() bool {
	was := t.column >= 0
	t.column = -1
	t.shown = t.layout()
	t.measured = false
	return was
}

// Column is the title of the column under the cursor; empty: none is.
func (t *tableColumns) Column() string {
	if t.column < 0 {
		return ""
	}
	return t.columns[t.column].Title
}

// sequence is the columns in the order in which the cursor reaches them, the first n of
// which the window has room for.
func (t *tableColumns) sequence() (order []int, n int) {
	in := t.fitting(t.w - t.gutter())
	for _, fits := range []bool{true, false} {
		for i := range t.columns {
			if in[i] == fits {
				order = append(order, i)
			}
		}
		if fits {
			n = len(order)
		}
	}
	return order, n
}

// saysMore is the width from which a sign in the head says that more columns follow.
const saysMore = 40

// hidden reports whether there are columns to the left and to the right of the drawn ones.
func (t *tableColumns) hidden() (left, right bool) {
	if t.w < saysMore || len(t.shown) == len(t.columns) || len(t.shown) == 0 {
		return false, false
	}
	order, _ := t.sequence()
	last := slices.Index(order, t.shown[len(t.shown)-1].index)
	return last >= len(t.shown), last < len(order)-1
}

// layout chooses the columns that fit and their widths: those that the window has room for; and if the cursor is on
// another, as many of those that tell rows apart as leave room for it.
func (t *tableColumns) layout() []shownColumn {
	room := t.w - t.gutter()
	order, n := t.sequence()
	stay := 0 // of the first columns; they alone are narrowed for the one under the cursor
	if at := slices.Index(order, t.column); at < n {
		order, stay = order[:n], n
	} else {
		order, stay = t.scrolledTo(order, n, at, room-moreSign)
	}
	need := -gap
	out := make([]shownColumn, 0, len(order))
	for _, i := range order {
		out = append(out, shownColumn{i, t.least(i)})
		need += t.least(i) + gap
	}
	if last := len(out) - 1; last >= 0 && len(out) < len(t.columns) && draw.Width(t.columns[out[last].index].Title)+
		moreSign > out[last].width {
		room -= moreSign // the sign that more columns follow
	}
	need = t.squeeze(out[:stay], need, room)
	need = t.squeeze(out, need, room)
	t.grow(out, room-need)
	return out
}

// scrolledTo is the columns that are drawn when the cursor is on the one at, which the first view of n columns has no
// room for: those that stay of that view, and as many around the cursor as have room then.
func (t *tableColumns) scrolledTo(order []int, n, at, room int) (shown []int, stay int) {
	need, least := t.least(order[at]), t.least(order[at]) // least: when those that stay are narrowed
	for k, i := range order[:n] {
		if c := t.columns[i]; (k == 0 || c.HidePriority == 0) && least+gap+t.narrowed(i) <= room {
			shown = append(shown, i)
			need += gap + t.least(i)
			least += gap + t.narrowed(i)
		}
	}
	stay = len(shown)
	from, to := at, at+1
	for from > 0 && !slices.Contains(shown, order[from-1]) && need+gap+t.least(order[from-1]) <= room {
		from--
		need += gap + t.least(order[from])
	}
	for to < len(order) && need+gap+t.least(order[to]) <= room {
		need += gap + t.least(order[to])
		to++
	}
	return append(shown, order[from:to]...), stay
}

// narrowed is the width to which squeeze narrows column i for another: a text of any length is cut, and of a word with
// a sign that stays.
func (t *tableColumns) narrowed(i int) int {
	switch c := t.columns[i]; {
	case c.Signed:
		return 1
	case c.ofAnyLength():
		return min(t.least(i), leastName)
	}
	return t.least(i)
}

// ofAnyLength reports whether the column has texts such as names, which are cut before words and numbers are.
func (c Column) ofAnyLength() bool { return c.Align == Left && c.Flex > 0 }

// Needs is the width of a table that has room for all columns whose HidePriority is at most last.
func (t *tableColumns) Needs(last int) int {
	n := t.gutter() - gap + moreSign
	for _, c := range t.columns {
		if c.HidePriority <= last {
			n += max(c.Min, 1) + gap
		}
	}
	return n
}

// important is the highest HidePriority of columns that are left out only after texts of any length are narrowed.
const important = 3

// fitting leaves out columns by their HidePriority until the others have room.
func (t *tableColumns) fitting(room int) []bool {
	in := make([]bool, len(t.columns))
	need := -gap
	for i := range t.columns {
		in[i] = true
		need += t.least(i) + gap
	}
	usual := room // of columns that are left out before a text is narrowed
	if need > room && t.w >= saysMore {
		usual -= moreSign // nothing is cut for the sign then
	}
	names := 0 // what texts of any length give up before an important column is left out
	for i, c := range t.columns {
		if c.HidePriority == 0 && c.ofAnyLength() {
			names += max(t.least(i)-leastName, 0)
		}
	}
	for need > usual {
		worst := -1
		for i, c := range t.columns {
			if in[i] && c.HidePriority > 0 && (need-names > room || c.HidePriority > important) &&
				(worst < 0 || c.HidePriority >= t.columns[worst].HidePriority) {
				worst = i
			}
		}
		if worst < 0 {
			break
		}
		in[worst] = false
		need -= t.least(worst) + gap
	}
	return in
}

// The least widths of texts that narrow windows cut.
const (
	leastName = 12 // of a text of any length, while words and signs can be narrowed
	leastText = 6
	leastWord = 9 // of a word with a sign: "◌ PENDING"
	signOnly  = 3 // a Signed column of at most this width shows its sign alone
)

// squeeze narrows columns of which not even those fit that are never dropped: texts of any length first, then words,
// which say that they are cut, and words with a sign, of which the sign stays; and last numbers, which show as "###".
func (t *tableColumns) squeeze(cols []shownColumn, need, room int) int {
	narrow := func(least int, is func(Column) bool) {
		for i := len(cols) - 1; i >= 0 && need > room; i-- {
			if is(t.columns[cols[i].index]) {
				less := max(min(cols[i].width-least, need-room), 0)
				cols[i].width -= less
				need -= less
			}
		}
	}
	narrow(leastName, Column.ofAnyLength)
	narrow(leastWord, func(c Column) bool { return c.Signed })
	for i := range cols { // a word that is cut says less than its sign
		if d := t.columns[cols[i].index]; need > room && d.Signed && cols[i].width > 1 {
			need -= cols[i].width - 1
			cols[i].width = 1
		}
	}
	narrow(leastText, Column.ofAnyLength)
	narrow(leastText, func(c Column) bool { return c.Align == Left })
	narrow(1, func(Column) bool { return true })
	return need
}

// least is the width below which column i is not drawn: its Min, or for numbers
// what the widest one seen takes. While no row has text in it, it is its title.
func (t *tableColumns) least(i int) int {
	c := t.columns[i]
	if t.empty(i) {
		return max(min(c.Min, draw.Width(c.Title)+moreSign), 1)
	}
	return max(c.Min, t.wide[i], 1)
}

// empty reports whether none of the rows seen has text in column i.
func (t *tableColumns) empty(i int) bool { return t.filled.any && !t.filled.in[i] }

// grow gives spare cells to texts that are cut: first to words and codes, then to texts of any length by their Flex,
// both up to what the widest cell seen takes, and to an id if it can be whole. What is left over goes to Flex again.
func (t *tableColumns) grow(cols []shownColumn, spare int) {
	spare = max(spare, 0)
	for i := range cols {
		if d := t.columns[cols[i].index]; d.Flex == 0 && d.Align == Left && !d.ID &&
			!t.empty(cols[i].index) && !(d.Signed && cols[i].width <= signOnly) {
			more := min(max(min(t.want[cols[i].index], d.Max)-cols[i].width, 0), spare)
			cols[i].width += more
			spare -= more
		}
	}
	spare = t.share(cols, spare, true)
	for i := range cols {
		d := t.columns[cols[i].index]
		if more := d.Max - cols[i].width; d.ID && more > 0 && more <= spare && t.want[cols[i].index] > cols[i].width {
			cols[i].width += more
			spare -= more
		}
	}
	t.share(cols, spare, false)
}

// share shares spare cells out by Flex, up to Max, and if cut only among columns whose cells are cut. It returns
// what is left.
func (t *tableColumns) share(cols []shownColumn, spare int, cut bool) int {
	limit := func(c shownColumn) int {
		d := t.columns[c.index]
		most := d.Max
		if most == 0 {
			most = t.w
		}
		if cut {
			most = min(most, t.want[c.index])
		}
		return most - c.width
	}
	for spare > 0 {
		shares := 0
		for _, c := range cols {
			if limit(c) > 0 {
				shares += t.columns[c.index].Flex
			}
		}
		if shares == 0 {
			break
		}
		before, unit := spare, max(spare/shares, 1)
		for i := range cols {
			if d := t.columns[cols[i].index]; d.Flex > 0 {
				more := max(min(unit*d.Flex, spare, limit(cols[i])), 0)
				cols[i].width += more
				spare -= more
			}
		}
		if spare == before {
			break
		}
	}
	return spare
}
