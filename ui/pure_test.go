package ui_test

import (
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui"
	"opdeck/ui/uitest"
)

// TestViewIsPure: whether frames are drawn makes no difference, whatever dialog is
// open.
func TestViewIsPure(t *testing.T) {
	wait := func(c *uitest.Clock) tea.Msg { return c.Wait(armed) }
	for name, msgs := range map[string]func(*uitest.Clock) []tea.Msg{
		"list": func(c *uitest.Clock) []tea.Msg {
			return []tea.Msg{uitest.Keys("j", "j", " ", "k"), c.Wait(time.Minute)}
		},
		"question": func(c *uitest.Clock) []tea.Msg {
			return []tea.Msg{uitest.Key("x"), wait(c), uitest.Keys("tab", "b", "1")}
		},
		"early": func(c *uitest.Clock) []tea.Msg { return []tea.Msg{uitest.Keys("x", "y"), wait(c), uitest.Key("y")} },
		"low question": func(c *uitest.Clock) []tea.Msg {
			return []tea.Msg{uitest.Size(40, 9), uitest.Key("x"), wait(c), uitest.Keys("pgdown", "pgdown", "pgdown", "pgdown", "pgdown", "pgdown", "pgup")}
		},
		"raw": func(*uitest.Clock) []tea.Msg { return []tea.Msg{uitest.Keys("J", "/", "u", "enter", "n", "j")} },
		"help": func(*uitest.Clock) []tea.Msg {
			return []tea.Msg{uitest.Key("?"), uitest.Size(60, 12), uitest.Keys("pgdown", "pgdown", "k"), uitest.Size(100, 30)}
		},
		"activity": func(c *uitest.Clock) []tea.Msg {
			return []tea.Msg{uitest.Key("!"), ui.CallFacts{ID: "1", What: "GET", Phase: ui.CallWaits}, c.Wait(9 * time.Second)}
		},
		"palette": func(*uitest.Clock) []tea.Msg {
			return []tea.Msg{uitest.Key(":"), uitest.Type("re"), uitest.Keys("down", "down")}
		},
		"input": func(*uitest.Clock) []tea.Msg {
			return []tea.Msg{uitest.Key("o"), uitest.Type("0123456789012345678901234567890123456789012345678901234567890123456789"), uitest.Keys("left", "left", "home", "right")}
		},
		"idle": func(c *uitest.Clock) []tea.Msg {
			return []tea.Msg{uitest.Key("x"), c.Wait(time.Hour), uitest.Key("j"), wait(c), uitest.Key("j")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			uitest.Pure(t, func(c *uitest.Clock) tea.Model {
				w := newWorld()
				w.clock = c
				o := w.options(ui.Production)
				o.IdleLock = away
				return ui.New(o)
			}, msgs)
		})
	}
}
