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
