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

// hidden reports whether there are columns to the left and to the right of the drawn ones.
func (t *tableColumns) hidden() (left, right bool) {
	if t.w < 40 || len(t.shown) == len(t.columns) || len(t.shown) == 0 {
		return false, false
	}
	if t.column < 0 {
		return false, true
	}
	order, n := t.sequence()
	last := t.shown[len(t.shown)-1].index
	return slices.Index(order, t.column) >= n, last != order[len(order)-1]
}

// layout chooses the columns that fit and their widths: those that the window has
// room for, or as far to the right as the column under the cursor.
func (t *tableColumns) layout() []shownColumn {
	room := t.w - t.gutter()
	order, n := t.sequence()
	if at := slices.Index(order, t.column); at < n {
		order = order[:n]
	} else { // the first column stays, and as many as fit before the one under the cursor
		from, need := at, t.least(order[0])+gap+t.least(order[at])
		for from > 1 && need+gap+t.least(order[from-1]) <= room {
			from--
			need += gap + t.least(order[from])
		}
		for at+1 < len(order) && need+gap+t.least(order[at+1]) <= room {
			at++
			need += gap + t.least(order[at])
		}
		order = append([]int{order[0]}, order[max(from, 1):at+1]...)
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
	need = t.squeeze(out, need, room)
	t.grow(out, room-need)
	return out
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
	names := 0 // what texts of any length give up before an important column is left out
	for i, c := range t.columns {
		if c.HidePriority == 0 && c.Flex > 0 && c.Align == Left {
			names += max(t.least(i)-leastName, 0)
		}
	}
	for need > room {
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
	text := func(c Column) bool { return c.Align == Left && c.Flex > 0 }
	narrow(leastName, text)
	narrow(leastWord, func(c Column) bool { return c.Signed })
	for i := range cols { // a word that is cut says less than its sign
		if d := t.columns[cols[i].index]; need > room && d.Signed && cols[i].width > 1 {
			need -= cols[i].width - 1
			cols[i].width = 1
		}
	}
	narrow(leastText, text)
	narrow(leastText, func(c Column) bool { return c.Align == Left })
	narrow(1, func(Column) bool { return true })
	return need
}

// least is the width below which column i is not drawn: its Min, or for numbers
// what the widest one seen takes.
func (t *tableColumns) least(i int) int { return max(t.columns[i].Min, t.wide[i], 1) }

// grow gives spare cells to texts that are cut: first to words and codes, then to texts of any length by their Flex,
// both up to what the widest cell seen takes, and to an id if it can be whole. What is left over goes to Flex again.
func (t *tableColumns) grow(cols []shownColumn, spare int) {
	spare = max(spare, 0)
	for i := range cols {
		if d := t.columns[cols[i].index]; d.Flex == 0 && d.Align == Left && !d.ID &&
			!(d.Signed && cols[i].width <= signOnly) {
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
