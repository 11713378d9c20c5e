package keymap_test

import (
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/act"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

// screen is an empty page that has the keys of the documents.
type screen struct {
	ui.Page
	env *ui.Env
}

func newScreen(env *ui.Env, _ ui.Place) ui.Screen {
	s := &screen{env: env}
	s.Page = ui.NewPage(env, s, "", "")
	return s
}

func (s *screen) Reload() tea.Cmd     { return nil }
func (s *screen) Content() ui.Content { return ui.Content{} }
func (s *screen) Keys() []keymap.Key  { return keymap.All(s.env.Keys.Documents) }
func (s *screen) Title() string       { return "Made up" }
func (s *screen) Place() ui.Place     { return ui.Place{Kind: ui.KindDocuments} }

// TestMadeUpKeyInHelp puts a made-up act into the table, in the place of another one:
// the hint line, the help and the palette show its words, and why it is off.
func TestMadeUpKeyInHelp(t *testing.T) {
	before := *act.DocumentRemove
	*act.DocumentRemove = act.Act{Name: before.Name, Effect: act.Write, Need: api.MayCompliance, Place: before.Place,
		Key: act.Key{Press: "ctrl+x", Hint: "make up", Help: "make something up (asks)"}}
	defer func() { *act.DocumentRemove = before }()

	see := func(r *uitest.Run, want ...string) {
		t.Helper()
		frame := strings.Join(strings.Fields(strings.ReplaceAll(r.View(), "│", "")), " ")
		for _, w := range want {
			if !strings.Contains(frame, w) {
				t.Errorf("%q is not on screen\n%s", w, r.View())
			}
		}
	}
	at := ui.Place{Kind: ui.KindDocuments}
	r := shelltest.Open(t, uitest.NewClock(), newScreen, at)
	see(r, "ctrl+x make up")
	r.Send(uitest.Key("?"))
	see(r, "ctrl+x make something up (asks)")
	r.Send(uitest.Key("esc"), uitest.Key(":"), uitest.Type("make"))
	see(r, "make something up (asks)")

	r = shelltest.Open(t, uitest.NewClock(), newScreen, at, shelltest.ReadOnly)
	r.Send(uitest.Key("?"))
	see(r, "ctrl+x make something up (asks)", "off: This context is read-only")
	r = shelltest.Open(t, uitest.NewClock(), newScreen, at, func(o *ui.Options) {
		o.May = func(k keymap.Key) string {
			if k.Act != nil && k.Act.Refusal(api.Viewer, false) != nil {
				return "Not for a viewer."
			}
			return ""
		}
	})
	r.Send(uitest.Key("?"))
	see(r, "ctrl+x make something up (asks)", "off: Not for a viewer.")
}
