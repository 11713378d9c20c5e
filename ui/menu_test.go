package ui_test

import (
	"strings"
	"testing"

	"opdeck/ui"
	"opdeck/ui/uitest"
)

// TestMenuIsAsWideAsItsItems: nothing of an item is cut where the window has room for it,
// and where it has not, names keep half of the line and give way only to what needs it.
func TestMenuIsAsWideAsItsItems(t *testing.T) {
	long := strings.Repeat("name ", 14) + "end"
	items := []ui.Choice{{Text: long, About: "OPERATION_DOCUMENT", Note: "175 kB  8acbfe…0d2797"}, {Text: "short", Why: "it is attached here already"}, {Text: "plain"}}
	for w, whole := range map[int][]string{
		200: {long + "  OPERATION_DOCUMENT  175 kB  8acbfe…0d2797", "off: it is attached here already"},
		100: {"name name nam…name name", "end  OPERATION_DOCUMENT  175 kB  8acbfe…0d2797"},
		60:  {"name name na", "name name end", "off: it is attached here already"},
		40:  {"name na", "end", "short", "plain"},
	} {
		world := newWorld()
		o := world.options(ui.Test)
		o.Commands = func() []ui.Command {
			return []ui.Command{{Title: "zebra", Do: ui.Choose{Title: "Files", Items: items}}}
		}
		r := world.start(t, o).Send(uitest.Size(w, 30), uitest.Key(":"), uitest.Type("zebra"), uitest.Key("enter"))
		r.Has(whole...)
	}
}
