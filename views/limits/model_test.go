package limits

import (
	"testing"

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
