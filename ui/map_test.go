package ui_test

import (
	"strings"
	"testing"

	"opdeck/ui"
	"opdeck/ui/uitest"
)

// TestTheMapNamesTheScreens: from 80 columns and 20 lines on, one line names each screen with its key and marks the
// present one; a lower window keeps its rows.
func TestTheMapNamesTheScreens(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test))
	names := func() string {
		for _, l := range strings.Split(r.View(), "\n") {
			if strings.Contains(l, "5 Limits") {
				return l
			}
		}
		return ""
	}
	for _, wh := range [][2]int{{80, 24}, {80, 20}, {120, 40}, {300, 100}} {
		r.Send(uitest.Size(wh[0], wh[1]))
		line := names()
		for _, name := range []string{"1 Op", "2 Op", "3 Doc", "4 Compl", "5 Limits", "6 Session", "7 Events", "8 Audit"} {
			if !strings.Contains(line, name) {
				t.Errorf("at %v %q is not in %q", wh, name, line)
			}
		}
		if strings.Count(line, "▌") != 1 || !strings.Contains(line, "▌3 Doc") {
			t.Errorf("at %v the present screen is not marked in %q", wh, line)
		}
	}
	for _, wh := range [][2]int{{79, 24}, {80, 19}, {40, 12}, {20, 5}} {
		if r.Send(uitest.Size(wh[0], wh[1])); names() != "" {
			t.Errorf("at %v there is a map", wh)
		}
	}
}

// TestKeysOfOtherLayouts: a command key does what its place does; a text keeps its letters, and a question takes no
// such key for its answer (TestNoFakedYes).
func TestKeysOfOtherLayouts(t *testing.T) {
	for _, x := range []string{"ч", "χ", "ס"} {
		w := newWorld()
		r := w.start(t, w.options(ui.Test))
		r.Send(uitest.Key(x))
		r.Has("Remove document")
	}
	w := newWorld()
	r := w.start(t, w.options(ui.Test))
	r.Send(uitest.Key(":"), uitest.Type("ч"))
	r.Has("ч")
}
