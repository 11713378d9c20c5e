package widget

import (
	"slices"

	"opdeck/internal/format"
	"opdeck/ui/keymap"
)

const maxMarks = 1000

// marks are the rows that a person chose, by id.
type marks struct {
	order   []string // as they were marked
	has     map[string]bool
	last    string   // the row that was marked last: a range begins there
	cleared []string // those that were cleared last
}

// set marks or unmarks a row; false when no more can be marked.
func (m *marks) set(id string, on bool) bool {
	switch {
	case on == m.has[id]:
	case !on:
		delete(m.has, id)
		m.order = slices.DeleteFunc(m.order, func(o string) bool { return o == id })
	case len(m.order) >= maxMarks:
		return false
	default:
		if m.has == nil {
			m.has = map[string]bool{}
		}
		m.has[id] = true
		m.order = append(m.order, id)
	}
	return true
}

// keep drops the marks of rows that are not there any more, and says how many.
func (m *marks) keep(there func(id string) bool) (lost int) {
	before := len(m.order)
	m.order = slices.DeleteFunc(m.order, func(id string) bool {
		if there(id) {
			return false
		}
		delete(m.has, id)
		return true
	})
	return before - len(m.order)
}

// Marked lists the marked ids in the order they were marked.
func (t *Table) Marked() []string { return slices.Clone(t.marks.order) }

// Marks is how many rows are marked.
func (t *Table) Marks() int { return len(t.marks.order) }

// Unmark drops all marks and says how many there were; Remark brings them back.
func (t *Table) Unmark() int {
	n := len(t.marks.order)
	if n > 0 {
		t.marks = marks{cleared: t.marks.order}
		t.measured = false
	}
	return n
}

// Remark marks again what was cleared last, as far as it is still in the list, and
// says how many that are.
func (t *Table) Remark() (n int) {
	for _, id := range t.marks.cleared {
		if t.source.IndexOf(id) >= 0 && !t.marks.has[id] && t.marks.set(id, true) {
			n++
		}
	}
	t.marks.cleared = nil
	return n
}

// markKey takes a key about marks.
func (t *Table) markKey(msg keymap.Press) bool {
	switch {
	case t.list.Mark.Match(msg):
		t.note = ""
		if t.id != "" {
			t.mark(t.id, !t.marks.has[t.id])
			t.at++
		}
	case t.list.Range.Match(msg):
		t.markRange()
	case t.list.MarkAll.Match(msg):
		t.markAll()
	default:
		return false
	}
	return true
}

func (t *Table) mark(id string, on bool) {
	if t.marks.last = id; !t.marks.set(id, on) {
		t.note = "No more than " + format.Count(maxMarks) + " rows can be marked."
	}
}

// markRange marks the rows from the one that was marked last to the cursor.
func (t *Table) markRange() {
	if t.note = ""; t.id == "" {
		return
	}
	from := t.source.IndexOf(t.marks.last)
	if t.marks.last == "" || from < 0 {
		from = t.at
	}
	to, unread := t.at, 0
	step := 1
	if to < from {
		step = -1
	}
	for i := from; i != to+step && t.note == ""; i += step {
		if id := t.source.Row(i).ID; id != "" {
			t.mark(id, true)
		} else {
			unread++
		}
	}
	if unread > 0 {
		t.note = format.Plural(unread, "row", "rows") + " between are not loaded yet and stay unmarked."
	}
}

func (t *Table) markAll() {
	t.note = ""
	if t.Unmark() > 0 {
		return
	}
	for i := range min(t.source.Len(), maxMarks) {
		t.mark(t.source.Row(i).ID, true)
	}
	if t.source.Len() > maxMarks {
		t.note = "The first " + format.Count(maxMarks) + " rows are marked; that is the limit."
	}
}
