package ui

import (
	"strings"
	"testing"

	"opdeck/ui/draw"
)

// TestTabledKeepsNumbersWhole: in every width the cells of a column begin in one place, a number is whole or
// left out for all choices, and the line has room.
func TestTabledKeepsNumbersWhole(t *testing.T) {
	list := []Choice{
		{Text: "62387c…50c0b8", Cells: []Cell{{Text: "137,240.75 USD", Number: true}, {Text: "PENDING"}, {},
			{Text: "Harbour & Finch Trading Ltd"}, {Text: "WITHDRAW"}}},
		{Text: "ec77b9", Cells: []Cell{{Text: "0.0856 BTC", Number: true}, {Text: "PROCESSING"}, {},
			{Text: "王"}, {Text: "DEPOSIT"}}},
		{Text: "All", About: "all that match"},
	}
	for w := 14; w < 100; w++ {
		out := tabled(list, w)
		if out[2].Text != "All" || out[2].About != "all that match" {
			t.Fatalf("width %d: a choice without cells became %+v", w, out[2])
		}
		wide := draw.Width(out[0].About)
		if wide != draw.Width(out[1].About) || wide > max(w-15, 0) {
			t.Errorf("width %d: %q and %q", w, out[0].About, out[1].About)
		}
		for i, amount := range []string{"137,240.75", "0.0856"} {
			if about := out[i].About; about != "" && !strings.Contains(about, amount) {
				t.Errorf("width %d: a cut number in %q", w, about)
			}
		}
		if w == 99 && !strings.Contains(out[0].About, "Harbour & Finch Trading Ltd  WITHDRAW") {
			t.Errorf("a cell is cut beside room: %q", out[0].About)
		}
	}
}
