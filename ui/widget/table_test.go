package widget

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
	"pgregory.net/rapid"

	"opdeck/internal/field"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/uitest"
)

var columns = []field.Layout{
	{Title: "ID", Min: 8, Max: 36, Flex: 2, CutMiddle: true},
	{Title: "Status", Min: 11, HidePriority: 2},
	{Title: "Amount", Min: 14, Max: 20, Flex: 1, Align: field.Decimal, HidePriority: 1},
	{Title: "Customer", Min: 10, Flex: 4, HidePriority: 3},
	{Title: "Updated", Min: 16, HidePriority: 4},
}

// many is a source of any length that counts what it is asked.
type many struct{ n, rows, finds int }

func (m *many) Len() int { return m.n }
func (m *many) Row(i int) Row {
	m.rows++
	return Row{ID: "op-" + strconv.Itoa(i), Cells: []string{"op-" + strconv.Itoa(i), "◌ PENDING", "1,234.50 EUR", "ACME Trading and Shipping Ltd", "2026-03-02 12:00"},
		Tones: []theme.Tone{theme.Plain, theme.Warn, theme.Plain, theme.Dim, theme.Dim}}
}
func (m *many) IndexOf(id string) int {
	m.finds++
	i, err := strconv.Atoi(strings.TrimPrefix(id, "op-"))
	if err != nil || i >= m.n {
		return -1
	}
	return i
}

type few []string

func (f few) Len() int { return len(f) }
func (f few) Row(i int) Row {
	return Row{ID: f[i], Cells: []string{f[i], "PENDING", "12.5 EUR", "株式会社 ACME"}}
}
func (f few) IndexOf(id string) int {
	for i, s := range f {
		if s == id {
			return i
		}
	}
	return -1
}

func newTable(p termenv.Profile, s Source, w, h int) *Table {
	t := NewTable(theme.New(uitest.Renderer(p), theme.Night()), keymap.New(), true, columns...)
	t.SetSource(s)
	t.SetSize(w, h)
	return t
}

func press(t *Table, keys ...string) {
	for _, k := range keys {
		t.Update(keymap.Parse(k))
	}
}

func TestCursorFollowsTheRow(t *testing.T) {
	tb := newTable(termenv.Ascii, few{"a", "b", "c", "d"}, 60, 8)
	press(tb, "down", "down")
	tb.SetSource(few{"new", "a", "b", "c", "d"})
	if tb.Cursor.SelectedID() != "c" || tb.Cursor.At() != 3 {
		t.Errorf("the cursor is on %s, row %d", tb.Cursor.SelectedID(), tb.Cursor.At())
	}
	tb.SetSource(few{"a", "b", "d"})
	if r, ok := tb.Cursor.Selected(); !ok || r.ID != tb.Cursor.SelectedID() || !strings.Contains(tb.View(), "The selected row is gone.") {
		t.Errorf("a vanished row goes unnoticed:\n%s", tb.View())
	}
	tb.SetSource(few{})
	if _, ok := tb.Cursor.Selected(); ok || tb.Cursor.SelectedID() != "" {
		t.Error("an empty table has a cursor")
	}
	press(tb, "up", "down", "end", " ", "*")
	tb.SetSource(few{"x", "y"})
	if tb.Cursor.SelectedID() != "x" {
		t.Errorf("after an empty list the cursor is on %q", tb.Cursor.SelectedID())
	}
	if !tb.Cursor.Select("y") || tb.Cursor.SelectedID() != "y" || tb.Cursor.Select("z") {
		t.Error("Select")
	}
}

// kept is rows of which some were not read.
type kept struct{ few }

func (k kept) IndexOf(id string) int {
	if i := k.few.IndexOf(id); i >= 0 || id != "c" {
		return i
	}
	return Hidden
}

// TestARowThatWasNotReadIsNotGone: only of a row that is truly gone it is said.
func TestARowThatWasNotReadIsNotGone(t *testing.T) {
	for id, gone := range map[string]bool{"b": true, "c": false} {
		tb := newTable(termenv.Ascii, few{"a", "b", "c"}, 60, 8)
		tb.Cursor.Select(id)
		tb.SetSource(kept{few{"a"}})
		if strings.Contains(tb.View(), "is gone") != gone {
			t.Errorf("of row %s:\n%s", id, tb.View())
		}
	}
}

