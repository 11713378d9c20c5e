package widget

// Point puts the cursor on the row at line y of the table, the first line being 0; ok is
// false when no row is there.
func (t *Table) Point(y int) (ok bool) {
	from, to := t.Visible()
	row := from + y - t.head()
	if y < t.head() || row >= to {
		return false
	}
	t.at, t.note = row, ""
	t.settle()
	return true
}

// PointColumn puts the cursor over the heads on the column at a cell of the table; ok is
// false when no head is there.
func (t *Table) PointColumn(x, y int) (ok bool) {
	if y != 0 || t.head() == 0 {
		return false
	}
	from := t.gutter()
	for _, c := range t.shown {
		if x >= from && x < min(from+c.width, t.w) {
			t.column = c.index
			return true
		}
		from += c.width + gap
	}
	return false
}
