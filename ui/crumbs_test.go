package ui_test

import (
	"strings"
	"testing"

	"opdeck/ui"
	"opdeck/ui/uitest"
)

// TestAPageIsNamedAfterItsScreen: the first lines name the page that covers a screen, also while another screen is on
// top; a narrow window keeps the page's name whole, and what is not safe in it is not drawn.
func TestAPageIsNamedAfterItsScreen(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test))
	docs := w.top()
	docs.layer = &ui.Layer{Crumb: "Record 1,204"}
	for _, wh := range [][2]int{{120, 40}, {80, 24}} {
		r.Send(uitest.Size(wh[0], wh[1]))
		r.Has("Operations › Documents 7f3a › Record 1,204 ")
	}
	r.Send(uitest.Size(40, 12))
	r.Has("Record 1,204 ")
	r.Send(uitest.Size(120, 40), uitest.Key("5"))
	r.Has("Documents 7f3a › Record 1,204 › Limits")
	r.Send(uitest.Key("esc"))
	docs.layer = &ui.Layer{Crumb: "a\x1b[2Jb"}
	r.Send(uitest.Size(119, 40))
	if v := r.View(); strings.Contains(v, "\x1b[2J") || !strings.Contains(v, "› a·") {
		t.Errorf("the page's name is drawn as it came:\n%q", strings.Split(v, "\n")[:2])
	}
	docs.layer = nil
	r.Send(uitest.Size(120, 40))
	r.Has("Operations › Documents 7f3a ─")
}