func TestMarksFollowTheRows(t *testing.T) {
	tb := newTable(termenv.Ascii, few{"a", "b", "c"}, 60, 8)
	press(tb, " ", " ")
	tb.SetSource(few{"c", "b", "x"})
	if m := tb.Marked(); len(m) != 1 || m[0] != "b" || !strings.Contains(tb.View(), "1 mark removed") {
		t.Errorf("marked %v\n%s", m, tb.View())
	}
	press(tb, "*")
	if len(tb.Marked()) != 0 {
		t.Error("* does not unmark")
	}
	press(tb, "*")
	if len(tb.Marked()) != 3 {
		t.Error("* does not mark all")
	}
	big := newTable(termenv.Ascii, &many{n: 5000}, 60, 8)
	press(big, "*")
	if len(big.Marked()) != maxMarks || !strings.Contains(big.View(), "that is the limit") {
		t.Errorf("%d marks", len(big.Marked()))
	}
}

// Half a page down and up again: cursor and rows move by it, and a table of one line moves too.
func TestHalfPages(t *testing.T) {
	for _, h := range []int{3, 12, 40} {
		tb := newTable(termenv.Ascii, &many{n: 1000}, 120, h)
		from, to := tb.Cursor.Visible()
		half := max((to-from)/2, 1)
		press(tb, "ctrl+d", "ctrl+d")
		if at, _ := tb.Cursor.Visible(); tb.Cursor.At() != 2*half || at != 2*half {
			t.Errorf("%d lines: the cursor is on %d, the first row is %d, not %d", h, tb.Cursor.At(), at, 2*half)
		}
		press(tb, "ctrl+u")
		if at, _ := tb.Cursor.Visible(); tb.Cursor.At() != half || at != half {
			t.Errorf("%d lines: back up to %d, first row %d", h, tb.Cursor.At(), at)
		}
	}
}

func TestOnlyVisibleRowsAreBuilt(t *testing.T) {
	m := &many{n: 1_000_000}
	tb := newTable(termenv.Ascii, m, 120, 40)
	for _, k := range []string{"down", "pgdown", "end", "pgup", "home"} {
		m.rows, m.finds = 0, 0
		press(tb, k)
		_ = tb.View()
		if m.rows > 45 || m.finds > 0 {
			t.Errorf("%s: %d rows were built, %d were searched", k, m.rows, m.finds)
		}
	}
	press(tb, "end")
	if tb.Cursor.At() != 999_999 || !strings.Contains(tb.View(), "1,000,000 of 1,000,000") {
		t.Errorf("row %d\n%s", tb.Cursor.At(), tb.View())
	}
	if from, to := tb.Cursor.Visible(); to != 1_000_000 || to-from != 38 {
		t.Errorf("visible %d to %d", from, to)
	}
}

func TestColumnsDropWhenNarrow(t *testing.T) {
	tb := newTable(termenv.Ascii, few{"a"}, 200, 8)
	for _, c := range []struct {
		w    int
		want string
	}{{200, "ID Status Amount Customer Updated"}, {60, "ID Status Amount Customer ›"}, {45, "ID Status Amount ›"}, {30, "ID Amount"}, {20, "ID"}} {
		tb.SetSize(c.w, 8)
		head, _, _ := strings.Cut(ansi.Strip(tb.View()), "\n")
		if got := strings.Join(strings.Fields(head), " "); got != c.want {
			t.Errorf("at %d cells: %q, want %q", c.w, got, c.want)
		}
	}
}

// TestAWordIsWholeBeforeATextIs: where not even the columns fit that are never dropped, a
// name gives way to a status, and both to a number.
func TestAWordIsWholeBeforeATextIs(t *testing.T) {
	tb := NewTable(theme.New(uitest.Renderer(termenv.Ascii), theme.Night()), keymap.New(), true,
		field.Layout{Title: "Name", Min: 20, Flex: 2}, field.Layout{Title: "Status", Min: 12}, field.Layout{Title: "Amount", Min: 14, Align: field.Right})
	tb.SetSource(few{"The International Company"})
	for w, want := range map[int]string{60: "The International Company PENDING 12.5 EUR", 46: "The Internat… PENDING 12.5 EUR", 34: "The I… PENDING 12.5 EUR", 31: "The I… PENDI… 12.5 EUR"} {
		tb.SetSize(w, 8)
		row := strings.Split(ansi.Strip(tb.View()), "\n")[1]
		if got := strings.TrimSpace(strings.Join(strings.Fields(row)[1:], " ")); got != want {
			t.Errorf("at %d cells: %q, want %q", w, got, want)
		}
	}
}

