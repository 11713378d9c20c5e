package operation

import (
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"opdeck/api/apitest"
	"opdeck/ui"
	"opdeck/ui/theme"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

var _ tea.Model = (*Screen)(nil)

// TestAlone runs the detail without the shell: what it wants is taken from it.
func TestAlone(t *testing.T) {
	f := &fake{op: apitest.Operation(nil)}
	p := shelltest.Alone(uitest.NewProgram(t), ui.Options{Theme: theme.New(uitest.Renderer(termenv.Ascii), theme.Mono())},
		func(env *ui.Env) ui.Model {
			return NewScreen(env, f.caller(), f.local(), f.history, nil, string(f.op.OPID))
		})
	p.See("WITHDRAW").Type("G").See("3 documents").Type("d").See("open documents")
	p.Type("/").Type("Harbour").See("2/2")
	p.Type("\r").Type("y").See("ui.Copy").Type("\x03").Ended()
}
