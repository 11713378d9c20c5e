package ui_test

import (
	"regexp"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui"
	"opdeck/ui/uitest"
)

// leader is a running Guide while it has a heading; it counts the calls of See.
type leader struct {
	heading string
	sights  int
	news    []ui.BroadcastMsg
}

func (l *leader) Says() (string, string) {
	return l.heading, "Press x to remove the document under the cursor; the question starts on No."
}

func (l *leader) See(s ui.Sight) *ui.Notify {
	if l.sights++; s.News != nil {
		l.news = append(l.news, s.News)
	}
	return nil
}

// TestGuideCoversNothing: the words of a guide are above the screen, which gets that
// much less room; a low window shows only what to do.
func TestGuideCoversNothing(t *testing.T) {
	w, g := newWorld(), &leader{}
	o := w.options(ui.Test)
	o.Guide = g
	r := w.start(t, o).Send(uitest.Size(80, 24))
	full := w.screens[0].h
	g.heading = "Task 1 of 2"
	r.Send(ui.SessionFacts{State: "live"})
	r.Has("Task 1 of 2", "Press x to remove", "c0000e5f6")
	if h := w.screens[0].h; h != full-4 {
		t.Errorf("the screen has %d of %d lines", h, full)
	}
	r.Send(uitest.Size(80, 14))
	r.Has("Press x to remove")
	r.HasNot("Task 1 of 2")
	r.Send(uitest.Size(200, 50))
	r.Has("Task 1 of 2")
	r.Send(uitest.Size(80, 24))
	g.heading = ""
	r.Send(uitest.Key("down"))
	r.HasNot("Task 1 of 2")
	if w.screens[0].h != full || g.sights == 0 || len(g.news) != 1 {
		t.Errorf("%d lines of %d; %d sights, %d news", w.screens[0].h, full, g.sights, len(g.news))
	}
}

// TestCommandsOfTheConsole: the palette has the commands of Options.Commands.
func TestCommandsOfTheConsole(t *testing.T) {
	w := newWorld()
	o := w.options(ui.Test)
	picked := -1
	o.Commands = func() []ui.Command {
		return []ui.Command{{Title: "zebra", Do: ui.Choose{Title: "Stripes", Items: []ui.Choice{{Text: "black"}, {Text: "white"}},
			Pick: func(i int) (ui.Action, tea.Cmd) { picked = i; return nil, nil }}}}
	}
	r := w.start(t, o).Send(uitest.Key(":"), uitest.Type("zebra"), uitest.Key("enter"))
	r.Has("Stripes", "white")
	r.Send(uitest.Key("down"), uitest.Key("enter"))
	if picked != 1 {
		t.Errorf("picked %d", picked)
	}
}

// TestTheFootOfHelpIsWhole: in the smallest window each page of the help says how far it is, and how to go on.
func TestTheFootOfHelpIsWhole(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test))
	r.Send(uitest.Size(40, 12), uitest.Key("?"))
	foot := regexp.MustCompile(`╰─ (\d+) of (\d+)(?: lines)?, (?:pgdown shows more|pgup goes back up) ─*╯`)
	for page := range 100 {
		m := foot.FindStringSubmatch(r.View())
		if m == nil {
			t.Fatalf("page %d:\n%s", page, r.View())
		}
		if m[1] == m[2] {
			return
		}
		r.Send(uitest.Key("pgdown"))
	}
	t.Error("the help has no end")
}