func TestMoneyStandsByItsPoint(t *testing.T) {
	tb := newTable(termenv.Ascii, nil, 60, 8)
	tb.SetColumns(field.Layout{Title: "Amount", Min: 14, Align: field.Decimal}, field.Layout{Title: "N", Min: 5, Align: field.Right})
	tb.SetSource(cells{{"123,456,789,012.00", "1234567"}})
	tb.SetSize(60, 8)
	if v := tb.View(); !strings.Contains(v, "123,456,789,012.00  1234567") {
		t.Errorf("a wide number gets no room:\n%s", v)
	}
	tb.SetColumns(field.Layout{Title: "Amount", Min: 14, Max: 14, Align: field.Decimal}, field.Layout{Title: "N", Min: 5, Max: 5, Align: field.Right})
	tb.SetSource(cells{{"1,234.50", "1"}, {"7", "22"}, {"0.125", "333"}, {"123,456,789,012.00", "1234567"}})
	tb.SetSize(60, 8)
	lines := strings.Split(tb.View(), "\n")
	if a, b, c := strings.Index(lines[1], ".50")-len("▌")+1, strings.Index(lines[2], "7")+1, strings.Index(lines[3], ".125"); a != b || b != c {
		t.Errorf("points at %d %d %d:\n%s", a, b, c, tb.View())
	}
	if !strings.Contains(lines[4], "123,456,789,0…  1234…") {
		t.Errorf("a number that does not fit does not say that it is cut: %q", lines[4])
	}
}

// TestScrollingOnMovesNoColumn: a wide number that leaves the screen gives no room back
// before another list begins.
func TestScrollingOnMovesNoColumn(t *testing.T) {
	tb := newTable(termenv.Ascii, nil, 60, 8)
	tb.SetColumns(field.Layout{Title: "Amount", Min: 12, Align: field.Decimal}, field.Layout{Title: "Id", Min: 10, HidePriority: 2})
	tb.SetSource(cells{{"9,999,999.99 EUR", "a"}})
	tb.View()
	was := tb.Cursor.Columns.Width(0)
	tb.SetSource(cells{{"1.00 EUR", "a"}})
	if tb.View(); tb.Cursor.Columns.Width(0) != was {
		t.Errorf("%d cells, and %d before", tb.Cursor.Columns.Width(0), was)
	}
	tb.Restart()
	if tb.View(); tb.Cursor.Columns.Width(0) != 12 {
		t.Errorf("%d cells in another list", tb.Cursor.Columns.Width(0))
	}
}

// TestOneHugeNumberNarrowsNothing: it is cut after its leading digits, with a sign, and
// keeps its currency; it is never rounded.
func TestOneHugeNumberNarrowsNothing(t *testing.T) {
	tb := newTable(termenv.Ascii, nil, 60, 8)
	tb.SetColumns(field.Layout{Title: "Created", Min: 16, HidePriority: 1}, field.Layout{Title: "Amount", Min: 12, MaxNumberWidth: 20, Align: field.Decimal}, field.Layout{Title: "Id", Min: 10, HidePriority: 2})
	const usual, huge = "9,999,999.99 EUR", "98,765,432,109,876,543,210.99 EUR"
	for _, c := range []struct {
		w            int
		amount, want string
	}{
		{60, usual, "2026-01-31 10:00 9,999,999.99 EUR abcdefghij"},
		{60, huge, "2026-01-31 10:00 98,765,… EUR abcdefghij"},
		{50, huge, "2026-01-31 10:00 98,765,… EUR abcdefghij"},
		{50, usual, "2026-01-31 10:00 9,999,999.99 EUR abcdefghij"},
		{32, usual, usual},
		{28, huge, "98,765,… EUR"},
		{13, usual, "9,999… EUR"},
		{9, usual, "9,999…"},
		{7, usual, "####"},
	} {
		tb.Restart()
		tb.SetSource(cells{{"2026-01-31 10:00", c.amount, "abcdefghij"}})
		tb.SetSize(c.w, 8)
		line := strings.Join(strings.Fields(strings.TrimPrefix(strings.Split(tb.View(), "\n")[1], "▌")), " ")
		if line != c.want {
			t.Errorf("at %d cells: %q, want %q", c.w, line, c.want)
		}
		if cut, _ := tb.Cursor.TooWide(); len(cut) > 0 != strings.ContainsAny(line, "…#") {
			t.Errorf("at %d cells: TooWide says %v of %q", c.w, len(cut) > 0, line)
		}
	}
	if tb.Cursor.Columns.Width(0) != 0 || tb.Cursor.Columns.Width(1) == 0 {
		t.Errorf("widths %d and %d", tb.Cursor.Columns.Width(0), tb.Cursor.Columns.Width(1))
	}
}

