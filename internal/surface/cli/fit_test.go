package cli

import (
	"slices"
	"strings"
	"testing"

	"opdeck/internal/field"
	"opdeck/internal/present"
	"opdeck/ui/draw"
)

// rowsOf is a table of these rows, one text for each column.
func rowsOf(columns []present.Column[[]string], rows ...[]string) *table {
	for i := range columns {
		columns[i].Cell = func(_ present.Options, row []string) present.Cell { return present.Cell{Text: row[i]} }
	}
	return listed(present.Options{}, columns, rows)
}

// TestTablesFit prints a table in every width: no line is wider, the column that tells rows apart, numbers and times
// are whole or left out, and what is cut says so.
func TestTablesFit(t *testing.T) {
	id := "62387cd9-6926-45b3-bf48-8a53f850c0b8"
	tab := rowsOf([]present.Column[[]string]{{Name: "name", Layout: field.Layout{Min: 30}},
		{Name: "id", Layout: field.Layout{ID: true}}, {Name: "amount", Layout: field.Layout{Align: field.Right}},
		{Name: "at", Layout: field.Layout{Whole: true}}, {Name: "note", Layout: field.Layout{HidePriority: 2}},
		{Name: "status", Layout: field.Layout{Signed: true, HidePriority: 1}}},
		[]string{"شركة النخيل للتجارة 漢字漢字漢字 and more", id, "137,240.75 USD", "2026-11-24",
			strings.TrimSpace(strings.Repeat("what the bank said ", 9)), "PENDING"},
		[]string{"short", id, "1.00 USD", "", "", "SUCCESS"})
	var whole strings.Builder
	if left, err := tab.write(&whole, 0); err != nil || len(left) > 0 || strings.Contains(whole.String(), "…") {
		t.Errorf("without a terminal: %v, %v, %s", left, err, whole.String())
	}
	for width := 1; width <= 300; width++ {
		var b strings.Builder
		left, err := tab.write(&b, width)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		for _, line := range lines {
			if draw.Width(line) > max(width, len(id)) {
				t.Errorf("at %d: %d cells in %q", width, draw.Width(line), line)
			}
		}
		for head, want := range map[string]string{"ID": id, "AMOUNT": "137,240.75 USD", "AT": "2026-11-24",
			"STATUS": "PENDING"} {
			if out := slices.Contains(left, head); out == strings.Contains(lines[1], want) || out && head == "ID" {
				t.Errorf("at %d: left out %v, %q", width, left, lines[1])
			}
		}
		if !slices.Contains(left, "NOTE") && width < draw.Width(strings.Split(whole.String(), "\n")[1]) &&
			!strings.Contains(lines[1], "…") {
			t.Errorf("at %d: cut without a sign: %q", width, lines[1])
		}
	}
}

// TestCardsFit: a record's values continue on more lines, and nothing of them is lost.
func TestCardsFit(t *testing.T) {
	said := strings.TrimSpace(strings.Repeat("what the bank said ", 9))
	for _, width := range []int{20, 40, 80, 300} {
		var b strings.Builder
		r := &root{env: Env{Out: &b, OutTTY: true, OutWidth: width}}
		if err := r.card([]present.Fact{{Label: "comment", Value: said}, {Label: "id", Value: "x"}}, ""); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if draw.Width(strings.TrimSuffix(line, "\n")) > width {
				t.Errorf("at %d: %q", width, line)
			}
		}
		if got := strings.Join(strings.Fields(b.String()), " "); got != "FIELD VALUE comment "+said+" id x" {
			t.Errorf("at %d: %s", width, got)
		}
	}
}
