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

var _ tea.Model = (*Screen)(nil)

// TestAlone runs the budgets without the shell: what they want is taken from them.
func TestAlone(t *testing.T) {
	f := &fake{usage: classes(usedUp)}
	p := shelltest.Alone(uitest.NewProgram(t), ui.Options{Theme: theme.New(uitest.Renderer(termenv.Ascii), theme.Mono())},
		func(env *ui.Env) ui.Model { return NewScreen(env, f.Usage, "wait") })
	p.See("12 of 12").Type("%").See("open commissions").Type("\x03").Ended()
}

// TestViewIsPure: whether frames are drawn makes no difference.
func TestViewIsPure(t *testing.T) {
	uitest.Pure(t, func(c *uitest.Clock) tea.Model {
		factory := func(env *ui.Env, _ ui.Place) ui.Screen {
			return NewScreen(env, (&fake{usage: classes(usedUp)}).Usage, "wait")
		}
		return ui.New(shelltest.Options(c, factory, ui.Place{Kind: ui.KindLimits}))
	}, func(c *uitest.Clock) []tea.Msg {
		return []tea.Msg{c.Wait(5 * time.Second), uitest.Size(60, 8), uitest.Keys("j", "j", "j"), c.Wait(5 * time.Second), uitest.Size(120, 40)}
	})
}