// TestSignsAreApart: a row's sign is not read together with its first cell.
func TestSignsAreApart(t *testing.T) {
	tb := newTable(termenv.Ascii, few{"a"}, 60, 8)
	tb.SetSource(signed{})
	for _, w := range []int{60, 30} {
		tb.SetSize(w, 8)
		if v := tb.View(); !strings.Contains(v, "! x-1") || uitest.CheckFrame(v, w, 8) != nil {
			t.Errorf("at %d cells\n%s", w, v)
		}
	}
}

type signed struct{}

func (signed) Len() int           { return 1 }
func (signed) Row(int) Row        { return Row{ID: "x-1", Cells: []string{"x-1"}, Sign: "!"} }
func (signed) IndexOf(string) int { return 0 }

type cells [][]string

func (c cells) Len() int           { return len(c) }
func (c cells) Row(i int) Row      { return Row{ID: strconv.Itoa(i), Cells: c[i]} }
func (c cells) IndexOf(string) int { return -1 }

func TestNoticeAndSort(t *testing.T) {
	tb := newTable(termenv.Ascii, nil, 60, 10)
	tb.SetNotice(Notice{Tone: theme.Dim, Text: "No operation matches the filter.", Hint: "esc clears the filter"})
	tb.Cursor.Columns.SetSort(2, true)
	for _, part := range []string{"No operation matches", "esc clears", "Amount ▼"} {
		if !strings.Contains(tb.View(), part) {
			t.Errorf("%q is missing:\n%s", part, tb.View())
		}
	}
}

func TestTableAtAnySize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tb := newTable([]termenv.Profile{termenv.Ascii, termenv.TrueColor}[rapid.IntRange(0, 1).Draw(t, "colour")], few{"a", "b", "株式会社", "d"}, 10, 10)
		tb.SetNotice(Notice{Text: "Nothing is here at all.", Hint: "r reloads"})
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				tb.SetSource(few(rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "株式会社", "f"}), 0, 6, rapid.ID).Draw(t, "rows")))
			default:
				press(tb, rapid.SampledFrom([]string{"up", "down", "pgup", "pgdown", "home", "end", " ", "*", "m", "left", "right", "right"}).Draw(t, "key"))
			}
			w, h := rapid.IntRange(0, 120).Draw(t, "w"), rapid.IntRange(0, 30).Draw(t, "h")
			tb.SetSize(w, h)
			v := tb.View()
			if h > 0 {
				if err := uitest.CheckFrame(v, w, h); err != nil {
					t.Fatalf("%dx%d: %v\n%s", w, h, err, v)
				}
			}
			if r, ok := tb.Cursor.Selected(); ok && r.ID != tb.Cursor.SelectedID() {
				t.Fatalf("the cursor says %s and shows %s", tb.Cursor.SelectedID(), r.ID)
			}
		}
	})
}

func BenchmarkKeyInAMillionRows(b *testing.B) {
	tb := newTable(termenv.TrueColor, &many{n: 1_000_000}, 120, 40)
	down := keymap.Parse("down")
	for b.Loop() {
		tb.Update(down)
		_ = tb.View()
	}
}

func ExampleSparkline() {
	th := theme.New(uitest.Renderer(termenv.Ascii), theme.Mono())
	fmt.Println(Sparkline(th, []int{0, 1, 2, 4, 8, 4, 2, 1, 0}, 9, theme.Info))
	fmt.Println(Gauge(th, 9, 12, 12, theme.Good))
	// Output:
	// ▁▁▂▄█▄▂▁▁
	// █████████░░░
}
