package operations

import (
	"strings"
	"testing"

	"opdeck/ui/uitest"
)

// TestADroppedFilterBringsNothingNew: rows that a filter hid did not arrive.
func TestADroppedFilterBringsNothingNew(t *testing.T) {
	d := open(t, &fake{n: 300}).typed("status:PENDING")
	d.keys("enter", "down", "down", "down", "down", "down")
	under := d.list.Table.Cursor.SelectedID()
	d.keys("esc")
	if d.list.Table.Cursor.SelectedID() != under || d.list.Table.Cursor.At() != 10 {
		t.Fatalf("the cursor is on row %d, %s", d.list.Table.Cursor.At(), d.list.Table.Cursor.SelectedID())
	}
	if n := d.list.Table.Cursor.ArrivedAbove(); n != 0 || strings.Contains(strings.ReplaceAll(d.View(), "newest", ""), " new") {
		t.Errorf("%d rows are said to be new\n%s", n, d.View())
	}
}

// TestTypingReplacesTheOldFilter: text typed after / replaces the old filter; a space or an arrow key continues it.
func TestTypingReplacesTheOldFilter(t *testing.T) {
	d := open(t, &fake{n: 300}).typed("id:62387c")
	d.keys("enter", "/")
	d.Has("/ id:62387c", "typing replaces it")
	d.Send(uitest.Type("pending"))
	d.Has("/ pending")
	d.keys("enter", "/", "end")
	d.Send(uitest.Type(" eur"))
	d.Has("/ pending eur")
	d.keys("enter", "/")
	d.Send(uitest.Type(" usd"))
	d.Has("/ pending eur usd")
	d.keys("enter", "/")
	d.Send(uitest.Paste("a b"))
	d.Has("/ a b")
	d.keys("enter", "/", "backspace", "enter")
	d.Has("300 operations")
	d.keys("/")
	d.Send(uitest.Type("amount:100,200"))
	d.Has("100,200 is the amount 100200; a list is amount:100|200")
}
