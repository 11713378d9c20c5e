package operations

import (
	"fmt"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/ui/draw"
	"opdeck/ui/uitest"
)

// at is the cell where a text begins on the screen.
func at(t *testing.T, d *listed, text string) (x, y int) {
	t.Helper()
	for y, line := range strings.Split(d.View(), "\n") {
		if before, _, ok := strings.Cut(line, text); ok {
			return draw.Width(before), y
		}
	}
	t.Fatalf("no %q in\n%s", text, d.View())
	return 0, 0
}

// TestAClickOnAHeadSorts by its column, the next one the other way round; the cursor stays
// off the heads. Between heads, and while a filter is typed, nothing is sorted.
func TestAClickOnAHeadSorts(t *testing.T) {
	d := open(t, &fake{n: 300})
	click := func(x, y int) {
		d.Send(tea.MouseMsg{X: x, Y: y, Button: tea.MouseButtonLeft, Action: tea.MouseActionPress})
	}
	x, y := at(t, d, "status")
	click(x+1, y)
	d.Has("by status ▲", "1 of 300")
	click(x+1, y)
	d.Has("by status ▼")
	if strings.Contains(strings.Split(d.View(), "\n")[y], "▌") {
		t.Errorf("the cursor stays on the heads:\n%s", d.View())
	}
	before := d.View()
	click(0, y)
	click(x-1, y)
	if d.View() != before {
		t.Errorf("between heads a click did something:\n%s", d.View())
	}
	d.keys("/")
	x, y = at(t, d, "created")
	before = d.View()
	if click(x, y); d.View() != before {
		t.Errorf("a click sorts while a filter is typed:\n%s", d.View())
	}
}

// TestTheWheelOverThePreview scrolls that and not the list, and stops at its ends; a row
// that the cursor goes to begins at its top. A click there selects nothing.
func TestTheWheelOverThePreview(t *testing.T) {
	d := openWith(t, &fake{n: 300}, Config{Preview: func(op api.Operation, w int) (lines []string) {
		for i := range 50 {
			lines = append(lines, fmt.Sprintf("line %02d", i))
		}
		return lines
	}})
	d.Send(uitest.Size(160, 45))
	x, y := at(t, d, "line 00")
	wheel := func(b tea.MouseButton) {
		d.Send(tea.MouseMsg{X: x, Y: y + 2, Button: b, Action: tea.MouseActionPress})
	}
	row := under(d)
	wheel(tea.MouseButtonWheelDown)
	if d.Has("line 03"); strings.Contains(d.View(), "line 02") || under(d) != row {
		t.Errorf("the cursor is on %s, was on %s\n%s", under(d), row, d.View())
	}
	for range 30 {
		wheel(tea.MouseButtonWheelDown)
	}
	if d.Has("line 49"); strings.Contains(d.View(), "more, enter opens it") {
		t.Errorf("at the end:\n%s", d.View())
	}
	wheel(tea.MouseButtonWheelUp)
	if strings.Contains(d.View(), "line 49") {
		t.Errorf("one notch back:\n%s", d.View())
	}
	d.Send(tea.MouseMsg{X: x, Y: y + 2, Button: tea.MouseButtonLeft, Action: tea.MouseActionPress})
	if under(d) != row {
		t.Error("a click on the preview selects a row")
	}
	d.Send(tea.MouseMsg{X: 10, Y: y + 2, Button: tea.MouseButtonWheelDown, Action: tea.MouseActionPress})
	if d.Has("line 00"); under(d) == row {
		t.Error("over the rows the wheel does not move them")
	}
}
