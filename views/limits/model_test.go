package limits

import (
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"opdeck/ui"
	"opdeck/ui/theme"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

var _ tea.Model = Model{}

// TestModel runs the budgets as a program of their own.
func TestModel(t *testing.T) {
	f := &fake{usage: classes(usedUp)}
	p := uitest.NewProgram(t)
	p.Run(New(ui.Options{Theme: theme.New(uitest.Renderer(termenv.Ascii), theme.Mono()), Now: p.Now}, f, "wait"))
	p.See("billing: used up").Type("?").See("reload (costs one call")
	p.Type("qq").See("Leave the console?").Type("y").Ended()
}

// TestViewIsPure: whether frames are drawn makes no difference.
func TestViewIsPure(t *testing.T) {
	uitest.Pure(t, func(c *uitest.Clock) tea.Model {
		factory := func(env *ui.Env, _ ui.Place) ui.Screen { return NewScreen(env, &fake{usage: classes(usedUp)}, "wait") }
		return ui.New(shelltest.Options(c, factory, ui.Place{Kind: ui.KindLimits}))
	}, func(c *uitest.Clock) []tea.Msg {
		return []tea.Msg{c.Wait(5 * time.Second), uitest.Size(60, 8), uitest.Keys("j", "j", "j"), c.Wait(5 * time.Second), uitest.Size(120, 40)}
	})
}
