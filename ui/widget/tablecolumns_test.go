package widget

import (
	"slices"
	"strings"
	"testing"

	"github.com/muesli/termenv"
	"pgregory.net/rapid"

	"opdeck/internal/field"
	"opdeck/ui/uitest"
)

// drawColumns makes any columns, the first of which is often one that narrow windows leave out.
func drawColumns(t *rapid.T) []field.Layout {
	out := make([]field.Layout, rapid.IntRange(2, 9).Draw(t, "columns"))
	for i := range out {
		c := field.Layout{Title: strings.Repeat("t", rapid.IntRange(2, 10).Draw(t, "title")), Min: rapid.IntRange(2, 18).Draw(t, "min"),
			HidePriority: max(rapid.IntRange(-3, 9).Draw(t, "hide"), 0)}
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			c.Align = field.Decimal
		case 1:
			c.Flex, c.Max = 1, c.Min+rapid.IntRange(0, 20).Draw(t, "max")
		case 2:
			c.Signed = true
		}
		out[i] = c
	}
	return out
}

// TestColumnsThatTellRowsApartStay: when the cursor goes to a column for which there was no room, it has its least
// width, and those that are never left out stay as far as they then have room, the first one before the others.
func TestColumnsThatTellRowsApartStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tb := newTable(termenv.Ascii, nil, 80, 8)
		tb.SetColumns(drawColumns(t)...)
		w := rapid.IntRange(40, 200).Draw(t, "w")
		tb.SetSize(w, 8)
		order, n := tb.Cursor.Columns.sequence()
		for at, under := range order {
			press(tb, "right")
			if err := uitest.CheckFrame(tb.View(), w, 8); err != nil {
				t.Fatal(err)
			}
			if tb.Cursor.Columns.column != under || tb.Cursor.Columns.Width(under) == 0 {
				t.Fatalf("the cursor is on %d, not %d of %v, drawn are %v", tb.Cursor.Columns.column, under, order, tb.Cursor.Columns.shown)
			}
			if at < n {
				continue
			}
			if tb.Cursor.Columns.Width(under) < min(tb.Cursor.Columns.least(under), w-tb.Cursor.Columns.gutter()-moreSign) {
				t.Fatalf("%d cells of %d", tb.Cursor.Columns.Width(under), tb.Cursor.Columns.least(under))
			}
			least := tb.Cursor.Columns.least(under)
			for _, i := range order[:n] {
				if (i == order[0] || tb.Cursor.Columns.columns[i].HidePriority == 0) && tb.Cursor.Columns.Width(i) > 0 {
					least += gap + tb.Cursor.Columns.narrowed(i)
				}
			}
			for k, i := range order[:n] {
				if (k == 0 || tb.Cursor.Columns.columns[i].HidePriority == 0) && tb.Cursor.Columns.Width(i) == 0 && least+gap+tb.Cursor.Columns.narrowed(i) <= w-tb.Cursor.Columns.gutter()-moreSign {
					t.Fatalf("column %d has room at %d: %v", i, w, tb.Cursor.Columns.shown)
				}
				if tb.Cursor.Columns.Width(i) > 0 && tb.Cursor.Columns.Width(i) < min(tb.Cursor.Columns.narrowed(i), tb.Cursor.Columns.least(i)) && tb.Cursor.Columns.need() > least {
					t.Fatalf("column %d is narrower than it may be: %v", i, tb.Cursor.Columns.shown)
				}
			}
		}
	})
}

// TestAWiderWindowShowsNoLess: a column that a window has room for is in each wider one, and the sign that more follow
// cuts nothing that could be whole.
func TestAWiderWindowShowsNoLess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tb := newTable(termenv.Ascii, nil, 80, 8)
		tb.SetColumns(drawColumns(t)...)
		was := make([]bool, len(tb.Cursor.Columns.columns))
		for w := saysMore; w <= 200; w++ {
			tb.SetSize(w, 8)
			for i := range was {
				is := tb.Cursor.Columns.Width(i) > 0
				if was[i] && !is {
					t.Fatalf("column %d is not shown at %d: %v", i, w, tb.Cursor.Columns.shown)
				}
				was[i] = is
			}
		}
	})
}

// TestAnEmptyColumnGivesItsRoomUp: while no row has text in a column it takes its title, and once one had it stays as
// it is while others are scrolled in.
func TestAnEmptyColumnGivesItsRoomUp(t *testing.T) {
	name := strings.Repeat("n", 30)
	for _, align := range []field.Align{field.Left, field.Decimal} {
		tb := newTable(termenv.Ascii, nil, 50, 8)
		tb.SetColumns(field.Layout{Title: "Name", Min: 12, Max: 40, Flex: 1}, field.Layout{Title: "Amount", Min: 20, Max: 20, Align: align})
		tb.SetSource(cells{{"", ""}})
		tb.View()
		if got := tb.Cursor.Columns.Width(1); got != len("Amount")+moreSign {
			t.Errorf("%d cells while it is empty", got)
		}
		tb.SetSource(cells{{name, ""}, {name, ""}, {name, ""}, {name, ""}, {name, ""}, {name, ""}, {name, ""}, {name, "1.00"}})
		if v := tb.View(); !strings.Contains(v, name) {
			t.Errorf("a name is cut beside nothing:\n%s", v)
		}
		var widths []int
		for _, key := range []string{"end", "home", "end", "home"} {
			press(tb, key)
			tb.View()
			widths = append(widths, tb.Cursor.Columns.Width(1))
		}
		if widths[0] != 20 || len(slices.Compact(widths)) != 1 {
			t.Errorf("the widths while scrolling: %v", widths)
		}
	}
}
